package gym_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/app"
)

// weft runs the command line and returns what it printed.
func run(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	if got := app.Run(t.Context(), weft.Builtin(), args, &out, &problems); got != code {
		t.Fatalf("weft %s: exit code %d\n%s%s", strings.Join(args, " "), got, out.String(), problems.String())
	}
	return out.String() + problems.String()
}

// last is the last event of a run that was told in JSON.
func last(t *testing.T, out string) (x struct {
	Event   string
	Steps   int64
	Weights string `json:"weights_sha256"`
	State   string `json:"state_sha256"`
}) {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &x); err != nil {
		t.Fatalf("%v in %s", err, out)
	}
	return x
}

var short = []string{"--set", "envs=6", "--set", "horizon=32", "--set", "hidden=16", "--set", "anneal=constant", "--eval-episodes", "2", "--json"}

func trainArgs(dir, env, steps string, more ...string) []string {
	return append(append([]string{"train", "ppo", "--env", env, "--steps", steps, "--out", dir}, short...), more...)
}

// Whatever the number of processes, a run ends in the same bits; and so does one
// that was ended half-way and resumed.
func TestRunsSameBits(t *testing.T) {
	needs(t)
	t.Parallel()
	dir := t.TempDir()
	want := last(t, run(t, 0, trainArgs(filepath.Join(dir, "1"), "gym:CartPole-v1?workers=1", "1152")...))
	three := last(t, run(t, 0, trainArgs(filepath.Join(dir, "3"), "gym:CartPole-v1?workers=3", "1152")...))
	half := filepath.Join(dir, "half")
	run(t, 0, trainArgs(half, "gym:CartPole-v1?workers=2", "576")...)
	resumed := last(t, run(t, 0, "resume", half, "--steps", "1152", "--json"))
	if want.Event != "done" || three != want || resumed != want {
		t.Errorf("one process %+v\nthree %+v\nresumed %+v", want, three, resumed)
	}
}

// A run of an environment that cannot be saved says so, is not resumed exactly,
// and goes on with new episodes when that is asked for.
func TestRunInexact(t *testing.T) {
	needs(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "run")
	out := run(t, 0, trainArgs(dir, "gym:weft_test_envs:Locked", "192")...)
	if !strings.Contains(out, "cannot save its state (saving it fails: TypeError: cannot pickle '_thread.lock' object)") ||
		!strings.Contains(out, "only with --resume=restart-episodes") {
		t.Errorf("it began with %s", out)
	}
	out = run(t, 2, "resume", dir, "--steps", "384")
	if !strings.Contains(out, "--resume=restart-episodes goes on with new episodes") {
		t.Errorf("it was refused with %s", out)
	}
	out = run(t, 0, "resume", dir, "--steps", "384", "--resume=restart-episodes", "--json")
	if x := last(t, out); x.Event != "done" || x.Steps != 384 || !strings.Contains(out, "begin new episodes at step 192") {
		t.Errorf("resumed with %s", out)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "config.yaml")); err != nil || !strings.Contains(string(text), "resume: restart-episodes") {
		t.Errorf("the configuration is %s, %v", text, err)
	}
}

// A failure stops the run, and its last checkpoint stays; or it is counted, and
// the run goes on.
func TestRunFailure(t *testing.T) {
	needs(t)
	t.Parallel()
	dir := t.TempDir()
	env := "gym:weft_test_envs:Faulty?how=raise&at=50&workers=2&exact=false"
	stopped := filepath.Join(dir, "stopped")
	out := run(t, 1, trainArgs(stopped, env, "960", "--checkpoint-steps", "192")...)
	for _, want := range []string{"environment 1, at its step 50: RuntimeError: out of cheese", "Traceback", "checkpoint of step 192 is good"} {
		if !strings.Contains(out, want) {
			t.Errorf("%s\ndoes not say %s", out, want)
		}
	}
	again := filepath.Join(dir, "again")
	once := filepath.Join(dir, "once")
	out = run(t, 0, trainArgs(again, env+"&once="+once, "960", "--on-env-failure=restart")...)
	if x := last(t, out); x.Event != "done" || x.Steps != 960 || !strings.Contains(out, "was restarted with new episodes") {
		t.Errorf("it went on with %s", out)
	}
	text, err := os.ReadFile(filepath.Join(again, "metrics.jsonl"))
	if err != nil || !strings.Contains(string(text), `"env/restarts":3`) {
		t.Errorf("metrics %s, %v", text, err)
	}
}

// The interpreter of a run is a flag, and recorded; one that is not there is the
// user's to name.
func TestRunPython(t *testing.T) {
	needs(t)
	t.Parallel()
	out := run(t, 2, trainArgs(filepath.Join(t.TempDir(), "run"), "gym:CartPole-v1", "192", "--python", "no-such-python")...)
	if !strings.Contains(out, "there is no Python interpreter no-such-python") {
		t.Error(out)
	}
}
