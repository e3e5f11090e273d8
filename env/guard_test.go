package env_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

func newScope(t testing.TB) *rl.Scope {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

// fake returns what it is told to. Its spaces have a named leaf of each kind.
type fake struct {
	rl.Component
	scope *rl.Scope
	spec  env.Spec
	first rl.Obs
	step  rl.Step
}

func (f *fake) Spec() env.Spec              { return f.spec }
func (f *fake) Obs() rl.Obs                 { return f.first }
func (f *fake) Step(action rl.Tree) rl.Step { return f.step }

// rows of the fake batch; they are global environments 10 to 12.
const rows = 3

func newFake(s *rl.Scope) *fake {
	f := &fake{scope: s, spec: env.Spec{
		ID: "Fake-v0", Masked: true, Envs: 20, First: 10, Rows: rows,
		Obs: rl.Dict{
			{Name: "pos", Space: rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{2}}},
			{Name: "kind", Space: rl.Discrete{N: 4, Start: 1}},
		},
		Action: rl.Dict{
			{Name: "key", Space: rl.MultiDiscrete{N: []int{2, 3}}},
			{Name: "aim", Space: rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{1}}},
		},
	}}
	f.first = f.obs()
	f.step = rl.Step{
		Obs: f.obs(), Final: f.obs(), Reward: rl.FromFlat(s, make([]float32, rows), rows),
		Terminated: f.none(), Truncated: f.none(), Over: f.none(),
	}
	return f
}

func (f *fake) none() rl.Tensor { return rl.FromFlat(f.scope, make([]bool, rows), rows) }

// obs returns a good observation in which row 1 may do anything but 1 and 0.
func (f *fake) obs() rl.Obs {
	legal := []bool{true, true, true, true, true, true, false, false, true, true, true, true, true, true, true}
	return rl.Obs{
		X: rl.NewTree([]string{"pos", "kind"}, []rl.Tensor{
			rl.FromFlat(f.scope, make([]float32, 2*rows), rows, 2), rl.FromFlat(f.scope, []int32{1, 2, 4}, rows),
		}),
		Legal: rl.NewTree([]string{"key"}, []rl.Tensor{rl.FromFlat(f.scope, legal, rows, 5)}),
		First: f.none(),
	}
}

// act returns a good action.
func (f *fake) act() rl.Tree {
	return rl.NewTree([]string{"key", "aim"}, []rl.Tensor{
		rl.FromFlat(f.scope, []int32{0, 2, 0, 1, 1, 0}, rows, 2), rl.FromFlat(f.scope, []float32{0, .5, 1}, rows, 1),
	})
}

// set returns a tree with one leaf replaced.
func set(t rl.Tree, name string, x rl.Tensor) rl.Tree {
	leaves := make([]rl.Tensor, t.Len())
	for i, n := range t.Names() {
		if leaves[i] = t.At(i); n == name {
			leaves[i] = x
		}
	}
	return rl.NewTree(t.Names(), leaves)
}

// numbers returns zeros but for x at i.
func numbers(s *rl.Scope, i int, x float64, dims ...int) rl.Tensor {
	n := 1
	for _, d := range dims {
		n *= d
	}
	out := make([]float32, n)
	out[i] = float32(x)
	return rl.FromFlat(s, out, dims...)
}

