package cli_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
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
	contains(t, do(t, 2, tiny("--detach")...).errors, "--detach needs --cluster")
}

// TestClusterDrain has the only worker of a run leave. The run is saved where it stands, waits, and
// goes on with another worker.
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

// TestWorkerWithoutCoordinator ends well when it is asked to leave before it has found one, and
// does not go on looking until its patience ends, which is an error.
func TestWorkerWithoutCoordinator(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &stopAfter{text: "looks for a coordinator", times: 1, cancel: cancel}
	if code := cli.Run(ctx, weft.Builtin(), strings.Fields("worker --join 127.0.0.1:1 --devices cpu"), out, out); code != 0 && code != 130 {
		t.Errorf("exit code %d", code)
	}
}

// fetch asks a process at its --metrics address.
func fetch(t *testing.T, at, path string) (code int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	r, err := client.Get(at + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}

var address = regexp.MustCompile(`http://[0-9.:]+`)

// TestClusterObserved looks into a coordinator and a worker, while a run is under way and when it
// is over.
func TestClusterObserved(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	out, _ := serve(t, "coordinator", "--listen", "127.0.0.1:0", "--json", "--metrics", ":0")
	var e struct{ Address string }
	if err := json.Unmarshal([]byte(out.until("listening")), &e); err != nil {
		t.Fatal(err)
	}
	coordinator := address.FindString(out.until("it answers at"))
	out, _ = serve(t, "worker", "--join", e.Address, "--name", "a", "--devices", "cpu", "--json", "--metrics", "127.0.0.1:0")
	worker := address.FindString(out.until("it answers at"))
	out.until("joined")
	do(t, 0, tiny("--cluster", e.Address, "--detach", "--steps", "1_000_000", "--out", "mine")...)
	out.until("part 0 of 1")
	for _, at := range []string{coordinator, worker} {
		for _, path := range []string{"/healthz", "/readyz"} {
			if code, text := fetch(t, at, path); code != 200 {
				t.Errorf("%s: %d %s", path, code, text)
			}
		}
	}
	_, text := fetch(t, coordinator, "/metrics")
	contains(t, text, "weft_coordinator_leader 1\n", `weft_runs{state="done"} 0`, `weft_workers{state="busy"} 1`, `weft_run_steps{run="mine"}`,
		`weft_run_restarts_total{run="mine"} 0`, "process_resident_memory_bytes", "go_goroutines")
	_, text = fetch(t, worker, "/metrics")
	contains(t, text, "weft_worker_joined 1\n", "weft_worker_busy 1\n", "weft_worker_parts_total 1\n")
	do(t, 0, "stop", "mine", "--cluster", e.Address)
	_, text = fetch(t, coordinator, "/metrics")
	contains(t, text, `weft_runs{state="stopped"} 1`)
	if strings.Contains(text, `run="mine"`) {
		t.Error("a run that is over is still told of")
	}
}

// TestClusterLogs has processes log in JSON, and with dates.
func TestClusterLogs(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	out, _ := serve(t, "coordinator", "--listen", "127.0.0.1:0", "--log-format", "json")
	type line struct {
		Time                                      time.Time
		Level, Msg, Process, Run, Worker, Address string
	}
	parse := func(text string) (x line) {
		t.Helper()
		if err := json.Unmarshal([]byte(text), &x); err != nil || x.Time.IsZero() || x.Level == "" {
			t.Fatalf("%q: %v", text, err)
		}
		return x
	}
	at := parse(out.until("it listens")).Address
	worker, _ := serve(t, "worker", "--join", at, "--name", "a", "--devices", "cpu", "--log-format", "json")
	if x := parse(worker.until("joined")); x.Worker != "a" || x.Process != "worker" {
		t.Errorf("%+v", x)
	}
	dated, _ := serve(t, "worker", "--join", at, "--name", "b", "--devices", "cpu")
	if text := dated.until("joined"); !regexp.MustCompile(`^\d{4}-\d\d-\d\dT\S+ INFO  worker: it has joined\n$`).MatchString(text) {
		t.Errorf("%q", text)
	}
	do(t, 0, tiny("--cluster", at, "--out", "mine")...)
	if x := parse(out.until("done after 256 steps")); x.Run != "mine" || x.Process != "coordinator" || x.Level != "INFO" {
		t.Errorf("%+v", x)
	}
	contains(t, do(t, 2, "worker", "--join", at, "--log-format", "xml").errors, `--log-format: "xml" is no format of logs: text or json`)
	contains(t, do(t, 2, "coordinator", "--json", "--log-format", "json").errors, "--json and --log-format")
	contains(t, do(t, 2, "coordinator", "--metrics", "9700").errors, "--metrics: ")
}

// TestClusterAudit shows who asked for what.
func TestClusterAudit(t *testing.T) {
	t.Chdir(t.TempDir())
	at := coordinator(t)
	do(t, 0, tiny("--cluster", at, "--detach", "--out", "mine")...)
	do(t, 0, "stop", "mine", "--now", "--cluster", at)
	do(t, 1, "drain", "x", "--cluster", at)
	text := do(t, 0, "audit", "--cluster", at).out
	contains(t, text, "WHO", "submit ", "stop now ", "refused: there is no worker x")
	o := do(t, 0, "audit", "mine", "--cluster", at, "--json")
	if all := events(t, o.out); len(all) != 2 || all[0]["what"] != "submit" || all[1]["how"] != "now" || all[1]["run"] != "mine" {
		t.Errorf("%v", all)
	}
}
