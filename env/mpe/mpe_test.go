package mpe

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/rl"
)

func newScope(t testing.TB) *rl.Scope {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

// recording is a file of testdata. Rows are of all agents, one after another.
type recording struct {
	Name      string
	Options   map[string]any
	Agents    []string
	Sizes     []int `json:"observation_sizes"`
	State     int   `json:"state_size"`
	Action    string
	MaxCycles int `json:"max_cycles"`
	Episodes  []struct {
		States                         []struct{ Pos, Vel []float32 }
		Actions, Rewards, Observations [][]float64
		Terminated, Truncated          []bool
	}
}

// joint is dynamics of any number of kinds.
type joint struct {
	env.Joint
	kinds []env.Spec
	sizes []int // agents of each kind
}

// one is dynamics with one kind of agent as joint ones.
type one struct{ spread }

func (d one) Spec() []env.Spec                          { return []env.Spec{d.spread.Spec()} }
func (d one) Observe(c *rl.Ctx, state rl.Tree) []rl.Obs { return []rl.Obs{d.spread.Observe(c, state)} }
func (d one) Step(c *rl.Ctx, state rl.Tree, action []rl.Tree) env.Moves {
	m := d.spread.Step(c, state, action[0])
	return env.Moves{State: m.State, Reward: []rl.Tensor{m.Reward}, Terminated: []rl.Tensor{m.Terminated}}
}

// forEach runs f on every recording with its dynamics.
func forEach(t *testing.T, f func(t *testing.T, r recording, d joint)) {
	files, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, ok := strings.CutSuffix(file.Name(), ".json")
		if !ok {
			continue
		}
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile("testdata/" + file.Name())
			if err != nil {
				t.Fatal(err)
			}
			var r recording
			if err := json.Unmarshal(data, &r); err != nil {
				t.Fatal(err)
			}
			f(t, r, r.dynamics(t))
		})
	}
}

func (r recording) dynamics(t *testing.T) joint {
	var set []config.Assignment
	for k, v := range r.Options {
		set = append(set, config.Assignment{Key: strings.ToLower(k), Value: fmt.Sprint(v)})
	}
	configure := func(p any) {
		if err := config.Defaults(p); err != nil {
			t.Fatal(err)
		}
		if err := config.Set(p, set); err != nil {
			t.Fatal(err)
		}
	}
	var d env.Joint
	if strings.HasPrefix(r.Name, "spread") {
		o := SpreadOptions{}
		configure(&o)
		d = one{newSpread(o)}
	} else {
		o := TagOptions{}
		configure(&o)
		d = newTag(o)
	}
	out := joint{Joint: d, kinds: d.Spec()}
	for _, s := range out.kinds {
		out.sizes = append(out.sizes, max(1, s.Agents))
	}
	return out
}

type stepIn struct {
	State  rl.Tree
	Action []rl.Tree
}

type stepOut struct {
	State              rl.Tree
	Reward, Terminated []rl.Tensor
	Obs                []rl.Obs
}

// stepper returns one step of bare dynamics, without resets and limits.
func (d joint) stepper(s *rl.Scope) *rl.Func[stepIn, stepOut] {
	return rl.NewFunc(s, "step", func(c *rl.Ctx, in stepIn) stepOut {
		m := d.Step(c, in.State, in.Action)
		return stepOut{m.State, m.Reward, m.Terminated, d.Observe(c, m.State)}
	})
}

// state returns recorded states as a batch.
func (d joint) state(s *rl.Scope, rows []struct{ Pos, Vel []float32 }) rl.Tree {
	var pos, vel []float32
	for _, r := range rows {
		pos, vel = append(pos, r.Pos...), append(vel, r.Vel...)
	}
	n := len(rows)
	return rl.NewTree([]string{"pos", "vel"}, []rl.Tensor{
		rl.FromFlat(s, pos, n, len(pos)/n/2, 2), rl.FromFlat(s, vel, n, len(vel)/n/2, 2),
	})
}