func TestGuard(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, x := range []struct {
		name  string
		spoil func(s *rl.Scope, f *fake, act *rl.Tree)
		want  string // "" is no failure
	}{
		{"good", func(*rl.Scope, *fake, *rl.Tree) {}, ""},
		{"nan", func(s *rl.Scope, f *fake, _ *rl.Tree) {
			f.step.Obs.X = set(f.step.Obs.X, "pos", numbers(s, 3, nan, rows, 2))
		}, `step 20: environment Fake-v0: observation "pos" of environment 11 is NaN (element 1)`},
		{"infinity", func(s *rl.Scope, f *fake, _ *rl.Tree) {
			f.step.Final.X = set(f.step.Final.X, "pos", numbers(s, 4, -inf, rows, 2))
		}, `step 20: environment Fake-v0: final observation "pos" of environment 12 is -Inf (element 0)`},
		{"nan at reset", func(s *rl.Scope, f *fake, _ *rl.Tree) {
			f.first.X = set(f.first.X, "pos", numbers(s, 0, nan, rows, 2))
		}, `step 0: environment Fake-v0: observation "pos" of environment 10 is NaN (element 0)`},
		{"reward nan", func(s *rl.Scope, f *fake, _ *rl.Tree) { f.step.Reward = numbers(s, 2, nan, rows) },
			`step 20: environment Fake-v0: reward of environment 12 is NaN`},
		{"reward infinite", func(s *rl.Scope, f *fake, _ *rl.Tree) { f.step.Reward = numbers(s, 0, inf, rows) },
			`reward of environment 10 is +Inf`},
		{"out of range", func(s *rl.Scope, f *fake, _ *rl.Tree) {
			f.step.Obs.X = set(f.step.Obs.X, "pos", numbers(s, 2, 1.5, rows, 2))
		}, `step 20: environment Fake-v0: observation "pos" of environment 11 is 1.5 (element 0), outside Box(-1..1, [2])`},
		{"out of choices", func(s *rl.Scope, f *fake, _ *rl.Tree) {
			f.step.Obs.X = set(f.step.Obs.X, "kind", rl.FromFlat(s, []int32{1, 1, 5}, rows))
		}, `observation "kind" of environment 12 is 5 (element 0), outside Discrete(4 from 1)`},
		{"shape", func(s *rl.Scope, f *fake, _ *rl.Tree) {
			f.step.Obs.X = set(f.step.Obs.X, "pos", numbers(s, 0, 0, rows, 3))
		}, `step 20: environment Fake-v0: observation "pos" has shape (Float32)[3, 3], its space says (Float32)[3, 2]`},
		{"dtype", func(s *rl.Scope, f *fake, _ *rl.Tree) {
			f.step.Obs.X = set(f.step.Obs.X, "kind", numbers(s, 0, 0, rows))
		}, `observation "kind" has shape (Float32)[3], its space says (Int32)[3]`},
		{"leaf missing", func(s *rl.Scope, f *fake, _ *rl.Tree) { f.step.Obs.X = rl.One(f.step.Obs.X.At(0)) },
			"observation has 1 leaves, its space has 2"},
		{"leaf name", func(s *rl.Scope, f *fake, _ *rl.Tree) {
			f.step.Obs.X = rl.NewTree([]string{"pos", "sort"}, []rl.Tensor{f.step.Obs.X.At(0), f.step.Obs.X.At(1)})
		}, `leaf 1 of the observation is called "sort", its space calls it "kind"`},
		{"mask missing", func(s *rl.Scope, f *fake, _ *rl.Tree) { f.step.Obs.Legal = rl.Tree{} },
			"mask of legal actions has 0 leaves, its space has 1"},
		{"mask empty", func(s *rl.Scope, f *fake, _ *rl.Tree) {
			legal := make([]bool, 5*rows)
			for i := range 12 { // all of rows 0 and 1, and the first number of row 2
				legal[i] = true
			}
			f.step.Obs.Legal = set(f.step.Obs.Legal, "key", rl.FromFlat(s, legal, rows, 5))
		}, `mask of legal actions "key" of environment 12 allows none`},
		{"flag shape", func(s *rl.Scope, f *fake, _ *rl.Tree) { f.step.Over = numbers(s, 0, 0, rows) },
			"over has shape (Float32)[3], want (Bool)[3]"},
		{"flag missing", func(s *rl.Scope, f *fake, _ *rl.Tree) { f.step.Truncated = rl.Tensor{} }, "truncated has shape"},
		{"first missing", func(s *rl.Scope, f *fake, _ *rl.Tree) { f.step.Obs.First = rl.Tensor{} }, "first has shape"},
		{"reused", func(s *rl.Scope, f *fake, _ *rl.Tree) { f.step.Obs.X = f.first.X },
			"step 20: environment Fake-v0: observation is the memory of the one before"},
		{"action out of range", func(s *rl.Scope, f *fake, a *rl.Tree) { *a = set(*a, "aim", numbers(s, 2, 2, rows, 1)) },
			`step 0: environment Fake-v0: action "aim" of environment 12 is 2 (element 0), outside Box(0..1, [1])`},
		{"action nan", func(s *rl.Scope, f *fake, a *rl.Tree) { *a = set(*a, "aim", numbers(s, 0, nan, rows, 1)) },
			`action "aim" of environment 10 is NaN`},
		{"action shape", func(s *rl.Scope, f *fake, a *rl.Tree) { *a = set(*a, "aim", numbers(s, 0, 0, rows)) },
			`action "aim" has shape (Float32)[3], its space says (Float32)[3, 1]`},
		{"action choice", func(s *rl.Scope, f *fake, a *rl.Tree) {
			*a = set(*a, "key", rl.FromFlat(s, []int32{0, 0, 0, 1, 2, 0}, rows, 2))
		}, `action "key" of environment 12 is 2 (element 0), outside MultiDiscrete([2 3])`},
		{"illegal first", func(s *rl.Scope, f *fake, a *rl.Tree) {
			*a = set(*a, "key", rl.FromFlat(s, []int32{0, 2, 1, 1, 1, 0}, rows, 2))
		}, `step 0: environment Fake-v0: action "key" of environment 11 is 1 (element 0), illegal by its mask`},
		{"illegal second", func(s *rl.Scope, f *fake, a *rl.Tree) {
			*a = set(*a, "key", rl.FromFlat(s, []int32{0, 2, 0, 0, 1, 0}, rows, 2))
		}, `action "key" of environment 11 is 0 (element 1), illegal by its mask`},
	} {
		t.Run(x.name, func(t *testing.T) {
			s := newScope(t)
			f := newFake(s)
			act := f.act()
			x.spoil(s, f, &act)
			b := open(t, s, f)
			fails(t, func() { b.Step(act) }, x.want)
		})
	}
}

