package runner

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/rl"
)

func evaluated(t *testing.T) Job {
	j := identity(t)
	j.EvalEvery, j.EvalEpisodes = 128, 8
	return j
}

// evals returns the rows of evaluations.
func evals(t *testing.T, j Job) (steps []int64, returns []float64) {
	for _, r := range rows(t, j.Dir) {
		if r.Values[0].Name == "eval/return" {
			steps, returns = append(steps, r.Step), append(returns, r.Values[0].X)
		}
	}
	return steps, returns
}

// Evaluations happen in environments of their own: they change no weights. The
// best policy is kept.
func TestEvalEvery(t *testing.T) {
	want := train(t, identity(t))
	j := evaluated(t)
	w := &spy{}
	j.Watch = w
	got := train(t, j)
	sameBits(t, got, want)

	steps, returns := evals(t, j)
	if !reflect.DeepEqual(steps, []int64{128, 256, 384, 512}) {
		t.Errorf("evaluated at %v", steps)
	}
	if len(w.evaluated) != 4 || w.evaluated[3].Mean != got.Evaluation.Mean {
		t.Errorf("told of %v", w.evaluated)
	}
	best := 0
	for i := range returns {
		if returns[i] > returns[best] {
			best = i
		}
	}
	e, err := EvaluateRun(t.Context(), j, OnlyBest, true, 8)
	if err != nil || e.Steps != steps[best] || e.Mean != returns[best] {
		t.Errorf("best %+v, %v; want %v at step %d", e, err, returns[best], steps[best])
	}
}

// An evaluation is the same whenever it is done, as is the last of an
// interrupted run.
func TestEvaluationResumed(t *testing.T) {
	whole := evaluated(t)
	want := train(t, whole)
	for _, at := range []int64{1, 2, 7} {
		j := evaluated(t)
		trainUntil(t, j, func(r Report) bool { return r.Iter == at })
		got := train(t, again(j))
		sameBits(t, got, want)
		if !reflect.DeepEqual(got.Evaluation, want.Evaluation) {
			t.Errorf("evaluation %+v, want %+v", got.Evaluation, want.Evaluation)
		}
		if !reflect.DeepEqual(rows(t, j.Dir), rows(t, whole.Dir)) {
			t.Errorf("interrupted at %d: metrics differ", at)
		}
	}
}

// A run interrupted in its last evaluation has trained to its end, and evaluates
// when it is resumed, once.
func TestInterruptedInLastEvaluation(t *testing.T) {
	j := identity(t)
	j.EvalEpisodes = 8
	ctx, cancel := context.WithCancel(t.Context())
	w := &stopAtEnd{cancel: cancel}
	j.Watch = w
	r, err := Train(ctx, j)
	if err != nil || !r.Interrupted || r.Steps != 512 {
		t.Fatalf("%+v, %v", r, err)
	}
	s, err := Prepare(again(j))
	if err != nil || s.Finished() {
		t.Fatalf("finished without its evaluation, or %v", err)
	}
	got, err := s.Train(t.Context())
	if err != nil || got.Interrupted || got.Evaluation == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	if s, err = Prepare(again(j)); err != nil || !s.Finished() {
		t.Errorf("not finished after its evaluation, or %v", err)
	}
	if steps, _ := evals(t, j); !reflect.DeepEqual(steps, []int64{512}) {
		t.Errorf("evaluated at %v", steps)
	}
}

