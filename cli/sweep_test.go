package cli_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/bc"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/rl"
)

// valley is an algorithm without environments: what it logs comes the closer to a function of its
// settings the longer it is trained. The function is least, 0, at x = 0.3 and y = 0.01.
type valley struct {
	X    float64 `default:"0" range:"[0,1]" doc:"distance from 0.3 counts"`
	Y    float64 `default:"1" range:"(0,1]" doc:"distance from 0.01 counts, by logarithms"`
	Fail bool    `default:"false" doc:"fail in the third iteration"`
}

func (v *valley) value() float64 {
	return (v.X-.3)*(v.X-.3) + .1*math.Pow(math.Log10(v.Y)+2, 2)
}

type valleyTrainer struct {
	scope  *rl.Scope
	config *valley
}

func (valleyTrainer) Agent() rl.Agent { return nil }

func (t valleyTrainer) Train(run *rl.Run) error {
	for run.Next() {
		if t.config.Fail && run.Iter() == 2 {
			return os.ErrInvalid
		}
		height := t.config.value() + 1/float64(1+run.Iter())
		run.Log("height", rl.FromFlat(t.scope, []float32{float32(height)}, 1))
	}
	return run.Err()
}

// valleys returns a set with that algorithm.
func valleys() app.Set {
	set := weft.Builtin()
	set.Algorithms = append(set.Algorithms, algo.Algorithm{
		Name: "valley", Doc: "a function of its settings", Offline: true, Config: func() any { return new(valley) },
		New: func(s *rl.Scope, _ algo.MakeEnv, config any) (rl.Trainer, error) {
			from, err := data.Open("debug:continuous-mixed") // which it does not look at
			if err == nil {
				data.New[bc.Step](s, "data", from, data.Options{})
			}
			return valleyTrainer{s, config.(*valley)}, err
		},
	})
	return set
}

const valleySweep = `
search: tpe
trials: 16
metric: height
goal: min
window: 3
prune: {first: 3, factor: 3}
run: {algorithm: valley, steps: 27}
space:
  set.x: {from: 0, to: 1}
  set.y: {from: 1e-4, to: 1, scale: log}
`

// swept runs a sweep of valleys, and returns its events.
func swept(t *testing.T, code int, args ...string) []event {
	t.Helper()
	o := run(t.Context(), valleys(), append([]string{"sweep"}, append(args, "--json")...)...)
	if o.code != code {
		t.Fatalf("weft sweep %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), o.code, code, o.out, o.errors)
	}
	return events(t, o.out)
}

// TestSweep: a sweep finds what is good, with any number of workers the same, and what it found can
// be trained.
func TestSweep(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "valley.yaml", valleySweep)
	all := swept(t, 0, "valley.yaml", "--out", "one", "--parallel", "1")
	swept(t, 0, "valley.yaml", "--out", "four", "--parallel", "4")
	if a, b := read(t, "one", "trials.json"), read(t, "four", "trials.json"); a != b {
		t.Errorf("with 4 workers\n%s\nwith 1\n%s", b, a)
	}
	done := all[len(all)-1]
	best := done["best"].(map[string]any)
	if done["event"] != "done" || done["steps"].(float64) > 16*27/2 || best["score"].(float64) > .2 || best["status"] != "finished" {
		t.Errorf("%v", done)
	}
	o := run(t.Context(), valleys(), "train", "--config", "one/best.yaml", "--out", "again", "--json")
	if e := last(t, o); e["event"] != "done" || e["steps"] != 27. {
		t.Errorf("%v", e)
	}
	o = run(t.Context(), valleys(), "config", "diff", "one/best.yaml", best["out"].(string))
	contains(t, o.out, "no setting differs")
	show := do(t, 0, "sweep", "show", "one").out
	contains(t, show, "TRIAL", "finished", "pruned", "set.x=")
	if e := events(t, do(t, 0, "sweep", "show", "one", "--json").out)[0]; e["trial"] != best["trial"] || e["settings"].(map[string]any)["set.x"] == nil {
		t.Errorf("the best is %v, the table begins with %v", best, e)
	}
	swept(t, 0, "one", "--trials", "18")
	var table struct{ Trials []any }
	if err := json.Unmarshal([]byte(read(t, "one", "trials.json")), &table); err != nil || len(table.Trials) != 18 {
		t.Errorf("%d trials (%v)", len(table.Trials), err)
	}
}

// TestSweepKilled: a sweep that is killed and resumed, again and again, ends as one that was not,
// and so do its runs; trials in processes of their own make no difference.
func TestSweepKilled(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "sweep.yaml", `
search: tpe
trials: 6
window: 2
metric: episode/return_mean
prune: {first: 128, factor: 2}
run:
  algorithm: ppo
  env: Identity-v0
  steps: 512
  eval_episodes: 4
  set: {envs: 4, horizon: 16, hidden: 8}
space:
  set.learning_rate: {from: 1e-4, to: 1e-1, scale: log}
  set.epochs: {from: 1, to: 3}
`)
	do(t, 0, "sweep", "sweep.yaml", "--out", "whole", "--parallel", "1")
	kills := 0
	for arg := []string{"sweep.yaml", "--out", "killed"}; ; arg = []string{"killed"} {
		cmd := exec.Command(os.Args[0], append([]string{"sweep"}, append(arg, "--parallel", "2", "--processes", "--json")...)...)
		var out bytes.Buffer
		cmd.Stderr = &out
		pipe, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		if scanned(pipe, `"event":"trial"`) && kills < 3 {
			_ = cmd.Process.Kill() // or it has ended
			kills++
			_ = cmd.Wait()
			continue
		}
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		break
	}
	if a, b := read(t, "whole", "trials.json"), read(t, "killed", "trials.json"); a != b || kills < 2 {
		t.Errorf("after %d kills\n%s\nwithout\n%s", kills, b, a)
	}
	if a, b := read(t, "whole", "best.yaml"), read(t, "killed", "best.yaml"); a != b {
		t.Errorf("the best is\n%s\nwithout kills\n%s", b, a)
	}
}