// open guards a batch.
func open(t *testing.T, s *rl.Scope, b env.Batch) env.Batch {
	t.Helper()
	e := env.Entry{ID: b.Spec().ID, New: func(*rl.Scope, int, any) (env.Batch, error) { return b, nil }}
	out, err := env.Open(s, e, 20, nil)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fails expects f to stop with a message, at the place in this file that called.
func fails(t *testing.T, f func(), want string) {
	t.Helper()
	err := rl.Catch(func() error { f(); return nil })
	switch {
	case want == "" && err != nil:
		t.Errorf("failed: %v", err)
	case want == "":
	case err == nil:
		t.Errorf("did not fail, want ...%s...", want)
	case !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "_test.go:"):
		t.Errorf("failed with %v, want ...%s...", err, want)
	}
}

// The guard counts the steps of the whole run, and the episodes of its own
// environments under their global numbers.
func TestCounts(t *testing.T) {
	s := newScope(t)
	f := newFake(s)
	f.step.Reward = rl.FromFlat(s, []float32{1, 2, 3}, rows)
	f.step.Over = rl.FromFlat(s, []bool{false, true, false}, rows)
	b := open(t, s, f)
	b.Step(f.act())
	f.first, f.step.Obs = f.step.Obs, f.obs()
	b.Step(f.act())
	if s.Steps() != 40 {
		t.Errorf("%d steps counted, want 40", s.Steps())
	}
	got := rl.System.TakeEpisodes(s.Episodes())
	want := []rl.Episode{{Env: 11, Step: 20, Return: 2, Length: 1}, {Env: 11, Step: 40, Return: 2, Length: 1}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("episodes %+v, want %+v", got, want)
	}
}

// Several agents: shapes have their axis, and returns are sums over them.
func TestAgents(t *testing.T) {
	s := newScope(t)
	flags := rl.FromFlat(s, make([]bool, 4), 2, 2)
	obs := func() rl.Obs {
		return rl.Obs{X: rl.One(numbers(s, 0, 0, 2, 2, 1)), First: rl.FromFlat(s, []bool{true, true}, 2)}
	}
	f := &fake{scope: s, first: obs(), spec: env.Spec{
		ID: "Pair-v0", Agents: 2, Envs: 2, Rows: 2, Obs: rl.Box{Dims: []int{1}}, Action: rl.Discrete{N: 3},
	}}
	f.step = rl.Step{
		Obs: obs(), Final: obs(), Reward: rl.FromFlat(s, []float32{1, 2, 3, 4}, 2, 2),
		Terminated: flags, Truncated: flags, Over: rl.FromFlat(s, []bool{true, true}, 2),
	}
	b := open(t, s, f)
	fails(t, func() { b.Step(rl.One(rl.FromFlat(s, make([]int32, 4), 2, 2))) }, "")
	if e := rl.System.TakeEpisodes(s.Episodes()); len(e) != 2 || e[0].Return != 3 || e[1].Return != 7 {
		t.Errorf("episodes %+v, want returns 3 and 7", e)
	}
	f.first, f.step.Obs = f.step.Obs, obs()
	f.step.Reward = numbers(s, 2, math.NaN(), 2, 2)
	fails(t, func() { b.Step(env.Sample(s, f.spec, f.first, s.Key("act"))) }, "reward of environment 1 is NaN")
	fails(t, func() { b.Step(rl.One(rl.FromFlat(s, make([]int32, 2), 2))) }, "action has shape (Int32)[2], its space says (Int32)[2, 2]")
}
