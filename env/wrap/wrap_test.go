package wrap_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/env/mpe"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

func newScope(t testing.TB) *rl.Scope {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

func parse(t testing.TB, list string) wrap.List {
	t.Helper()
	l, err := wrap.Parse(list)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func open(t testing.TB, s *rl.Scope, e env.Entry, n int, list string) env.Groups {
	t.Helper()
	g, err := env.OpenGroups(s, wrap.Entry(e, parse(t, list), t.TempDir()), n, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := env.Close(g); err != nil {
			t.Error(err)
		}
	})
	return g
}

func act(s *rl.Scope, g env.Groups, i int) []rl.Tree {
	return env.SampleGroups(s, g.Spec(), g.Obs(), rl.NewKey(3).Fold(uint64(i)))
}

// Wrapped environments keep the whole contract: batches, shards, snapshots.
func TestConformance(t *testing.T) {
	for _, x := range []struct {
		entry env.Entry
		list  string
	}{
		{classic.CartPole, "time-limit=25,frame-stack=3"},
		{classic.CartPole, "normalize-obs=5,frame-stack=2,normalize-reward"},
		{classic.Pendulum, "rescale-action,normalize-obs,normalize-reward=0.9,time-limit=30"},
		{classic.Pendulum, "clip-action,frame-stack=2,time-limit=30"},
		{debug.Host, "time-limit=5,frame-stack=4,normalize-obs"},
		{debug.Kinds, "frame-stack=2,normalize-obs,normalize-reward"},
		{mpe.SimpleTag, "time-limit=11,normalize-obs,frame-stack=2,record"},
	} {
		t.Run(x.entry.ID+" "+x.list, func(t *testing.T) {
			envtest.Run(t, wrap.Entry(x.entry, parse(t, x.list), t.TempDir()), envtest.Steps(40))
		})
	}
}

func TestTimeLimit(t *testing.T) {
	s := newScope(t)
	g := open(t, s, classic.Pendulum, 2, "time-limit=7")
	for i := range 14 {
		x := g.Step(act(s, g, i))[0]
		if over := rl.Read[bool](x.Over)[0]; over != (i%7 == 6) || rl.Read[bool](x.Truncated)[1] != over {
			t.Errorf("step %d: over %v", i, over)
		}
	}
	if g.Spec()[0].Limit != 7 || s.Episodes().Count() != 4 {
		t.Errorf("limit %d, %d episodes", g.Spec()[0].Limit, s.Episodes().Count())
	}
}

// A stack begins with copies of the first observation, and Final has the last of
// the old episode.
func TestFrameStack(t *testing.T) {
	s, u := newScope(t), newScope(t)
	g, plain := open(t, s, classic.CartPole, 3, "frame-stack=3,time-limit=5"), open(t, u, classic.CartPole, 3, "time-limit=5")
	if got := g.Spec()[0].Obs.String(); got != "Box([12])" {
		t.Errorf("space %s", got)
	}
	want := func(o rl.Obs) [][]float32 { return slices.Collect(slices.Chunk(rl.Read[float32](o.X.At(0)), 4)) }
	first := want(plain.Obs()[0])
	stack := make([][][]float32, 3)
	for i := range stack {
		stack[i] = [][]float32{first[i], first[i], first[i]}
	}
	check := func(what string, step int, got rl.Obs, stack [][][]float32) {
		t.Helper()
		for i, x := range slices.Collect(slices.Chunk(rl.Read[float32](got.X.At(0)), 12)) {
			if !slices.Equal(x, slices.Concat(stack[i]...)) {
				t.Fatalf("step %d: %s of environment %d is %v, want %v", step, what, i, x, stack[i])
			}
		}
	}
	check("observation", 0, g.Obs()[0], stack)
	for step := 1; step < 12; step++ {
		a := act(u, plain, step)
		x, y := g.Step(a)[0], plain.Step(a)[0]
		final := make([][][]float32, 3)
		for i := range stack {
			final[i] = append(slices.Clone(stack[i][1:]), want(y.Final)[i])
			if stack[i] = final[i]; rl.Read[bool](y.Over)[i] {
				o := want(y.Obs)[i]
				stack[i] = [][]float32{o, o, o}
			}
		}
		check("final observation", step, x.Final, final)
		check("observation", step, x.Obs, stack)
	}
}

// Pictures are stacked as channels.
func TestFrameSpaces(t *testing.T) {
	for _, x := range []struct {
		in   rl.Box
		want string
	}{
		{rl.Box{Dims: []int{84, 84}, DType: dtypes.Uint8, Low: []float64{0}, High: []float64{255}}, "Box(0..255, [84 84 2])"},
		{rl.Box{Dims: []int{8, 8, 3}}, "Box(-Inf..+Inf, [8 8 6])"},
		{rl.Box{Dims: []int{}}, "Box(-Inf..+Inf, [2])"},
		{rl.Box{Dims: []int{2}, Low: []float64{0, 1}, High: []float64{1, 2}}, "Box([4])"},
	} {
		e := env.Entry{ID: "Frames", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
			spec := env.Spec{ID: "Frames", Obs: x.in, Action: rl.Discrete{N: 2}}
			return env.Hosts(s, n, spec, func(int) (env.Host, error) { return still{len(x.in.Low) == 2}, nil })
		}}
		s := newScope(t)
		g := open(t, s, e, 2, "frame-stack=2")
		if got := g.Spec()[0].Obs.String(); got != x.want {
			t.Errorf("%s is stacked as %s, want %s", x.in, got, x.want)
		}
		if n := s.Stacked(g.Spec()[0].Obs.Shape()); n != 2 {
			t.Errorf("the scope knows %d frames of %s, want 2", n, x.want)
		}
		g.Step(act(s, g, 0)) // the guard checks shapes and bounds
	}
}

