package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// standIns returns a Python that takes the trackers' packages from the test's folder, in which the
// test goes on.
func standIns(t *testing.T) (python string) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("bridge test skipped: there is no python3")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PYTHONPATH", dir)
	return python
}

// A run tells a tracker its settings and every metric, when it goes on too; without the package it
// does not begin.
func TestLog(t *testing.T) {
	py := standIns(t)
	t.Setenv("WEFT_PYTHON", py)
	put(t, "wandb.py", "raise ImportError('it is not here')\n")
	contains(t, do(t, 2, tiny("--log", "wandb", "--out", "one")...).errors, "--log: wandb cannot be used (ImportError: it is not here)", "-m pip install wandb")
	absent(t, "one")
	put(t, "wandb.py", `
import json
class Run:
    def log(self, found, step): note(step, sorted(found))
    def finish(self): note("finish")
def note(*what): open("calls", "a").write(json.dumps(what) + "\n")
def init(**a):
    note(a["name"], a["id"], a["config"]["set.hidden"])
    return Run()
`)
	do(t, 0, tiny("--log", "wandb", "--out", "one")...)
	do(t, 0, "resume", "one", "--steps", "320", "--log", "wandb")
	calls := strings.Split(strings.TrimSpace(read(t, "calls")), "\n")
	begins, ends := 0, 0
	for _, c := range calls {
		if strings.HasPrefix(c, `["one", "`) && strings.HasSuffix(c, `"8"]`) {
			begins++
			if c != calls[0] {
				t.Errorf("resumed as %s, begun as %s", c, calls[0])
			}
		}
		if c == `["finish"]` {
			ends++
		}
	}
	text := strings.Join(calls, "\n")
	if begins != 2 || ends != 2 || !strings.Contains(text, `[256, ["eval/length", "eval/return", "step"]]`) || !strings.Contains(text, `[320, [`) {
		t.Errorf("the tracker was told\n%s", text)
	}
	put(t, "wandb.py", "def init(**a): raise RuntimeError('no network')\n")
	contains(t, do(t, 0, tiny("--log", "wandb", "--out", "two")...).errors, "--log: wandb: ", "RuntimeError: no network", "the run itself is well")
	contains(t, do(t, 2, tiny("--log", "wandbb")...).errors, `unknown tracker "wandbb", did you mean "wandb"?`)
	contains(t, do(t, 2, tiny("--log", "wandb", "--processes", "2")...).errors, "--log: it is for runs in this process")
	if _, err := os.Stat("two/config.yaml"); err != nil {
		t.Error(err)
	}
}

// The records of finished runs are sent to a tracker, each as a run of its own with its seeds as
// its group.
func TestLogAfterwards(t *testing.T) {
	py := standIns(t)
	put(t, "wandb.py", `
class Run:
    def log(self, found, step): note(step, "episode/return_mean" in found, "eval/return" in found)
    def finish(self): note("finish")
def note(*what): open("calls", "a").write(" ".join(map(str, what)) + "\n")
def init(**a):
    note(a["name"], a["group"], a["config"]["set.hidden"])
    return Run()
`)
	do(t, 0, tiny("--seeds", "2", "--out", "both")...)
	contains(t, do(t, 0, "metrics", "both", "--log", "wandb", "--python", py).out, "sent 5 lines of both/seed1 to wandb", "both/seed2")
	one := "64 True False\n128 True False\n192 True False\n256 True False\n256 False True\nfinish\n"
	if got := read(t, "calls"); got != "both/seed1 both 8\n"+one+"both/seed2 both 8\n"+one {
		t.Errorf("the tracker was told\n%s", got)
	}
	contains(t, do(t, 2, "metrics", "both", "--log", "wandbb").errors, `unknown tracker "wandbb", did you mean "wandb"?`)
	contains(t, do(t, 2, "metrics", "both", "--log", "wandb", "--out", "x.csv").errors, "--out and --log: give one of them")
	contains(t, do(t, 1, "metrics", "both", "--log", "wandb", "--python", "nopython").errors, "name an interpreter with --python")
}

// Several seeds are runs of their own to a tracker, in one group; without the package none begins.
func TestLogSeeds(t *testing.T) {
	py := standIns(t)
	put(t, "wandb.py", "raise ImportError('it is not here')\n")
	contains(t, do(t, 2, tiny("--seeds", "2", "--log", "wandb", "--python", py, "--out", "none")...).errors, "--log: wandb cannot be used (ImportError: it is not here)")
	absent(t, "none")
	put(t, "wandb.py", `
class Run:
    def __init__(self, name): self.file = open(name.replace("/", "-"), "w")
    def log(self, found, step): print(step, "loss/policy" in found, "eval/return" in found, file=self.file)
    def finish(self): print("finish", file=self.file)
def init(**a): return Run(a["group"] + "/" + a["name"])
`)
	do(t, 0, tiny("--seeds", "2", "--log", "wandb", "--python", py, "--out", "both")...)
	for _, seed := range []string{"1", "2"} {
		if got := read(t, "both-both-seed"+seed); got != "64 True False\n128 True False\n192 True False\n256 True False\n256 False True\nfinish\n" {
			t.Errorf("the tracker was told of seed %s\n%s", seed, got)
		}
	}
	put(t, "wandb.py", "def init(**a): raise RuntimeError('no network')\n")
	contains(t, do(t, 0, tiny("--seeds", "2", "--log", "wandb", "--python", py, "--out", "alone")...).out, "seed 1: --log: wandb: ", "RuntimeError: no network", "seed 2: --log")
}
