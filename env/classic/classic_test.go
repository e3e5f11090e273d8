package classic

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

func newScope(t testing.TB, seed uint64) *rl.Scope {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), seed)
}

// recording is a file of testdata; its README says what the fields mean.
type recording struct {
	ID     string
	Limit  int   `json:"max_episode_steps"`
	Obs    space `json:"observation_space"`
	Action space `json:"action_space"`
	State  struct {
		Low  []float64 `json:"initial_low"`
		High []float64 `json:"initial_high"`
	}
	Episodes []struct {
		Name     string
		Initial  []float64 `json:"initial_state"`
		First    []float64 `json:"initial_observation"`
		Segments []segment
	}
	Probes []struct {
		Note        string
		State, Next []float64
		Action      float64
		Observation []float64
		Reward      float64
		Terminated  bool
	}
}

type space struct {
	Kind      string
	Shape     []int
	N         int
	Low, High []*float64
}

type segment struct {
	First        int
	States       [][]float64
	Actions      []float64
	Observations [][]float64
	Rewards      []float64
	Terminated   []bool
}

// row is one recorded transition.
type row struct {
	name             string
	state, next, obs []float64
	action, reward   float64
	terminated       bool
}

func (r recording) rows() (out []row) {
	for _, e := range r.Episodes {
		for _, g := range e.Segments {
			for i, a := range g.Actions {
				out = append(out, row{
					fmt.Sprintf("%s step %d", e.Name, g.First+i), g.States[i], g.States[i+1],
					g.Observations[i], a, g.Rewards[i], g.Terminated[i],
				})
			}
		}
	}
	for _, p := range r.Probes {
		out = append(out, row{p.Note, p.State, p.Next, p.Observation, p.Action, p.Reward, p.Terminated})
	}
	return out
}

// task is dynamics with their recording and how far float32 may stray in one
// step: absolute for numbers below 1, relative above. An error of the input's
// rounding, half an ulp or 6e-8 of its size, is what the bounds are multiples of;
// an acrobot's step is four evaluations of stiff equations, and a pendulum's
// reward is the square of an angle that is small beside the one it was wrapped
// from.
type task struct {
	dyn                env.Dynamics
	file               string
	state, obs, reward float64
	drift              float64 // after freeSteps steps
}

var tasks = []task{
	{cartPole{}, "cartpole", 4e-7, 4e-7, 0, 2e-6},
	{acrobot{}, "acrobot", 2e-6, 2e-6, 0, 1e-4},
	{mountainCar{}, "mountaincar", 2.5e-7, 2.5e-7, 0, 2e-6},
	{mountainCarContinuous{}, "mountaincar_continuous", 2.5e-7, 2.5e-7, 2.5e-7, 2e-6},
	{pendulum{}, "pendulum", 5e-7, 4e-6, 4e-6, 1e-4},
}