// actions returns recorded ones as a batch of each kind.
func (d joint) actions(s *rl.Scope, rows [][]float64) (out []rl.Tree) {
	first := 0
	for i, spec := range d.kinds {
		width := max(1, spec.Action.Shape().Size())
		dims := []int{len(rows)}
		if d.sizes[i] > 1 {
			dims = append(dims, d.sizes[i])
		}
		dims = append(dims, spec.Action.Shape().Dimensions...)
		var whole []int32
		var real []float32
		for _, r := range rows {
			for _, x := range r[first*width : (first+d.sizes[i])*width] {
				whole, real = append(whole, int32(x)), append(real, float32(x))
			}
		}
		if _, ok := spec.Action.(rl.Discrete); ok {
			out = append(out, rl.One(rl.FromFlat(s, whole, dims...)))
		} else {
			out = append(out, rl.One(rl.FromFlat(s, real, dims...)))
		}
		first += d.sizes[i]
	}
	return out
}

// rows returns numbers of all kinds as recorded: those of one environment together.
func rows(n int, kinds []rl.Tensor) [][]float64 {
	out := make([][]float64, n)
	for _, t := range kinds {
		x := rl.Floats(t)
		for i := range out {
			out[i] = append(out[i], x[i*len(x)/n:(i+1)*len(x)/n]...)
		}
	}
	return out
}

func observations(obs []rl.Obs) (out []rl.Tensor) {
	for _, o := range obs {
		out = append(out, o.X.At(0))
	}
	return out
}

// compare finds numbers that stray from the recorded ones by more than tol,
// absolute below 1 and relative above.
func compare(t *testing.T, what string, got, want [][]float64, tol float64) {
	t.Helper()
	worst := 0.
	for i := range want {
		if len(got[i]) != len(want[i]) {
			t.Fatalf("%s of step %d has %d numbers, recorded %d", what, i, len(got[i]), len(want[i]))
		}
		for j, w := range want[i] {
			err := math.Abs(got[i][j]-w) / math.Max(1, math.Abs(w))
			if worst = math.Max(worst, err); err > tol {
				t.Errorf("%s %d of step %d is %v, recorded %v", what, j, i, got[i][j], w)
			}
		}
	}
	t.Logf("%s: largest error %.2g of %.2g", what, worst, tol)
}

// How far float32 may stray in one step. Contact is stiff: a distance that is
// wrong by half a unit in the last place, 6e-8, changes a velocity by ten times
// that. Positions advance with the old velocities and do not feel it yet.
const (
	posTol    = 2e-7
	velTol    = 1.2e-6
	rewardTol = 1e-6
	// After a whole episode; where six agents begin on top of each other and are
	// flung apart, small differences grow.
	driftTol = 5e-6
	flungTol = 5e-4
)

// Every recorded transition, as one batch.
func TestTransitions(t *testing.T) {
	forEach(t, func(t *testing.T, r recording, d joint) {
		s := newScope(t)
		f := d.stepper(s)
		for _, e := range r.Episodes {
			n := len(e.Actions)
			out := f.Call(rl.Key{}, stepIn{d.state(s, e.States[:n]), d.actions(s, e.Actions)})
			next := d.state(s, e.States[1:])
			compare(t, "position", rows(n, []rl.Tensor{out.State.At(0)}), rows(n, []rl.Tensor{next.At(0)}), posTol)
			compare(t, "velocity", rows(n, []rl.Tensor{out.State.At(1)}), rows(n, []rl.Tensor{next.At(1)}), velTol)
			compare(t, "observation", rows(n, observations(out.Obs)), e.Observations[1:], velTol)
			compare(t, "reward", rows(n, out.Reward), e.Rewards, rewardTol)
			for i, flags := range rows(n, out.Terminated) {
				if slices.Contains(flags, 1) != e.Terminated[i] {
					t.Errorf("step %d: terminated %v, recorded %v", i, flags, e.Terminated[i])
				}
			}
		}
	})
}

