package local

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/launch/launchtest"
)

func TestMain(m *testing.M) {
	launchtest.Main()
	goleak.VerifyTestMain(m)
}

func TestLauncher(t *testing.T) { launchtest.Test(t, Launcher{}) }

// TestLate: a process that does not end when it is asked to is told of, and killed.
func TestLate(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	var late []string
	var ends []Exit
	l := Launcher{
		Grace:  50 * time.Millisecond,
		Late:   func(m *Member) { late = append(late, m.Name()) },
		After:  func(x Exit) { ends = append(ends, x) },
		Before: func(s *Start) error { s.Cmd.Env = append(s.Cmd.Env, "MARK="+filepath.Join(dir, s.Name)); return nil },
	}
	c, err := l.Start(t.Context(), launch.Spec{Program: shell, Coordinator: launch.Task{
		Name: "stubborn", Args: []string{"-c", `touch "$MARK"; echo '{"event":"listening","address":"here"}'; while :; do sleep 1; done`},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if c.Address() != "here" {
		t.Errorf("at %q", c.Address())
	}
	if err := c.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "stubborn")); err != nil {
		t.Errorf("what Before did was not done: %v", err)
	}
	if len(late) != 1 || late[0] != "stubborn" || len(ends) != 1 || !ends[0].Asked || !ends[0].Killed {
		t.Errorf("late %v, ended %+v", late, ends)
	}
}

// TestFall: a process that falls is gone when Fall returns, and none comes before Return; that it
// was killed here is not held against it.
func TestFall(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Launcher{}.Start(t.Context(), launch.Spec{Program: shell, Coordinator: launch.Task{
		Name: "fragile", Args: []string{"-c", `echo '{"event":"listening","address":"here"}'; exec cat`},
	}})
	if err != nil {
		t.Fatal(err)
	}
	m := c.Processes()[0]
	for i := range 2 * attempts {
		if m.Fall(); m.State().Running {
			await(t, m, false)
		}
		m.Return()
		if await(t, m, true); m.State().Starts != i+2 {
			t.Fatalf("%+v after %d falls", m.State(), i+1)
		}
	}
	if err := c.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	select {
	case err := <-c.Failed():
		t.Error(err)
	default:
	}
}

// await waits until a member runs, or does not.
func await(t *testing.T, m *Member, running bool) {
	t.Helper()
	limit := time.After(time.Minute)
	for {
		changed := m.Changed()
		if m.State().Running == running {
			return
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("not within a minute: %+v", m.State())
		}
	}
}

func TestTail(t *testing.T) {
	var tail Tail
	for _, text := range []string{strings.Repeat("x", 10), strings.Repeat("y", tailSize-3)} {
		if n, err := tail.Write([]byte(text)); n != len(text) || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if got := tail.String(); got != "xxx"+strings.Repeat("y", tailSize-3) {
		t.Errorf("%d bytes, from %.5s", len(got), got)
	}
}
