package etcd

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func open(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := Embed(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	return s.patient()
}

// patient has nothing end because this machine is busy.
func (s *Store) patient() *Store {
	s.leader, s.worker = 600, 600
	return s
}

func campaign(t *testing.T, s *Store, address string) coordinator.Term {
	t.Helper()
	term, err := s.Campaign(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return term
}

func run(name string, epoch int64) core.Run {
	return core.Run{Name: name, Phase: core.Waiting, Why: "test", Epoch: epoch}
}

// What was kept is there after a restart, in order; who acted before does not any more.
func TestRestart(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	s := open(t, dir)
	term := campaign(t, s, "a:1")
	for _, r := range []core.Run{run("z", 1), run("a", 1), run("z", 2), run("gone", 1)} {
		if err := term.Save(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	if err := term.Forget(t.Context(), "gone"); err != nil {
		t.Fatal(err)
	}
	if _, err := term.Member(t.Context(), "w"); err != nil {
		t.Fatal(err)
	}
	if at, err := s.Leader(t.Context()); at != "a:1" || err != nil {
		t.Error(at, err)
	}
	if err := s.Close(); err != nil { // as if it were killed: nothing is given back
		t.Error(err)
	}
	s = open(t, dir)
	defer s.Close()
	next, err := s.Campaign(t.Context(), "b:1")
	if err != nil {
		t.Fatal(err)
	}
	runs, alive, err := next.Load(t.Context())
	if err != nil || len(runs) != 2 || runs[0].Name != "z" || runs[0].Epoch != 2 || runs[1].Name != "a" || !slices.Equal(alive, []string{"w"}) {
		t.Errorf("%+v, %q, %v", runs, alive, err)
	}
}

// Of two only one acts, and one that was deposed keeps nothing more.
func TestElection(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	first := campaign(t, s, "a:1")
	if err := first.Save(t.Context(), run("r", 1)); err != nil {
		t.Fatal(err)
	}
	elected := make(chan coordinator.Term)
	go func() {
		defer close(elected)
		if term, err := s.Campaign(t.Context(), "b:1"); err == nil {
			elected <- term
		}
	}()
	select {
	case <-elected:
		t.Fatal("two act")
	default:
	}
	if err := first.Resign(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := <-elected
	if err := first.Save(t.Context(), run("r", 7)); !errors.Is(err, coordinator.ErrDeposed) {
		t.Errorf("the first one saves: %v", err)
	}
	if err := first.Forget(t.Context(), "r"); !errors.Is(err, coordinator.ErrDeposed) {
		t.Errorf("the first one forgets: %v", err)
	}
	if runs, _, err := second.Load(t.Context()); err != nil || len(runs) != 1 || runs[0].Epoch != 1 {
		t.Errorf("%+v, %v", runs, err)
	}
	if err := second.Save(t.Context(), run("r", 2)); err != nil {
		t.Error(err)
	}
	if at, _ := s.Leader(t.Context()); at != "b:1" {
		t.Errorf("%q acts", at)
	}
}

func TestLease(t *testing.T) {
	s := open(t, t.TempDir())
	defer s.Close()
	term := campaign(t, s, "a:1")
	one, err := term.Member(t.Context(), "w")
	if err != nil {
		t.Fatal(err)
	}
	two, err := term.Member(t.Context(), "w") // by another connection
	if err != nil {
		t.Fatal(err)
	}
	alive := func(want ...string) {
		t.Helper()
		if _, got, err := term.Load(t.Context()); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q are alive, want %q: %v", got, want, err)
		}
	}
	alive("w")
	if err := errors.Join(two.Renew(t.Context()), two.Release(t.Context()), one.Renew(t.Context())); err != nil {
		t.Error(err)
	}
	if err := two.Renew(t.Context()); !errors.Is(err, coordinator.ErrExpired) {
		t.Error(err)
	}
	alive("w")
	if err := one.Release(t.Context()); err != nil {
		t.Error(err)
	}
	alive()
}

func TestSecure(t *testing.T) {
	for endpoint, want := range map[string]string{
		"http://127.0.0.1:2379": "", "https://localhost:1": "", "http://10.0.0.1:2379": "is not https",
		"https://10.0.0.1:2379": "needs certificates", "10.0.0.1:2379": "no endpoint", "": "no endpoint",
	} {
		err := secure(endpoint, nil)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", endpoint, err, want)
		}
	}
}
