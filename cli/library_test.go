package cli_test

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/rl"
)

func job() app.Job {
	return app.Job{
		Algorithm: ppo.Algorithm, Env: debug.Identity, Seed: 1, Steps: 256,
		Set: []string{"envs=4", "horizon=16", "hidden=8", "epochs=1"},
	}
}

// A Go program gets what the command line gets.
func TestLibrary(t *testing.T) {
	t.Chdir(t.TempDir())
	want := last(t, do(t, 0, tiny("--json")...))
	j := job()
	j.Out = "mine"
	var seen []app.Progress
	j.Watch = func(p app.Progress) { seen = append(seen, p) }
	r, err := app.Train(t.Context(), j)
	if err != nil {
		t.Fatal(err)
	}
	if r.WeightsSHA256 != want["weights_sha256"] || r.StateSHA256 != want["state_sha256"] || r.ReturnMean != want["return_mean"] {
		t.Errorf("%+v, want %v", r, want)
	}
	if !math.IsNaN(r.EvalReturn) || r.Agent == nil || r.Interrupted {
		t.Errorf("%+v", r)
	}
	if len(seen) != 4 || seen[3].Steps != 256 || len(seen[3].Metrics) == 0 {
		t.Errorf("progress %+v", seen)
	}
	contains(t, do(t, 0, "resume", "mine").out, "mine is finished")
}

// An interrupted run that keeps nothing is over; one with a folder is not.
func TestLibraryInterrupted(t *testing.T) {
	j := job()
	j.Out = filepath.Join(t.TempDir(), "mine")
	ctx, cancel := context.WithCancel(t.Context())
	j.Watch = func(app.Progress) { cancel() }
	r, err := app.Train(ctx, j)
	if err != nil || !r.Interrupted || r.Steps != 64 {
		t.Fatalf("%+v, %v", r, err)
	}
	do(t, 0, "resume", j.Out)
	if _, err := app.Train(t.Context(), j); err == nil || !strings.Contains(err.Error(), "Job.Out: "+j.Out+" already holds a run: app.Resume goes on with it") {
		t.Errorf("trained into an occupied folder: %v", err)
	}
}

// A Go program has the verbs of the command line: it resumes, evaluates, loads and starts from what
// it or the command trained.
func TestLibraryVerbs(t *testing.T) {
	t.Chdir(t.TempDir())
	want := last(t, do(t, 0, tiny("--json", "--out", "whole")...))
	interrupt(t, `"iteration"`, 2, tiny("--json", "--out", "mine")...)
	var seen []app.Progress
	r, err := app.Resume(t.Context(), weft.Builtin(), "mine", app.Resumption{Watch: func(p app.Progress) { seen = append(seen, p) }})
	if err != nil || r.WeightsSHA256 != want["weights_sha256"] || r.StateSHA256 != want["state_sha256"] || len(seen) != 2 || math.IsNaN(r.EvalReturn) {
		t.Fatalf("%+v, %v, %d iterations", r, err, len(seen))
	}
	again, err := app.Resume(t.Context(), weft.Builtin(), "mine", app.Resumption{}) // there is nothing left to do
	if err != nil || again.WeightsSHA256 != r.WeightsSHA256 {
		t.Errorf("%+v, %v", again, err)
	}
	further, err := app.Resume(t.Context(), weft.Builtin(), "mine", app.Resumption{Steps: 512})
	if err != nil || further.Steps != 512 || further.Agent.Step != 512 {
		t.Errorf("%+v, %v", further, err)
	}
	score, err := app.Evaluate(t.Context(), weft.Builtin(), "whole", app.Trial{Episodes: 7})
	e := last(t, do(t, 0, "eval", "whole", "--episodes", "7", "--json"))
	if err != nil || score.Episodes != 7 || score.Steps != 256 || score.Mean != e["return_mean"] {
		t.Errorf("%+v, %v, want %v", score, err, e)
	}
	agent, err := app.Load(t.Context(), weft.Builtin(), "whole", app.Loading{Weights: app.NewestWeights})
	if err != nil {
		t.Fatal(err)
	}
	for x := range 4 {
		obs := make([]float64, 4)
		obs[x] = 1
		a, err1 := agent.Act(obs)
		b, err2 := r.Agent.Act(obs)
		if err1 != nil || err2 != nil || len(a) != 1 || !slices.Equal(a, b) {
			t.Errorf("on %d: %v, %v, %v, %v", x, a, b, err1, err2)
		}
	}
	if err := agent.Close(); err != nil {
		t.Error(err)
	}
	if _, err := agent.Act([]float64{1}); err == nil {
		t.Error("a closed agent acts")
	}
	j := job()
	j.From, j.Steps, j.Out = "whole", 64, "from"
	var told []string
	j.Note = func(text string) { told = append(told, text) }
	if _, err := app.Train(t.Context(), j); err != nil || !strings.Contains(strings.Join(told, "\n"), "it starts from the best weights of ") {
		t.Errorf("%q, %v", told, err)
	}
}

