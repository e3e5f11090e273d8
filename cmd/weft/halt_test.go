//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-rl/weft/internal/run/part"
)

// Ctrl-C of a run in processes writes a checkpoint of where it is, exits with 130 and goes on
// in the bits of one that never was interrupted.
func TestInterruptProcesses(t *testing.T) {
	dir := t.TempDir()
	want, record := whole(t)
	for i, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "mine")
			p := start(t, dir, split("--processes", "2", "--out", out, "--checkpoint-steps", "0", "--checkpoint-every", "1h")...)
			p.until(`"iteration"`, 1)
			p.signal(s)
			line, code := p.end()
			e := parse(t, line)
			if code != 130 || e.Event != "interrupted" || e.Steps == 0 || e.Steps >= want.Steps {
				t.Fatalf("exit code %d, %+v", code, e)
			}
			kept, err := part.ReadCommitted(out)
			if err != nil || kept.Step() != e.Steps {
				t.Fatalf("it is kept at step %d, and says %d: %v", kept.Step(), e.Steps, err)
			}
			line, _ = do(t, dir, 0, append([]string{"resume", out, "--json"}, [][]string{nil, {"--processes", "2"}}[i]...)...)
			sameBits(t, parse(t, line), want)
			sameRecord(t, out, record)
		})
	}
}

// Who cannot wait for that interrupts it once more, also a command that a script began with SIGINT
// ignored. A run that has not begun its first iteration yet stops at once, and is tried again.
func TestInterruptTwice(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"train", "ppo", "--policy", "single-learner-coarse", "--processes", "2", "--out", "mine", "--json",
		"--set", "envs=4", "--set", "horizon=8", "--set", "epochs=100_000_000"} // an iteration takes hours
	t.Run("terminal", func(t *testing.T) { interruptTwice(t, -1, bin, args...) })
	t.Run("ignored", func(t *testing.T) {
		interruptTwice(t, 130, "/bin/sh", append([]string{"-c", `trap "" INT; exec "$0" "$@"`, bin}, args...)...)
	})
}

func interruptTwice(t *testing.T, want int, program string, args ...string) {
	for range 5 {
		p := begin(t, t.TempDir(), program, args...)
		if !p.until(`"begin"`, 1) {
			t.Fatal(p.stderr.String())
		}
		p.signal(os.Interrupt)
		if !p.until("it stops at its next consistent point", 1) {
			t.Fatal("it did not wait")
		}
		p.signal(os.Interrupt)
		line, code := p.end()
		if ended := strings.Contains(line, `"interrupted"`); code == 130 && ended && strings.Contains(line, `"steps":0,`) {
			continue
		} else if code != want || ended {
			t.Errorf("exit code %d: %s", code, line)
		}
		return
	}
	t.Error("it was never in an iteration")
}