// From the start of every episode, without looking at the recorded states again.
func TestFreeRun(t *testing.T) {
	forEach(t, func(t *testing.T, r recording, d joint) {
		s := newScope(t)
		f := d.stepper(s)
		tol := driftTol
		if r.Name == "tag_many" {
			tol = flungTol
		}
		for _, e := range r.Episodes {
			at := d.state(s, e.States[:1])
			var obs, reward [][]float64
			for i := range e.Actions {
				out := f.Call(rl.Key{}, stepIn{at, d.actions(s, e.Actions[i:i+1])})
				at = out.State
				obs, reward = append(obs, rows(1, observations(out.Obs))...), append(reward, rows(1, out.Reward)...)
			}
			compare(t, "observation", obs, e.Observations[1:], tol)
			compare(t, "reward", reward, e.Rewards, tol)
		}
	})
}

// Spaces, limits, names and the order of agents are mpe2's, and the state for
// critics is all observations.
func TestSpecs(t *testing.T) {
	forEach(t, func(t *testing.T, r recording, d joint) {
		agent := 0
		for i, spec := range d.kinds {
			for j := range d.sizes[i] {
				kind := spec.Kind
				if kind == "" {
					kind = "agent"
				}
				if name := fmt.Sprintf("%s_%d", kind, j); name != r.Agents[agent] {
					t.Errorf("agent %d is %s, recorded %s", agent, name, r.Agents[agent])
				}
				if got := spec.Obs.Shape().Size(); got != r.Sizes[agent] {
					t.Errorf("agent %d sees %d numbers, recorded %d", agent, got, r.Sizes[agent])
				}
				agent++
			}
			_, discrete := spec.Action.(rl.Discrete)
			if spec.Limit != r.MaxCycles || spec.State != r.State || discrete != (r.Action == "discrete") {
				t.Errorf("spec %+v, recorded limit %d, state %d, action %s", spec, r.MaxCycles, r.State, r.Action)
			}
		}
		if agent != len(r.Agents) {
			t.Errorf("%d agents, recorded %d", agent, len(r.Agents))
		}
		s := newScope(t)
		f := rl.NewFunc(s, "observe", func(c *rl.Ctx, state rl.Tree) []rl.Obs { return d.Observe(c, state) })
		for _, o := range f.Call(rl.Key{}, d.state(s, r.Episodes[0].States[:1])) {
			compare(t, "state", rows(1, []rl.Tensor{o.State}), r.Episodes[0].Observations[:1], posTol)
		}
	})
}

// Initial positions are uniform over the area, and nothing moves.
func TestReset(t *testing.T) {
	for _, x := range []struct {
		name  string
		reset func(c *rl.Ctx, n int) rl.Tree
		reach []float64 // of each body
	}{
		{"spread", newSpread(SpreadOptions{N: 2}).Reset, []float64{1, 1, 1, 1}},
		{"tag", newTag(TagOptions{NumGood: 1, NumAdversaries: 1, NumObstacles: 1}).Reset, []float64{1, 1, .9}},
	} {
		t.Run(x.name, func(t *testing.T) {
			const n = 4000
			s := newScope(t)
			f := rl.NewFunc(s, "reset", func(c *rl.Ctx, _ rl.Tensor) rl.Tree { return x.reset(c, n) })
			out := f.Call(s.Key("reset"), rl.Scalar(0))
			pos := rl.Floats(out.Leaf("pos"))
			for j, reach := range x.reach {
				least, most, sum := math.Inf(1), math.Inf(-1), 0.
				for i := range n {
					v := pos[(i*len(x.reach)+j)*2+j%2]
					least, most, sum = math.Min(least, v), math.Max(most, v), sum+v
				}
				if least < -reach || most > reach || least > -.99*reach || most < .99*reach || math.Abs(sum/n) > 5*reach/math.Sqrt(3*n) {
					t.Errorf("body %d is drawn from %v..%v with mean %v, want %v", j, least, most, sum/n, reach)
				}
			}
			if slices.ContainsFunc(rl.Floats(out.Leaf("vel")), func(v float64) bool { return v != 0 }) {
				t.Error("something moves")
			}
		})
	}
}

