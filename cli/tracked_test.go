package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A run tells a tracker its settings and every metric, when it goes on too; without the package it
// does not begin.
func TestLog(t *testing.T) {
	py, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("bridge test skipped: there is no python3")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("PYTHONPATH", dir)
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
	contains(t, do(t, 2, tiny("--log", "wandb", "--seeds", "2")...).errors, "--log: it is for a run in this process")
	if _, err := os.Stat("two/config.yaml"); err != nil {
		t.Error(err)
	}
}
