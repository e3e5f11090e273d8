package gym

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// The preprocessing shows what Gymnasium's wrappers show, frame by frame.
func TestAtariFrames(t *testing.T) {
	needs(t, "ale_py", "cv2")
	t.Parallel()
	python, err := interpreter("")
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(python, "testdata/atari_check.py", "worker").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "865 frames equal") {
		t.Errorf("%v\n%s", err, out)
	}
}

// Processes change nothing; episodes are lives, rewards signs.
func TestAtariWorkers(t *testing.T) {
	needs(t, "ale_py")
	t.Parallel()
	e, err := Atari("Breakout")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, workers := range []int{1, 2} {
		o := e.Options().(*AtariOptions)
		o.Workers, o.Size, o.Stack, o.Exact = workers, 42, 2, false
		s := newScope(t, 1)
		b, err := env.Open(s, e, 3, o)
		if err != nil {
			t.Fatal(err)
		}
		got := play(s, b, 0, 100)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d workers show something else than one", workers)
		}
		if n := s.Episodes().Count(); n < 3 {
			t.Errorf("%d lives were lost in 100 steps of 3 games", n)
		}
	}
}

// A game goes on where it was saved; without preprocessing it is Gymnasium's own.
func TestAtariSnapshot(t *testing.T) {
	needs(t, "ale_py")
	t.Parallel()
	for _, c := range []struct {
		entry func(string) (env.Entry, error)
		name  string
		obs   string
	}{
		{Atari, "Pong", "Box(0..255, [84 84 4])"},
		{Entry, "ALE/Pong-v5", "Box(0..255, [210 160 3])"},
	} {
		e, err := c.entry(c.name)
		if err != nil {
			t.Fatal(err)
		}
		open := func() (*rl.Scope, env.Batch) {
			s := newScope(t, 1)
			o := e.Options().(*AtariOptions)
			o.Workers = 1
			b, err := env.Open(s, e, 2, o)
			if err != nil {
				t.Fatal(err)
			}
			return s, b
		}
		s, b := open()
		if spec := b.Spec(); !spec.Exact || spec.Obs.String() != c.obs {
			t.Fatalf("%s: exact %v (%s), observations %s", c.name, spec.Exact, spec.Why, spec.Obs)
		}
		play(s, b, 0, 20)
		st := rl.NewState(s)
		s.Save(st)
		want := play(s, b, 20, 10)
		again, d := open()
		if err := again.Load(st); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(play(again, d, 20, 10), want) {
			t.Errorf("%s: loaded and gone on it shows something else", c.name)
		}
	}
	if _, err := Atari("ALE/Pong-v5"); err == nil {
		t.Error("a full id is not a game")
	}
}