func (k task) load(t testing.TB) (r recording) {
	data, err := os.ReadFile("testdata/" + k.file + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// forAll runs f on every task with its recording.
func forAll(t *testing.T, f func(t *testing.T, k task, r recording)) {
	for _, k := range tasks {
		t.Run(k.file, func(t *testing.T) { f(t, k, k.load(t)) })
	}
}

type stepIn struct{ State, Action rl.Tree }

type stepOut struct {
	State              rl.Tree
	Reward, Terminated rl.Tensor
	Obs                rl.Obs
}

// stepper returns one step of bare dynamics, without resets and limits.
func (k task) stepper(s *rl.Scope) func(state, action rl.Tree) stepOut {
	f := rl.NewFunc(s, "step", func(c *rl.Ctx, in stepIn) stepOut {
		m := k.dyn.Step(c, in.State, in.Action)
		return stepOut{m.State, m.Reward, m.Terminated, k.dyn.Observe(c, m.State)}
	})
	return func(state, action rl.Tree) stepOut { return f.Call(rl.Key{}, stepIn{state, action}) }
}

// matrix returns rows of numbers as a tree of one float32 tensor.
func matrix(s *rl.Scope, rows [][]float64) rl.Tree {
	var flat []float32
	for _, r := range rows {
		for _, x := range r {
			flat = append(flat, float32(x))
		}
	}
	return rl.One(rl.FromFlat(s, flat, len(rows), len(rows[0])))
}

// actions returns numbers as a batch of the task's actions.
func (k task) actions(s *rl.Scope, x []float64) rl.Tree {
	if _, ok := k.dyn.Spec().Action.(rl.Discrete); ok {
		flat := make([]int32, len(x))
		for i, a := range x {
			flat[i] = int32(a)
		}
		return rl.One(rl.FromFlat(s, flat, len(x)))
	}
	column := make([][]float64, len(x))
	for i, a := range x {
		column[i] = []float64{a}
	}
	return matrix(s, column)
}

func near(got, want, tol float64) bool {
	return math.Abs(got-want) <= tol*math.Max(1, math.Abs(want))
}

// compare finds numbers that stray from the recorded rows by more than tol; where
// wrapped, the first two are angles.
func compare(t *testing.T, what string, names []string, got []float64, want [][]float64, tol float64, wrapped bool) {
	t.Helper()
	bad := 0
	worst := 0.
	for i, w := range want {
		for j, x := range w {
			g := got[i*len(w)+j]
			if wrapped && j < 2 {
				g = x + math.Remainder(g-x, 2*math.Pi) // either end of the range is the same angle
			}
			worst = math.Max(worst, math.Abs(g-x)/math.Max(1, math.Abs(x)))
			if !near(g, x, tol) {
				if bad++; bad <= 5 {
					t.Errorf("%s: %s %d is %v, recorded %v", names[i], what, j, g, x)
				}
			}
		}
	}
	t.Logf("%s: largest error %.2g of %.2g", what, worst, tol)
}

// Every recorded transition, as one batch.
func TestTransitions(t *testing.T) {
	forAll(t, func(t *testing.T, k task, r recording) {
		s := newScope(t, 1)
		var names []string
		var states, next, obs, rewards [][]float64
		var actions []float64
		rows := r.rows()
		for _, x := range rows {
			names, states, next = append(names, x.name), append(states, x.state), append(next, x.next)
			obs, rewards, actions = append(obs, x.obs), append(rewards, []float64{x.reward}), append(actions, x.action)
		}
		if len(rows) < 100 {
			t.Fatalf("only %d transitions recorded", len(rows))
		}
		out := k.stepper(s)(matrix(s, states), k.actions(s, actions))
		compare(t, "state", names, rl.Floats(out.State.Leaf("")), next, k.state, k.file == "acrobot")
		compare(t, "observation", names, rl.Floats(out.Obs.X.Leaf("")), obs, k.obs, false)
		compare(t, "reward", names, rl.Floats(out.Reward), rewards, k.reward, false)
		for i, done := range rl.Read[bool](out.Terminated) {
			if done != rows[i].terminated {
				t.Errorf("%s: terminated is %v, recorded %v", names[i], done, rows[i].terminated)
			}
		}
	})
}

// freeSteps is how long free runs are: long enough for a wrong integrator or
// constant to show, short enough for rounding not to.
const freeSteps = 20

// From the start of every segment, without looking at the recorded states again.
func TestFreeRun(t *testing.T) {
	forAll(t, func(t *testing.T, k task, r recording) {
		s := newScope(t, 1)
		var names []string
		var state [][]float64
		var runs []segment
		for _, e := range r.Episodes {
			for _, g := range e.Segments {
				if len(g.Actions) >= freeSteps {
					names, state, runs = append(names, e.Name), append(state, g.States[0]), append(runs, g)
				}
			}
		}
		if len(runs) == 0 {
			t.Fatal("no segment is long enough")
		}
		step := k.stepper(s)
		var out stepOut
		at := matrix(s, state)
		for i := range freeSteps {
			actions := make([]float64, len(runs))
			for j, g := range runs {
				actions[j] = g.Actions[i]
			}
			out = step(at, k.actions(s, actions))
			at = out.State
		}
		want := make([][]float64, len(runs))
		for j, g := range runs {
			want[j] = g.Observations[freeSteps-1]
		}
		compare(t, "observation", names, rl.Floats(out.Obs.X.Leaf("")), want, k.drift, false)
	})
}

func TestSpecs(t *testing.T) {
	forAll(t, func(t *testing.T, k task, r recording) {
		spec := k.dyn.Spec()
		if spec.ID != r.ID || spec.Limit != r.Limit {
			t.Errorf("%s with limit %d, recorded %s with %d", spec.ID, spec.Limit, r.ID, r.Limit)
		}
		sameSpace(t, spec.Obs, r.Obs)
		sameSpace(t, spec.Action, r.Action)
	})
}

func sameSpace(t *testing.T, got rl.Space, want space) {
	t.Helper()
	if want.Kind == "discrete" {
		if got != (rl.Discrete{N: want.N}) {
			t.Errorf("space %s, recorded Discrete(%d)", got, want.N)
		}
		return
	}
	b := got.(rl.Box)
	if fmt.Sprint(b.Dims) != fmt.Sprint(want.Shape) {
		t.Fatalf("dimensions %v, recorded %v", b.Dims, want.Shape)
	}
	for i := range want.Low {
		lo, hi := b.Bounds(i)
		if wl, wh := bound(want.Low[i], -1), bound(want.High[i], 1); lo != wl || hi != wh {
			t.Errorf("bounds of %d are %v..%v, recorded %v..%v", i, lo, hi, wl, wh)
		}
	}
}

// bound reads a float32 bound; null is infinity.
func bound(x *float64, sign int) float64 {
	if x == nil {
		return math.Inf(sign)
	}
	return float64(float32(*x))
}

type resetOut struct {
	State rl.Tree
	Obs   rl.Obs
}

// Initial states are drawn from the recorded ranges, all of them.
func TestReset(t *testing.T) {
	forAll(t, func(t *testing.T, k task, r recording) {
		const n = 4000
		s := newScope(t, 1)
		f := rl.NewFunc(s, "reset", func(c *rl.Ctx, _ rl.Tensor) resetOut {
			state := k.dyn.Reset(c, n)
			return resetOut{state, k.dyn.Observe(c, state)}
		})
		out := f.Call(s.Key("reset"), rl.Scalar(0))
		x := rl.Floats(out.State.Leaf(""))
		w := len(r.State.Low)
		for j := range w {
			lo, hi := r.State.Low[j], r.State.High[j]
			least, most, sum := math.Inf(1), math.Inf(-1), 0.
			for i := range n {
				v := x[i*w+j]
				least, most, sum = math.Min(least, v), math.Max(most, v), sum+v
			}
			slack := (hi - lo) / 200
			if least < lo-1e-7 || most > hi+1e-7 || least > lo+slack || most < hi-slack {
				t.Errorf("component %d is drawn from %v..%v, recorded %v..%v", j, least, most, lo, hi)
			}
			if mean, sigma := sum/n, (hi-lo)/math.Sqrt(12*n); math.Abs(mean-(lo+hi)/2) > 5*sigma+1e-9 {
				t.Errorf("component %d has mean %v, want %v", j, mean, (lo+hi)/2)
			}
		}
	})
}

// The first observation of a recorded episode, from its initial state.
func TestObserve(t *testing.T) {
	forAll(t, func(t *testing.T, k task, r recording) {
		s := newScope(t, 1)
		f := rl.NewFunc(s, "observe", func(c *rl.Ctx, state rl.Tree) rl.Obs { return k.dyn.Observe(c, state) })
		var names []string
		var states, want [][]float64
		for _, e := range r.Episodes {
			names, states, want = append(names, e.Name), append(states, e.Initial), append(want, e.First)
		}
		got := f.Call(rl.Key{}, matrix(s, states))
		compare(t, "observation", names, rl.Floats(got.X.Leaf("")), want, k.obs, false)
	})
}

func BenchmarkStep(b *testing.B) {
	for i, e := range All[:len(tasks)] {
		for _, n := range []int{4, 16, 128} {
			b.Run(fmt.Sprintf("%s/%d", tasks[i].file, n), func(b *testing.B) {
				s := newScope(b, 1)
				batch, err := e.New(s, n, nil)
				if err != nil {
					b.Fatal(err)
				}
				act := tasks[i].actions(s, make([]float64, n))
				batch.Step(act)
				for b.Loop() {
					batch.Step(act)
				}
				b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "steps/s")
			})
		}
	}
}
