package tracker

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stand is a package in a tracker's place, which writes down how it is called.
const stand = `
import json
class Run:
    def __init__(self, **args): note("init", args.get("name"), args.get("config"))
    def log(self, found, step): note("log", step, found)
    def finish(self): note("finish")
    def __enter__(self): return self
    def __exit__(self, *a): note("end")
def note(*what): open("calls", "a").write(json.dumps(what) + "\n")
def init(**args): return Run(**args)
def set_experiment(name): note("experiment", name)
def start_run(run_name): return Run(name=run_name)
def set_tag(key, value): note("tag", key, value)
def log_params(p): note("params", p)
def log_metrics(found, step): note("metrics", step, found)
`

// python returns an interpreter, without which there is nothing to test.
func python(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("bridge test skipped: there is no python3")
	}
	return path
}

// TestEvents: clients get the settings first and every metric with its step, in order, and numbers
// that JSON lacks are left out.
func TestEvents(t *testing.T) {
	py := python(t)
	lines := `{"event":"begin"}
{"event":"iteration","steps":64,"return_mean":null,"metrics":{"loss":0.5,"bad":null}}
{"event":"eval","steps":64,"return_mean":7,"length_mean":16}
{"event":"iteration","steps":128,"return_mean":3,"metrics":{"loss":0.25}}
{"event":"done"}
`
	for name, want := range map[string]string{
		"wandb": `["init", "mine", {"env": "A"}]
["log", 64, {"loss": 0.5, "step": 64}]
["log", 64, {"eval/return": 7, "eval/length": 16, "step": 64}]
["log", 128, {"loss": 0.25, "episode/return_mean": 3, "step": 128}]
["finish"]
`,
		"mlflow": `["experiment", "weft"]
["init", "mine", null]
["tag", "weft.folder", "runs/mine"]
["params", {"env": "A"}]
["metrics", 64, {"loss": 0.5}]
["metrics", 64, {"eval/return": 7.0, "eval/length": 16.0}]
["metrics", 128, {"loss": 0.25, "episode/return_mean": 3.0}]
["end"]
`,
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Chdir(dir)
			t.Setenv("PYTHONPATH", dir)
			if err := os.WriteFile(filepath.Join(dir, name+".py"), []byte(stand), 0o644); err != nil {
				t.Fatal(err)
			}
			x, err := Start(t.Context(), name, py, []byte(`{"name":"mine","id":"1","dir":"runs/mine","settings":{"env":"A"}}`))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(lines) {
				if _, err := x.Write([]byte(line)); err != nil {
					t.Error(err)
				}
			}
			if err := x.Close(); err != nil {
				t.Error(err)
			}
			got, err := os.ReadFile("calls")
			if err != nil || string(got) != want {
				t.Errorf("%v: it was called with\n%s\nwant\n%s", err, got, want)
			}
		})
	}
}

// TestAbsent: what is not installed is said at once, with how to get it; a client that fails later
// is told at the end.
func TestAbsent(t *testing.T) {
	py := python(t)
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PYTHONPATH", dir)
	put := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, "wandb.py"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("raise ImportError('no such thing')")
	if _, err := Start(t.Context(), "wandb", py, nil); err == nil || !strings.Contains(err.Error(), "ImportError: no such thing") || !strings.Contains(err.Error(), "-m pip install wandb") {
		t.Errorf("error %v", err)
	}
	if _, err := Start(t.Context(), "wandb", "nopython", nil); err == nil || !strings.Contains(err.Error(), "--python") {
		t.Errorf("error %v", err)
	}
	put("def init(**a): raise RuntimeError('no network')")
	x, err := Start(t.Context(), "wandb", py, []byte(`{"name":"a","id":"1","dir":"d","settings":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Close(); err == nil || !strings.Contains(err.Error(), "RuntimeError: no network") {
		t.Errorf("error %v", err)
	}
}