// Agents of all kinds of runs act: with memory, with several numbers, for several kinds of agents.
// What does not fit is an error.
func TestAgent(t *testing.T) {
	t.Chdir(t.TempDir())
	set := weft.Builtin()
	set.Environments = append(set.Environments, env.Entry{ID: "Forgetful-v0", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
		spec := env.Spec{ID: "Forgetful-v0", Obs: rl.Discrete{N: 2}, Action: rl.Discrete{N: 2}, Limit: 8}
		return env.Hosts(s, n, spec, func(int) (env.Host, error) { return forgetful{}, nil })
	}})
	load := func(t *testing.T, args ...string) *app.Agent {
		t.Helper()
		dir := filepath.Base(t.Name())
		if o := run(t.Context(), set, tiny(append(args, "--eval-episodes", "0", "--out", dir)...)...); o.code != 0 {
			t.Fatal(o.errors)
		}
		agent, err := app.Load(t.Context(), set, dir, app.Loading{Wrapped: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := agent.Close(); err != nil {
				t.Error(err)
			}
		})
		return agent
	}
	wrong := func(t *testing.T, a *app.Agent, obs []float64, want string) {
		t.Helper()
		if x, err := a.Act(obs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, %v, want %q", obs, x, err, want)
		}
	}
	t.Run("discrete", func(t *testing.T) {
		a := load(t, "--env", "Forgetful-v0")
		wrong(t, a, []float64{1, 2}, "the observation has 2 numbers, not 1: it is a Discrete(")
		wrong(t, a, nil, "the observation has 0 numbers, not 1")
		wrong(t, a, []float64{-1}, "number 0 of the observation is -1, which is not in Discrete(")
		wrong(t, a, []float64{.5}, "number 0 of the observation is 0.5, which is not in Discrete(")
		wrong(t, a, []float64{math.NaN()}, "NaN")
		_, err := a.ActAll([]app.Observation{{X: map[string][]float64{"x": {1}}}})
		if err == nil || !strings.Contains(err.Error(), `the observation lacks ""`) {
			t.Error(err)
		}
		if _, err = a.ActAll(nil); err == nil || !strings.Contains(err.Error(), "0 observations for 1 kinds of agents") {
			t.Error(err)
		}
		if x, err := a.Act([]float64{1}); err != nil || len(x) != 1 {
			t.Errorf("%v, %v", x, err)
		}
	})
	t.Run("continuous", func(t *testing.T) {
		a := load(t, "--env", "Pendulum-v1")
		wrong(t, a, []float64{0, 0, math.Inf(1)}, "which is not in Box(")
		if x, err := a.Act([]float64{1, 0, 0}); err != nil || len(x) != 1 {
			t.Errorf("%v, %v", x, err)
		}
	})
	t.Run("memory", func(t *testing.T) {
		a := load(t, "--env", "Memory-v0", "--set", "memory=8")
		size := a.Specs()[0].Obs.Shape().Size()
		act := func() []float64 {
			x, err := a.Act(make([]float64, max(1, size)))
			if err != nil {
				t.Fatal(err)
			}
			return x
		}
		first := act()
		act()
		a.Reset()
		if x := act(); !slices.Equal(x, first) {
			t.Errorf("after Reset %v, want %v", x, first)
		}
	})
}