// still shows zeros, or a number and one between 1 and 2.
type still struct{ two bool }

func (h still) Reset(_ rl.Key, obs env.Row) {
	if h.two {
		copy(obs.Float32(""), []float32{.5, 1.5})
	}
}

func (h still) Step(k rl.Key, _, obs env.Row) (float64, bool, bool) {
	h.Reset(k, obs)
	return 1, false, false
}

// moments follows numbers as Gymnasium's wrappers do, in float64.
type moments struct{ mean, variance, count float64 }

func (m *moments) add(x float64) {
	total := m.count + 1
	d := x - m.mean
	m.variance = (m.variance*m.count + d*d*m.count/total) / total
	m.mean += d / total
	m.count = total
}

func (m *moments) deviation() float64 { return math.Sqrt(m.variance + 1e-8) }

func TestNormalizeObs(t *testing.T) {
	s, u := newScope(t), newScope(t)
	g, plain := open(t, s, classic.CartPole, 2, "normalize-obs=3"), open(t, u, classic.CartPole, 2, "")
	all := make([]moments, 8)
	for i := range all {
		all[i] = moments{0, 1, 1e-4}
	}
	norm := func(x float64, m moments) float64 { return min(3, max(-3, (x-m.mean)/m.deviation())) }
	compare := func(what string, step int, got, raw rl.Obs) {
		t.Helper()
		y := rl.Floats(got.X.At(0))
		for i, x := range rl.Floats(raw.X.At(0)) {
			if want := norm(x, all[i]); math.Abs(y[i]-want) > 1e-4 { // float32, divided by a small deviation
				t.Fatalf("step %d: %s %d is %v, want %v", step, what, i, y[i], want)
			}
		}
	}
	see := func(raw rl.Obs) {
		for i, x := range rl.Floats(raw.X.At(0)) {
			all[i].add(x)
		}
	}
	see(plain.Obs()[0])
	compare("observation", 0, g.Obs()[0], plain.Obs()[0])
	for step := 1; step < 80; step++ {
		a := act(u, plain, step)
		x, y := g.Step(a)[0], plain.Step(a)[0]
		see(y.Obs)
		compare("observation", step, x.Obs, y.Obs)
		compare("final observation", step, x.Final, y.Final)
	}
}