func TestConformance(t *testing.T) {
	for _, x := range []struct {
		name    string
		entry   env.Entry
		options any
	}{
		{"spread", SimpleSpread, nil},
		{"spread alone", SimpleSpread, &SpreadOptions{N: 1, LocalRatio: 1, MaxCycles: 30, ContinuousActions: true, TerminateOnSuccess: true}},
		{"tag", SimpleTag, nil},
		{"tag many", SimpleTag, &TagOptions{NumGood: 2, NumAdversaries: 1, MaxCycles: 20, ContinuousActions: true, TerminateOnSuccess: true}},
	} {
		t.Run(x.name, func(t *testing.T) { envtest.Run(t, x.entry, envtest.With(x.options), envtest.Steps(70)) })
	}
}

func TestOptions(t *testing.T) {
	for _, x := range []struct {
		entry   env.Entry
		options any
		want    []string
	}{
		{SimpleSpread, &SpreadOptions{LocalRatio: 2}, []string{"option n is 0", "option max_cycles is 0", "local_ratio is 2"}},
		{SimpleTag, &TagOptions{NumObstacles: -1}, []string{"num_good is 0", "num_adversaries is 0", "num_obstacles is -1", "max_cycles is 0"}},
		{SimpleTag, &SpreadOptions{}, []string{"options are *mpe.SpreadOptions, want *mpe.TagOptions"}},
	} {
		_, err := env.OpenGroups(newScope(t), x.entry, 1, x.options)
		for _, want := range x.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %s", err, want)
			}
		}
	}
	for _, e := range All {
		o := e.Options()
		if err := config.Defaults(o); err != nil || fmt.Sprint(o) != fmt.Sprint(e.Options()) {
			t.Errorf("%s: defaults by tag %+v, by value %+v (%v)", e.ID, o, e.Options(), err)
		}
	}
}

func BenchmarkStep(b *testing.B) {
	for _, e := range All {
		b.Run(e.ID, func(b *testing.B) {
			s := newScope(b)
			g, err := env.OpenGroups(s, e, 128, nil)
			if err != nil {
				b.Fatal(err)
			}
			act := env.SampleGroups(s, g.Spec(), g.Obs(), s.Key("act"))
			for b.Loop() {
				g.Step(act)
			}
			b.ReportMetric(float64(b.N*128)/b.Elapsed().Seconds(), "steps/s")
		})
	}
}

// Against a prey that moves at random adversaries are the only kind, and earn about 4.6 each if
// they move at random too.
func TestRandomPrey(t *testing.T) {
	const n = 400
	s := newScope(t)
	o := SimpleTag.Options().(*TagOptions)
	o.Prey = "random"
	g, err := env.OpenGroups(s, SimpleTag, n, o)
	if err != nil {
		t.Fatal(err)
	}
	if specs := g.Spec(); len(specs) != 1 || specs[0].Kind != "adversary" || specs[0].Agents != 3 {
		t.Fatalf("kinds %+v, want three adversaries", specs)
	}
	earned := 0.
	g.Obs()
	for i := range o.MaxCycles {
		action := make([]int32, 3*n)
		for j := range action {
			action[j] = int32(rl.NewKey(uint64(i)).IntN(j, 0, moves))
		}
		for _, r := range rl.Read[float32](g.Step([]rl.Tree{rl.One(rl.FromFlat(s, action, n, 3))})[0].Reward) {
			earned += float64(r) / (3 * n)
		}
	}
	if earned < 3 || earned > 6.5 {
		t.Errorf("adversaries earn %.2f each, want about 4.6", earned)
	}
	o.Prey = "nobody"
	if _, err := env.OpenGroups(newScope(t), SimpleTag, 1, o); err == nil || !strings.Contains(err.Error(), `option prey is "nobody", want agent or random`) {
		t.Errorf("an unknown prey: %v", err)
	}
}