// A run killed between its last evaluation and the checkpoint that knows of it
// evaluates again, and has it in its record and its event files once.
func TestKilledAfterLastEvaluation(t *testing.T) {
	whole := identity(t)
	whole.EvalEpisodes = 8
	want := train(t, whole)
	j := identity(t)
	j.EvalEpisodes = 8
	var before []byte
	var err error
	j.Watch = &atEnd{do: func() { before, err = os.ReadFile(newest(t, j)) }}
	train(t, j)
	if err != nil {
		t.Fatal(err)
	}
	replace(t, newest(t, j), before)
	got := train(t, again(j))
	sameBits(t, got, want)
	if steps, _ := evals(t, j); !reflect.DeepEqual(steps, []int64{512}) {
		t.Errorf("evaluated at %v", steps)
	}
	if !reflect.DeepEqual(rows(t, j.Dir), rows(t, whole.Dir)) {
		t.Error("metrics differ")
	}
	files, err := filepath.Glob(filepath.Join(j.Dir, "events.out.tfevents.*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("event files %v, %v", files, err)
	}
	text, err := os.ReadFile(files[1])
	if err != nil || strings.Count(string(text), "eval/return") != 1 || strings.Count(string(text), "episode/return_mean") != 1 {
		t.Errorf("the second event file has not the last step's row and evaluation: %v", err)
	}
	if s, err := Prepare(again(j)); err != nil || !s.Finished() {
		t.Errorf("not finished, or %v", err)
	}
}

type atEnd struct {
	spy
	do func()
}

func (a *atEnd) End() { a.do() }

type stopAtEnd struct {
	spy
	cancel func()
}

func (s *stopAtEnd) End() { s.cancel() }

// Every episode counts once, however long; more than fit one batch are played in
// several.
func TestEvaluateEpisodes(t *testing.T) {
	j := identity(t)
	train(t, j)
	e, err := EvaluateRun(t.Context(), j, NewestAlone, false, evalRows+3)
	if err != nil || e.Episodes != evalRows+3 || e.Unfinished != 0 || e.Length != debug.Length {
		t.Errorf("%+v, %v", e, err)
	}
	if !(e.Min <= e.Mean && e.Mean <= e.Max && e.Std >= 0) {
		t.Errorf("%+v", e)
	}
	if _, err := EvaluateRun(canceled(t), j, NewestAlone, true, 1); !strings.Contains(err.Error(), "canceled") {
		t.Errorf("error %v", err)
	}
}

// Of every environment the first episode counts: otherwise short ones would count
// more often.
func TestFirstEpisodes(t *testing.T) {
	j := small(t, hosts("Lengths-v0", func(i int) env.Host { return &sized{length: i + 1} }), 64)
	train(t, j)
	e, err := EvaluateRun(t.Context(), j, NewestAlone, true, 9)
	want := Evaluation{Steps: 64, Episodes: 9, Mean: 5, Std: math.Sqrt(60. / 9), Min: 1, Max: 9, Length: 5}
	if err != nil || e != want {
		t.Errorf("%+v, %v, want %+v", e, err, want)
	}
}

// sized is an environment whose episodes have a length, and 1 for each step.
type sized struct{ length, age int }

func (s *sized) Reset(rl.Key, env.Row) { s.age = 0 }

func (s *sized) Step(rl.Key, env.Row, env.Row) (reward float64, terminated, truncated bool) {
	s.age++
	return 1, s.age == s.length, false
}

func TestSummarise(t *testing.T) {
	e := summarise([]float64{1, 3, 5, 7}, []float64{2, 4, 6, 8}, 1)
	want := Evaluation{Episodes: 4, Unfinished: 1, Mean: 4, Std: math.Sqrt(5), Min: 1, Max: 7, Length: 5}
	if e != want {
		t.Errorf("%+v, want %+v", e, want)
	}
	if e := summarise(nil, nil, 3); !math.IsNaN(e.Mean) || e.Episodes != 0 {
		t.Errorf("of nothing: %+v", e)
	}
}

func TestNothingToEvaluate(t *testing.T) {
	j := identity(t)
	for _, best := range []Weights{PreferBest, OnlyBest, NewestAlone} {
		if _, err := EvaluateRun(t.Context(), j, best, true, 1); err == nil || !strings.Contains(err.Error(), j.Dir+" has no") {
			t.Errorf("best %v: error %v", best, err)
		}
	}
}

// The folder of a run holds what its user needs.
func TestRunFolder(t *testing.T) {
	j := evaluated(t)
	train(t, j)
	for _, pattern := range []string{"metrics.jsonl", "events.out.tfevents.*", "checkpoints/step-*.safetensors", "checkpoints/best.safetensors"} {
		found, err := filepath.Glob(filepath.Join(j.Dir, pattern))
		if err != nil || len(found) != 1 {
			t.Errorf("%s: %q, %v", pattern, found, err)
			continue
		}
		if info, err := os.Stat(found[0]); err != nil || info.Size() == 0 {
			t.Errorf("%s is empty, or %v", found[0], err)
		}
	}
	names := map[string]bool{}
	for _, v := range rows(t, j.Dir)[0].Values {
		names[v.Name] = true
	}
	for _, want := range []string{"loss/policy", "loss/value", "loss/entropy", "approx_kl", "clip_fraction", "explained_variance", "learning_rate",
		"episode/return", "episode/length", "episode/return_mean", "episode/count"} {
		if !names[want] {
			t.Errorf("metrics lack %s", want)
		}
	}
}

// repeater does what it sees: the symbol of each agent, or a number. What it
// remembers is how often it acted since its environment's last reset.
type repeater struct{ scope *rl.Scope }

func (r repeater) Memory(n int) rl.Tree { return rl.One(rl.FromFlat(r.scope, make([]float32, n), n)) }

func (r repeater) Act(_ rl.Key, obs rl.Obs, mem rl.Tree, _ bool) (action, next rl.Tree) {
	count := slices.Clone(rl.Read[float32](mem.At(0)))
	for i, first := range rl.Read[bool](obs.First) {
		if count[i]++; first && count[i] != 1 {
			rl.Failf("memory of environment %d outlived its episode", i)
		}
	}
	next = rl.One(rl.FromFlat(r.scope, count, len(count)))
	x := obs.X.At(0)
	dims := x.Shape().Dimensions
	last := dims[len(dims)-1]
	if last == 1 {
		return obs.X, next
	}
	hot := rl.Read[float32](x)
	out := make([]int32, len(hot)/last)
	for i := range out {
		out[i] = int32(slices.Index(hot[i*last:(i+1)*last], 1))
	}
	return rl.One(rl.FromFlat(r.scope, out, dims[:len(dims)-1]...)), next
}

// A team plays with one member for each kind of agent, or for each agent.
func TestEvaluateTeam(t *testing.T) {
	j := identity(t).withDefaults()
	s := rl.NewScope(j.Device, 1)
	r := repeater{s}
	for _, x := range []struct {
		name  string
		env   env.Entry
		agent rl.Agent
		want  float64 // return; 0: an error
	}{
		{"agents", debug.Agents, r, 3 * debug.Length},
		{"agents apart", debug.Agents, rl.Team{r, r, r}, 3 * debug.Length},
		{"kinds", debug.Kinds, rl.Team{r, r}, 4 * debug.Length},
		{"kinds apart", debug.Kinds, rl.Team{r, r, r, r}, 4 * debug.Length},
		{"one of two", debug.Kinds, r, 0},
		{"one agent", debug.Identity, rl.Team{r}, debug.Length},
	} {
		t.Run(x.name, func(t *testing.T) {
			j.Env, j.EnvOptions = x.env, nil
			e, err := Evaluate(t.Context(), s, j, x.agent, 3, true)
			if x.want == 0 {
				if err == nil || !strings.Contains(err.Error(), "a team of 1 cannot play: there are 2 kinds of agents, 4 agents in all") {
					t.Errorf("error %v", err)
				}
				return
			}
			if err != nil || e.Mean != x.want || e.Episodes != 3 {
				t.Errorf("evaluation %+v, %v; want a return of %v", e, err, x.want)
			}
		})
	}
}