// Rewards are scaled; episodes are reported by what the task gave.
func TestNormalizeReward(t *testing.T) {
	s, u := newScope(t), newScope(t)
	g, plain := open(t, s, classic.Pendulum, 2, "normalize-reward=0.9,time-limit=20"), open(t, u, classic.Pendulum, 2, "time-limit=20")
	all, ret := []moments{{0, 1, 1e-4}, {0, 1, 1e-4}}, make([]float64, 2)
	for step := range 40 {
		a := act(u, plain, step)
		x, y := g.Step(a)[0], plain.Step(a)[0]
		for i, r := range rl.Floats(y.Reward) {
			ret[i] = .9*ret[i] + r
			all[i].add(ret[i])
			if got, want := rl.Floats(x.Reward)[i], r/all[i].deviation(); math.Abs(got-want) > 1e-4*math.Max(1, math.Abs(want)) {
				t.Fatalf("step %d: reward %v, want %v", step, got, want)
			}
			if rl.Read[bool](y.Over)[i] {
				ret[i] = 0
			}
		}
	}
	a, b := rl.System.TakeEpisodes(s.Episodes()), rl.System.TakeEpisodes(u.Episodes())
	if len(a) != 4 || fmt.Sprint(a) != fmt.Sprint(b) {
		t.Errorf("episodes %v, want %v", a, b)
	}
}

func TestActions(t *testing.T) {
	for _, x := range []struct {
		list       string
		space      string
		give, want []float32
	}{
		{"rescale-action", "Box(-1..1, [1])", []float32{-1, .5}, []float32{-2, 1}},
		{"clip-action", "Box(-Inf..+Inf, [1])", []float32{-7, .5}, []float32{-2, .5}},
		{"rescale-action,clip-action", "Box(-Inf..+Inf, [1])", []float32{-7, .5}, []float32{-2, 1}},
	} {
		s, u := newScope(t), newScope(t)
		g, plain := open(t, s, classic.Pendulum, 2, x.list), open(t, u, classic.Pendulum, 2, "")
		if got := g.Spec()[0].Action.String(); got != x.space {
			t.Errorf("%s: actions %s, want %s", x.list, got, x.space)
		}
		a := g.Step([]rl.Tree{rl.One(rl.FromFlat(s, x.give, 2, 1))})[0]
		b := plain.Step([]rl.Tree{rl.One(rl.FromFlat(u, x.want, 2, 1))})[0]
		if got, want := rl.Floats(a.Obs.X.At(0)), rl.Floats(b.Obs.X.At(0)); !slices.Equal(got, want) {
			t.Errorf("%s: %v does not do what %v does", x.list, x.give, x.want)
		}
	}
}

// An evaluation normalises by what the environments of the training know together,
// also when only the weights were kept.
func TestKnowledge(t *testing.T) {
	s := newScope(t)
	g := open(t, s, classic.CartPole, 8, "normalize-obs,frame-stack=2")
	for i := range 100 {
		g.Step(act(s, g, i))
	}
	state := rl.NewState(s)
	rl.System.SaveWeights(s, state)
	again := newScope(t)
	open(t, again, classic.CartPole, 3, "normalize-obs,frame-stack=2")
	if err := rl.System.LoadWeights(again, state); err != nil {
		t.Fatal(err)
	}
	watch := func(s *rl.Scope) []float64 {
		child := s.Child("eval")
		e := open(t, child, classic.CartPole, 2, "normalize-obs,frame-stack=2")
		before := rl.Floats(e.Obs()[0].X.At(0))
		for i := range 30 {
			before = append(before, rl.Floats(e.Step(act(child, e, i))[0].Obs.X.At(0))...)
		}
		return before
	}
	a, b := watch(s), watch(again)
	fresh := watch(newScope(t))
	for i := range a {
		if math.Abs(a[i]-b[i]) > 1e-4 {
			t.Fatalf("number %d is %v in the training, %v with its weights", i, a[i], b[i])
		}
	}
	if math.Abs(a[len(a)-1]-fresh[len(a)-1]) < 1e-3 {
		t.Error("the training's statistics make no difference")
	}
	// A second look is the same: an evaluation changes nothing.
	if c := watch(s); !slices.Equal(a, c) {
		t.Error("an evaluation changed the statistics")
	}
	torn := rl.NewState(s)
	if err := rl.System.LoadWeights(again, torn); err == nil || !strings.Contains(err.Error(), "is missing") {
		t.Errorf("error %v", err)
	}
}

