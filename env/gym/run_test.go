package gym_test

import (
	"bytes"
	"encoding/json"
	"image/gif"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/cli"
)

// weft runs the command line and returns what it printed.
func run(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	if got := cli.Run(t.Context(), weft.Builtin(), args, &out, &problems); got != code {
		t.Fatalf("weft %s: exit code %d\n%s%s", strings.Join(args, " "), got, out.String(), problems.String())
	}
	return out.String() + problems.String()
}

type ended struct {
	Event   string
	Steps   int64
	Weights string `json:"weights_sha256"`
	State   string `json:"state_sha256"`
}

// last returns the last event of a run that was told in JSON.
func last(t *testing.T, out string) (x ended) {
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

// Whatever the number of processes, the policy and the number of its workers, a
// run ends in the same bits; and so does one that was ended half-way and resumed by
// another number of workers.
func TestRunsSameBits(t *testing.T) {
	for _, env := range []string{"gym:CartPole-v1", "HalfCheetah-v5"} {
		t.Run(env, func(t *testing.T) {
			needs(t, "mujoco")
			t.Parallel()
			dir := t.TempDir()
			train := func(name, env, steps string, more ...string) ended {
				more = append(more, "--wrap", "time-limit=40,normalize-obs,record", "--eval-episodes", "0")
				return last(t, run(t, 0, trainArgs(filepath.Join(dir, name), env, steps, more...)...))
			}
			want := train("plain", env, "576")
			if strings.HasPrefix(env, "gym:") {
				if got := train("processes", env+"?workers=3", "576"); got != want {
					t.Errorf("three processes: %+v\nwant %+v", got, want)
				}
			}
			for _, how := range [][]string{{"single-learner-coarse", "1"}, {"single-learner-coarse", "3"}, {"single-learner-fine", "2"}} {
				name := strings.Join(how, " ")
				if got := train(name, env, "576", "--policy", how[0], "--workers", how[1]); got != want || got.Event != "done" {
					t.Errorf("%s: %+v\nwant %+v", name, got, want)
				}
			}
			train("half", env, "384", "--policy", "single-learner-coarse", "--workers", "3")
			if got := last(t, run(t, 0, "resume", filepath.Join(dir, "half"), "--steps", "576", "--workers", "2", "--json")); got != want {
				t.Errorf("resumed by two: %+v\nwant %+v", got, want)
			}
			if a, b := recorded(t, dir, "plain"), recorded(t, dir, "half"); len(a) == 0 || !slices.Equal(a, b) {
				t.Errorf("%d episodes recorded, by several in turn %d, or others", len(a), len(b))
			}
		})
	}
}

// recorded returns the episodes of a run, whoever wrote them, in some order.
func recorded(t *testing.T, dir, name string) (out []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, name, "episodes*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.Split(strings.TrimSpace(string(text)), "\n")...)
	}
	slices.Sort(out)
	return out
}

// Agents of PettingZoo's environments learn together.
func TestRunAgents(t *testing.T) {
	needs(t, "pettingzoo", "mpe2")
	t.Parallel()
	args := []string{"train", "mappo", "--env", "zoo:mpe2.simple_spread_v3?workers=1&mortal=no", "--steps", "600", "--set", "envs=4", "--eval-episodes", "2", "--json"}
	plain := last(t, run(t, 0, append(args, "--out", filepath.Join(t.TempDir(), "run"))...))
	if plain.Event != "done" || plain.Steps != 600 {
		t.Errorf("it ended with %+v", plain)
	}
}

// A bridged environment is filmed from its first observation to its last.
func TestRunVideo(t *testing.T) {
	needs(t, "pygame")
	t.Parallel()
	dir := t.TempDir()
	out := run(t, 2, trainArgs(filepath.Join(dir, "none"), "gym:FrozenLake-v1?render_mode=ansi", "192", "--wrap", "video")...)
	if !strings.Contains(out, "video=episode.gif: gym:FrozenLake-v1: it draws no pictures") {
		t.Error(out)
	}
	film := filepath.Join(dir, "film")
	run(t, 0, trainArgs(film, "gym:CartPole-v1?workers=1", "384", "--wrap", "time-limit=9,video", "--eval-episodes", "0")...)
	f, err := os.Open(filepath.Join(film, "episode.gif"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := gif.DecodeAll(f)
	if err != nil || len(g.Image) != 10 || g.Config.Width != 600 || bytes.Equal(g.Image[0].Pix, g.Image[9].Pix) {
		t.Errorf("%d pictures, %v", len(g.Image), err)
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