// An agent acts for several kinds of agents at once.
func TestAgentOfKinds(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, "train", "mappo", "--env", "Kinds-v0", "--steps", "256", "--eval-episodes", "0", "--out", "mine")
	a, err := app.Load(t.Context(), weft.Builtin(), "mine", app.Loading{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	symbols, number := app.Observation{X: map[string][]float64{"": make([]float64, 12)}}, app.Observation{X: map[string][]float64{"": {0}}}
	x, err := a.ActAll([]app.Observation{symbols, number})
	if err != nil || len(x) != 2 || len(x[0][""]) != 3 || len(x[1][""]) != 1 {
		t.Errorf("%v, %v", x, err)
	}
	_, err = a.ActAll([]app.Observation{symbols, symbols})
	if err == nil || !strings.Contains(err.Error(), `kind "number": the observation has 12 numbers, not 1`) {
		t.Error(err)
	}
	if _, err = a.Act([]float64{0}); err == nil || !strings.Contains(err.Error(), "ActAll") {
		t.Error(err)
	}
}

// Errors of the library speak of its fields.
func TestLibrarySpeaksGo(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "mine")...)
	do(t, 0, tiny("--out", "wrapped", "--wrap", "normalize-obs")...)
	set := weft.Builtin()
	with := func(f func(*app.Job)) error {
		j := job()
		f(&j)
		_, err := app.Train(t.Context(), j)
		return err
	}
	resume := func(dir string, o app.Resumption) error {
		_, err := app.Resume(t.Context(), set, dir, o)
		return err
	}
	load := func(dir string) error {
		_, err := app.Load(t.Context(), set, dir, app.Loading{})
		return err
	}
	for want, err := range map[string]error{
		"Job.Deployment.Policy: plain is one worker":          with(func(j *app.Job) { j.Deployment.Workers = 2 }),
		"Job.Deployment.Policy: unknown policy":               with(func(j *app.Job) { j.Deployment.Policy = "plane" }),
		"Job.Deployment.Replicas: policy plain":               with(func(j *app.Job) { j.Deployment.Replicas = 2 }),
		"Job.Wrap: wrapper x":                                 with(func(j *app.Job) { j.Wrap = "x" }),
		"Job.Device: ":                                        with(func(j *app.Job) { j.Device = "gpu" }),
		"Job.Steps is needed":                                 with(func(j *app.Job) { j.Steps, j.Algorithm.Presets = 0, nil }),
		"Job.Preset: ":                                        with(func(j *app.Job) { j.Preset = "quick" }),
		"nowhere is not a run folder: it":                     with(func(j *app.Job) { j.From = "nowhere" }),
		"Job.Out: mine already holds a run: app.Resume":       with(func(j *app.Job) { j.Out = "mine" }),
		"nowhere is not a run folder: it has no config.yaml":  resume("nowhere", app.Resumption{}),
		"Resumption.Steps: 8 is less than the 256 steps":      resume("mine", app.Resumption{Steps: 8}),
		"nowhere2 is not a run folder: it has no config.yaml": load("nowhere2"),
		"set Loading.Wrapped":                                 load("wrapped"),
	} {
		if err == nil {
			t.Errorf("no error that says %q", want)
			continue
		}
		contains(t, err.Error(), want)
		if text := err.Error(); strings.Contains(text, "--") || strings.Contains(text, "weft ") {
			t.Errorf("%q speaks of the command line", text)
		}
	}
}

// A program that has set too little gets an error, not a panic.
func TestLibraryEmpty(t *testing.T) {
	t.Chdir(t.TempDir())
	do(t, 0, tiny("--out", "mine")...)
	half := job()
	half.Env = env.Entry{}
	nameless := job()
	nameless.Algorithm.Name = ""
	for i, f := range []func() error{
		func() error { _, err := app.Train(t.Context(), app.Job{}); return err },
		func() error { _, err := app.Train(t.Context(), app.Job{Algorithm: ppo.Algorithm}); return err },
		func() error { _, err := app.Train(t.Context(), app.Job{Env: debug.Identity, Steps: 1}); return err },
		func() error { _, err := app.Train(t.Context(), half); return err },
		func() error { _, err := app.Train(t.Context(), nameless); return err },
		func() error { _, err := app.Resume(t.Context(), app.Set{}, "mine", app.Resumption{}); return err },
		func() error { _, err := app.Resume(t.Context(), app.Set{}, "", app.Resumption{}); return err },
		func() error { _, err := app.Evaluate(t.Context(), app.Set{}, "mine", app.Trial{}); return err },
		func() error {
			_, err := app.Evaluate(t.Context(), weft.Builtin(), "mine", app.Trial{Episodes: -1})
			return err
		},
		func() error { _, err := app.Load(t.Context(), app.Set{}, "mine", app.Loading{}); return err },
	} {
		err := f()
		if err == nil {
			t.Errorf("%d: no error", i)
			continue
		}
		t.Log(err)
		if strings.Contains(err.Error(), "goroutine") || strings.Contains(err.Error(), "--") || strings.Contains(err.Error(), "weft ") {
			t.Errorf("%d: %v", i, err)
		}
	}
}