func TestParse(t *testing.T) {
	for _, x := range []struct{ in, want, says string }{
		{"", "", ""},
		{"time-limit=200, frame-stack=4", "time-limit=200,frame-stack=4", ""},
		{"normalize-obs,normalize-reward=0.5", "normalize-obs=10,normalize-reward=0.5", ""},
		{"rescale-action,clip-action", "rescale-action,clip-action", ""},
		{"record,video=x.gif", "record=episodes.jsonl,video=x.gif", ""},
		{"frames=4,time-limit,clip-action=3,frame-stack=x,normalize-obs=y", "", "wrapper frames=4: unknown wrapper: choose from time-limit, frame-stack"},
		{"frames=4,time-limit", "", "wrapper time-limit: the number of steps is missing, as in time-limit=4"},
		{"clip-action=3", "", "it takes no value"},
		{"frame-stack=0", "", `"0" is not a whole number above 0`},
		{"normalize-obs=y", "", `"y" is not a number`},
	} {
		l, err := wrap.Parse(x.in)
		switch {
		case x.says == "" && (err != nil || l.String() != x.want):
			t.Errorf("%q is read as %q, %v", x.in, l, err)
		case x.says != "" && (err == nil || !strings.Contains(err.Error(), x.says)):
			t.Errorf("%q: error %v, want %s", x.in, err, x.says)
		}
	}
	for i, k := range wrap.Kinds() {
		if k.Name != wrap.Names()[i] || !strings.HasPrefix(k.Usage, k.Name) || k.Doc == "" {
			t.Errorf("%+v", k)
		}
	}
	if got := parse(t, "record,frame-stack=4,video").Silent().String(); got != "frame-stack=4" {
		t.Errorf("without recorders: %s", got)
	}
}

func TestRefuses(t *testing.T) {
	for _, x := range []struct {
		entry      env.Entry
		list, want string
	}{
		{classic.CartPole, "time-limit=500", "time-limit=500: episodes end after 500 steps already"},
		{classic.CartPole, "clip-action", "clip-action: the action space has no continuous actions"},
		{classic.Pendulum, "clip-action,rescale-action", "rescale-action: the action space has an infinite bound"},
		{classic.Pendulum, "frame-stack=1", "frame-stack=1: a stack of 1 frames is too small"},
		{classic.Pendulum, "normalize-obs=-1", "-1 is not a bound"},
		{classic.Pendulum, "normalize-reward=2", "a discount of 2 is not between 0 and 1"},
		{env.Entry{ID: "Dark", New: makeDark}, "video", "video=episode.gif: Dark: this environment has no drawing"},
		{env.Entry{ID: "Stub", New: stub}, "time-limit=5", "Stub does not support the wrapper"},
	} {
		_, err := env.OpenGroups(newScope(t), wrap.Entry(x.entry, parse(t, x.list), ""), 2, nil)
		if err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%s on %s: error %v, want %s", x.list, x.entry.ID, err, x.want)
		}
	}
}

// dark is an environment that cannot be drawn: nothing ever changes in it.
type dark struct{}

// makeDark returns a batch of it.
func makeDark(s *rl.Scope, n int, _ any) (env.Batch, error) { return env.Graph(s, n, dark{}) }

func (dark) Spec() env.Spec {
	return env.Spec{ID: "Dark", Limit: 2, Obs: rl.Box{Dims: []int{1}}, Action: rl.Discrete{N: 2}}
}

func (dark) Reset(c *rl.Ctx, n int) rl.Tree {
	return rl.One(rl.Wrap(graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, n, 1))))
}

func (dark) Step(_ *rl.Ctx, state, _ rl.Tree) env.Move {
	x := graph.Squeeze(state.Leaf("").Node(), -1)
	return env.Move{State: state, Reward: rl.Wrap(x), Terminated: rl.Wrap(graph.NotEqual(x, x))}
}

func (dark) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs { return rl.Obs{X: state} }

// stub returns a batch of somebody else's.
func stub(s *rl.Scope, n int, _ any) (env.Batch, error) { return fixed{n: n}, nil }

type fixed struct {
	env.Batch
	n int
}

func (f fixed) Spec() env.Spec {
	return env.Spec{ID: "Stub", Envs: f.n, Rows: f.n, Obs: rl.Box{Dims: []int{1}}, Action: rl.Discrete{N: 2}}
}