// scanned reads lines until one has a text, and the rest if none has.
func scanned(r io.Reader, text string) bool {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if strings.Contains(lines.Text(), text) {
			return true
		}
	}
	return false
}

// Interrupted, a sweep says how to go on, and goes on to the same end.
func TestSweepInterrupted(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "valley.yaml", valleySweep)
	swept(t, 0, "valley.yaml", "--out", "whole")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &stopAfter{text: "trial", times: 5, cancel: cancel}
	if code := cli.Run(ctx, valleys(), []string{"sweep", "valley.yaml", "--out", "cut"}, out, new(bytes.Buffer)); code != 130 {
		t.Errorf("exit code %d", code)
	}
	contains(t, out.String(), "interrupted, saved: weft sweep cut goes on")
	swept(t, 0, "cut")
	if a, b := read(t, "whole", "trials.json"), read(t, "cut", "trials.json"); a != b {
		t.Errorf("interrupted\n%s\nundisturbed\n%s", b, a)
	}
}

// A trial that fails is told, and harms no other. Several seeds of a trial are runs of their own.
func TestSweepFails(t *testing.T) {
	t.Chdir(t.TempDir())
	put(t, "fail.yaml", "search: grid\nmetric: height\ngoal: min\nseeds: 2\nrun: {algorithm: valley, steps: 5}\nspace:\n  set.fail: [false, true]\n  set.x: [.3, .4]\n")
	all := swept(t, 0, "fail.yaml", "--out", "fail", "--parallel", "2")
	done := all[len(all)-1]
	if best := done["best"].(map[string]any); best["trial"] != 0. || best["steps"] != 10. {
		t.Errorf("%v", done)
	}
	contains(t, do(t, 0, "sweep", "show", "fail").out, "failed", "invalid argument", "set.fail=true")
	for _, path := range []string{"fail/trial-000/seed1/config.yaml", "fail/trial-001/seed2/metrics.jsonl"} {
		if _, err := os.Stat(path); err != nil {
			t.Error(err)
		}
	}
}

// What is wrong with a sweep is told at once, with its line, and nothing starts.
func TestSweepMistakes(t *testing.T) {
	t.Chdir(t.TempDir())
	for text, want := range map[string][]string{
		"run: {algorithm: ppo}\nspace: {set.gama: [1]}":                                 {"bad.yaml:2: set.gama: no such setting: did you mean set.gamma?"},
		"run: {algorithm: ppoo}\nspace: {set.gamma: [1]}":                               {`run: unknown algorithm "ppoo", did you mean "ppo"?`},
		"run: {algorithm: ppo, stesp: 3}\nspace: {set.gamma: [.9]}":                     {`bad.yaml:1: unknown setting "stesp", did you mean "steps"?`},
		"run: {algorithm: ppo}\nspace:\n  set.gamma: {from: .9, to: 1.5}":               {"bad.yaml:3: gamma: 1.5 is outside [0,1]"},
		"run: {algorithm: ppo, steps: 100}\nprune.first: 100\nspace: {set.gamma: [.9]}": {"prune.first: 100 steps are not before the 100 steps"},
		"run: {algorithm: ppo, extends: absent.yaml}\nspace: {set.gamma: [.9]}":         {"bad.yaml:1: extends: open absent.yaml"},
		"search: gird\nrun: {algorithm: ppo}\nspace: {set.gamma: [.9]}":                 {`"gird" is not one of grid, random, tpe, did you mean "grid"?`},
	} {
		put(t, "bad.yaml", text+"\n")
		contains(t, do(t, 2, "sweep", "bad.yaml", "--out", "bad").errors, want...)
		absent(t, "bad")
	}
	contains(t, do(t, 2, "sweep", "nothing").errors, "there is no file or folder nothing of a sweep")
	contains(t, do(t, 2, "sweep").errors, "takes one file or folder of a sweep, not 0 arguments")
	contains(t, do(t, 2, "sweep", "show", ".").errors, ". is not the folder of a sweep")
	contains(t, do(t, 2, "sweep", ".").errors, ". is not the folder of a sweep")
	put(t, "good.yaml", "metric: height\nrun: {algorithm: valley, steps: 3}\ntrials: 2\nspace: {set.x: [.1, .2]}\n")
	swept(t, 0, "good.yaml", "--out", "good")
	put(t, "good.yaml", "metric: height\nrun: {algorithm: valley, steps: 4}\ntrials: 2\nspace: {set.x: [.1, .2]}\n")
	o := run(t.Context(), valleys(), "sweep", "good.yaml", "--out", "good")
	contains(t, o.errors, "good already holds another sweep")
	if o.code != 2 {
		t.Errorf("exit code %d", o.code)
	}
	if _, err := os.Stat(filepath.Join("good", "best.yaml")); err != nil {
		t.Error(err)
	}
}
