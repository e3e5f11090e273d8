//go:build unix

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// long returns a run of 400 iterations. That is more lines than a pipe holds, so that
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

// Ctrl-C, a polite request to end and a terminal that is closed write a checkpoint and exit with
// 130. A terminal may say twice that it is closed: the kernel does, and so does a shell.
func TestInterrupt(t *testing.T) {
	dir := t.TempDir()
	line, _ := do(t, dir, 0, long("--out", "whole")...)
	want := parse(t, line)
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			out := filepath.Join(t.TempDir(), "mine")
			p := start(t, dir, long("--out", out, "--checkpoint-steps", "0")...)
			p.until(`"iteration"`, 10)
			if p.signal(s); s == syscall.SIGHUP {
				p.signal(s)
			}
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

// A run that was started to outlive its terminal, as nohup does it, goes on when that is closed.
func TestNoHangUp(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	p := begin(t, t.TempDir(), "sh", append([]string{"-c", `trap "" HUP; exec "$0" "$@"`, bin}, long("--out", "mine")...)...)
	p.until(`"iteration"`, 10)
	p.signal(syscall.SIGHUP)
	if line, code := p.end(); code != 0 || parse(t, line).Event != "done" {
		t.Errorf("exit code %d, %s", code, line)
	}
}

// A run goes on when nobody reads what it prints any more, in one process and in several.
func TestClosedPipe(t *testing.T) {
	for _, how := range [][]string{nil, {"--policy", "single-learner-coarse", "--processes", "2"}} {
		dir := t.TempDir()
		bin, err := binary()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), bin, long(append(how, "--out", "mine")...)...)
		cmd.Dir = dir
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		out.Close()
		if _, err := in.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v", how, err)
		}
		if line, _ := do(t, dir, 0, "resume", "mine", "--json"); parse(t, line).Steps != 6400 {
			t.Errorf("%v: it ended as %s", how, line)
		}
	}
}

// What does not train ends with who reads it, without a word.
func TestClosedPipeOfList(t *testing.T) {
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	cmd := exec.CommandContext(t.Context(), bin, "list", "envs", "CartPole-v1")
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &errs
	err = cmd.Run()
	out.Close()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || status.Signal() != syscall.SIGPIPE || errs.Len() > 0 {
		t.Errorf("%v, %s", err, errs.String())
	}
}
