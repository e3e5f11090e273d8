package cli_test

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
)

// TestClusterDetach submits runs and returns: they go on by themselves.
func TestClusterDetach(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	o := do(t, 0, tiny("--cluster", at, "--detach", "--steps", "640", "--out", "mine")...) // no worker is there
	contains(t, o.out, "run mine is submitted", "weft logs mine --follow --cluster "+at, "weft status mine --cluster "+at, "weft stop mine --cluster "+at)
	out, _ := serve(t, "worker", "--join", at, "--name", "a", "--devices", "cpu", "--json")
	out.until("joined")
	contains(t, do(t, 0, "logs", "mine", "--follow", "--cluster", at).out, "done after 640 steps")
	steps(t, filepath.Join("runs", "mine"), 640)
	o = do(t, 0, "resume", "mine", "--cluster", at, "--steps", "1280", "--detach", "--json")
	if e := last(t, o); e["event"] != "submitted" || e["run"] != "mine" {
		t.Errorf("%v", e)
	}
	contains(t, do(t, 0, "logs", "mine", "--follow", "--cluster", at).out, "done after 1280 steps")
	contains(t, do(t, 2, tiny("--detach")...).errors, "--detach: it is for --cluster")
}

// TestClusterDrain has the only worker of a run leave. The run is saved where it stands, waits, and goes on with another worker.
func TestClusterDrain(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	out, _ := serve(t, "worker", "--join", at, "--name", "a", "--devices", "cpu", "--json")
	out.until("joined")
	do(t, 0, tiny("--cluster", at, "--detach", "--steps", "20000", "--out", "mine")...)
	out.until("part 0 of 1")
	contains(t, do(t, 0, "drain", "a", "--cluster", at).out, "worker a has left")
	out.until("it leaves: no run needs it")
	contains(t, do(t, 0, "status", "mine", "--cluster", at).out, "nothing is done again", "waits for a worker")
	contains(t, do(t, 1, "drain", "a", "--cluster", at).errors, "there is no worker a: weft status shows them")
	contains(t, do(t, 2, "drain", "--cluster", at).errors, "weft drain takes the names of workers")
	contains(t, do(t, 2, "worker", "--join", at, "--drain-timeout", "0s").errors, "--drain-timeout: 0s is too short")
	out, stop := serve(t, "worker", "--join", at, "--name", "b", "--devices", "cpu", "--json")
	out.until("part 0 of 1")
	stop() // as SIGTERM does
	out, _ = serve(t, "worker", "--join", at, "--name", "c", "--devices", "cpu", "--json")
	out.until("joined")
	contains(t, do(t, 0, "logs", "mine", "--follow", "--cluster", at).out, "done after 20000 steps")
	steps(t, filepath.Join("runs", "mine"), 20000)
}

// TestClusterStore refuses a worker whose checkpoints would be elsewhere.
func TestClusterStore(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	out, _ := serve(t, "worker", "--join", at, "--name", "a", "--devices", "cpu", "--json")
	out.until("joined")
	o := do(t, 1, "worker", "--join", at, "--name", "b", "--devices", "cpu", "--store", t.TempDir())
	contains(t, o.errors, "is not the one that worker a has (", "mount that folder here and name it with --store")
}

// TestWorkerWithoutCoordinator ends at once when it is asked to leave before it has found one.
func TestWorkerWithoutCoordinator(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	began := time.Now()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &stopAfter{text: "looks for a coordinator", times: 1, cancel: cancel}
	if code := cli.Run(ctx, weft.Builtin(), strings.Fields("worker --join 127.0.0.1:1 --devices cpu"), out, out); code != 0 && code != 130 {
		t.Errorf("exit code %d", code)
	}
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("it took %v", took)
	}
}
