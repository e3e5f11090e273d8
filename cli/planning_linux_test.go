package cli_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// interpreter writes a script that takes Python's place.
func interpreter(t *testing.T, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "python")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// hang has the script write its process's number into a file, and then do nothing for longer than
// any test takes.
func hang(file string) string {
	return "echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 100000"
}

// gymnasium returns the configuration of a run whose environment is another program's.
func gymnasium(python string) string {
	return "algorithm: ppo\nenv: gym:CartPole-v1\nsteps: 640\npython: " + python + "\n"
}

// cluster starts a coordinator with flags and a worker, and returns its address and a client of it.
func cluster(t *testing.T, flags ...string) (at string, client *protocol.Client) {
	t.Helper()
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir()) // for the user's certificate
	out, _ := serve(t, append([]string{"coordinator", "--listen", "127.0.0.1:0", "--json"}, flags...)...)
	var e struct{ Address string }
	if err := json.Unmarshal([]byte(out.until("listening")), &e); err != nil {
		t.Fatal(err)
	}
	worker, _ := serve(t, "worker", "--join", e.Address, "--name", "a", "--devices", "cpu", "--json")
	worker.until("joined")
	own, err := certs.Own()
	if err != nil {
		t.Fatal(err)
	}
	return e.Address, &protocol.Client{Addresses: []string{e.Address}, TLS: own.TLS(), Patience: time.Minute}
}

// ends waits until the process is gone whose number is in a file.
func ends(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return // this machine is so busy that it had not begun
	}
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	for range 6000 {
		if syscall.Kill(pid, 0) != nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("process %d is left", pid)
}

// A submission whose environment hangs does not keep a later one waiting. It fails with a reason
// when its time is over, or is stopped, and leaves no process.
func TestHangingSubmission(t *testing.T) {
	at, client := cluster(t, "--plan-time", "5s", "--allow", "/")
	file := filepath.Join(t.TempDir(), "pid")
	if err := client.Submit(t.Context(), "bad", gymnasium(interpreter(t, hang(file)))); err != nil {
		t.Fatal(err)
	}
	o := do(t, 0, tiny("--cluster", at, "--steps", "640", "--json", "--out", "good")...)
	if e := last(t, o); e["event"] != "done" {
		t.Errorf("%v", e)
	}
	r, err := client.Watch(t.Context(), "bad", func(core.Run) {})
	if err != nil || r.Phase != core.Failed || !strings.Contains(r.Why, "were not constructed within 5s") {
		t.Errorf("%s: %s, %v", r.Phase, r.Why, err)
	}
	ends(t, file)
}

// A run that is stopped while its environment is being constructed leaves no process.
func TestStoppedSubmission(t *testing.T) {
	at, client := cluster(t, "--allow", "/")
	file := filepath.Join(t.TempDir(), "pid")
	if err := client.Submit(t.Context(), "bad", gymnasium(interpreter(t, hang(file)))); err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(file); err == nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	do(t, 0, "stop", "bad", "--now", "--cluster", at)
	ends(t, file)
}

// What a submission makes may crash, take too much memory or print whatever it likes: it is told,
// and the coordinator goes on.
func TestBadSubmissions(t *testing.T) {
	for name, c := range map[string]struct {
		config string
		memory int64
		want   string
	}{
		"greedy":  {gymnasium(interpreter(t, hang(filepath.Join(t.TempDir(), "pid")))), 1 << 20, "GiB of memory; the limit is"},
		"crash":   {gymnasium(interpreter(t, "echo {}; kill -9 $PPID")), 0, "signal: killed"},
		"prints":  {gymnasium(interpreter(t, "echo {}; echo why >&2; exit 3")), 0, "why"},
		"unknown": {"algorithm: ppo\nenv: No-v0\n", 0, "No-v0"},
	} {
		t.Run(name, func(t *testing.T) {
			if err := cli.Plan(t.Context(), c.config, time.Minute, c.memory); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if err := cli.Plan(t.Context(), "algorithm: ppo\nenv: CartPole-v1\nsteps: 640\n", time.Minute, 0); err != nil {
		t.Error(err)
	}
}
