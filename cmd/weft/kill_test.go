//go:build unix

package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// long is a run of 400 iterations. That is more lines than a pipe holds, so that
// it cannot be over before somebody who has read only the first of them acts.
func long(more ...string) []string {
	return append([]string{
		"train", "ppo", "--env", "Host-v0", "--steps", "6400", "--eval-episodes", "4", "--eval-every", "1280", "--checkpoint-steps", "32", "--json",
		"--set", "envs=2", "--set", "horizon=8", "--set", "hidden=8", "--set", "epochs=1", "--set", "minibatches=1", "--set", "normalize_obs=true",
	}, more...)
}

// A run that is killed at any moment, any number of times, ends in the bits of
// one that never was.
func TestKill(t *testing.T) {
	dir := t.TempDir()
	line, _ := do(t, dir, 0, long("--out", "whole")...)
	want := parse(t, line)
	for _, c := range []struct {
		name  string
		kills []string // lines after which the process is killed, one after another
		after []int    // how many of them
	}{
		{"begin", []string{`"begin"`}, []int{1}},
		{"early", []string{`"iteration"`}, []int{3}},
		{"eval", []string{`"eval"`}, []int{2}},
		{"late", []string{`"iteration"`}, []int{190}},
		{"often", []string{`"begin"`, `"iteration"`, `"iteration"`, `"eval"`, `"iteration"`}, []int{1, 1, 20, 1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			args := long("--out", c.name)
			for i, text := range c.kills {
				p := start(t, dir, args...)
				p.until(text, c.after[i])
				p.signal(syscall.SIGKILL)
				if _, code := p.end(); code != -1 && i == 0 { // later it may be
					t.Fatalf("exit code %d: the run was over before it was killed", code)
				}
				args = []string{"resume", c.name, "--or-begin", "--json"} // it may be killed before the first checkpoint
			}
			line, _ := do(t, dir, 0, args...)
			sameBits(t, parse(t, line), want)
		})
	}
}

// Ctrl-C and a polite request to end write a checkpoint and exit with 130.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	line, _ := do(t, dir, 0, long("--out", "whole")...)
	want := parse(t, line)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(s.String(), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "mine")
			p := start(t, dir, long("--out", out, "--checkpoint-steps", "0")...)
			p.until(`"iteration"`, 10)
			p.signal(s)
			line, code := p.end()
			if e := parse(t, line); code != 130 || e.Event != "interrupted" || e.Steps < 160 || e.Steps >= 6400 {
				t.Fatalf("exit code %d, %+v", code, e)
			}
			saved, err := os.ReadDir(filepath.Join(out, "checkpoints"))
			if err != nil || len(saved) == 0 {
				t.Fatalf("no checkpoint, %v", err)
			}
			line, _ = do(t, dir, 0, "resume", out, "--json")
			sameBits(t, parse(t, line), want)
		})
	}
}
