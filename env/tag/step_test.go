package tag

import (
	"math"
	"slices"
	"testing"

	"github.com/weft-rl/weft/rl"
)

type stepIn struct {
	State  rl.Tree
	Action []rl.Tree
}

type stepOut struct {
	State              rl.Tree
	Reward, Terminated []rl.Tensor
	Over               rl.Tensor
	Obs                []rl.Obs
}

// stepper returns one step of bare dynamics, without resets.
func (d game) stepper(s *rl.Scope) *rl.Func[stepIn, stepOut] {
	return rl.NewFunc(s, "step", func(c *rl.Ctx, in stepIn) stepOut {
		m := d.Step(c, in.State, in.Action)
		return stepOut{m.State, m.Reward, m.Terminated, m.Over, d.Observe(c, m.State)}
	})
}

// actions returns moves of all agents, by environment, as trees of the kinds that learn.
func (d game) actions(s *rl.Scope, moves [][][2]int) (out []rl.Tree) {
	at := 0
	for _, agents := range d.learners() {
		var flat []int32
		for _, m := range moves {
			for _, a := range m[at : at+agents] {
				flat = append(flat, int32(a[0]), int32(a[1]))
			}
		}
		dims := []int{len(moves), agents, 2}
		if agents == 1 {
			dims = []int{len(moves), 2}
		}
		out = append(out, rl.One(rl.FromFlat(s, flat, dims...)))
		at += agents
	}
	return out
}

// situation is one environment in numbers; speeds and accelerations may be absent.
type situation struct {
	x, y, heading, speed, push []float32
	out                        []bool // of runners
	time                       int32
}

func (d game) state(s *rl.Scope, at situation) rl.Tree {
	row := func(v []float32) rl.Tensor {
		return rl.FromFlat(s, append(slices.Clone(v), make([]float32, d.agents()-len(v))...), 1, d.agents())
	}
	leaves := []rl.Tensor{
		row(at.x), row(at.y), row(at.speed), row(at.heading), row(at.push), rl.FromFlat(s, []int32{at.time}, 1),
	}
	if d.Leave {
		in := make([]bool, d.Runners)
		for i := range in {
			in[i] = len(at.out) == 0 || !at.out[i]
		}
		leaves = append(leaves, rl.FromFlat(s, in, 1, d.Runners))
	}
	return rl.NewTree(stateNames[:len(leaves)], leaves)
}

func near(t *testing.T, what string, got rl.Tensor, want ...float64) {
	t.Helper()
	x := rl.Floats(got)
	if len(x) != len(want) {
		t.Fatalf("%s has %d numbers, want %d", what, len(x), len(want))
	}
	for i, w := range want {
		if !(math.Abs(x[i]-w) <= 2e-6) {
			t.Errorf("%s is %v, want %v", what, x, want)
			return
		}
	}
}

// one and zero are flags as numbers.
const one, zero = 1, 0

// Steps worked out by hand: a plane of 10, where 1 is near enough, with two taggers
// and two runners, 4 levels of acceleration (-.3, -.1, .1, .3) and of turns
// (-90, -30, 30, 90 degrees).
func TestByHand(t *testing.T) {
	base := func(o *Options) {
		o.Taggers, o.Runners, o.Size, o.Length, o.Reach = 2, 2, 10, 50, .1
		o.Acceleration, o.AccelerationLevels, o.Turn, o.TurnLevels = .3, 4, 90, 4
		o.EdgePenalty, o.StepPenalty, o.StepReward = .25, .125, .5
	}
	stay := func(o *Options) { base(o); o.Leave = false }
	apart := situation{x: []float32{1, 9, 1, 9}, y: []float32{1, 1, 9, 9}}
	idle := [][2]int{{}, {}, {}, {}}

	for _, c := range []struct {
		name    string
		options func(*Options)
		from    situation
		moves   [][2]int
		check   func(t *testing.T, out stepOut)
	}{
		{"nothing", base, apart, idle, func(t *testing.T, out stepOut) {
			near(t, "x", out.State.Leaf("x"), 1, 9, 1, 9)
			near(t, "y", out.State.Leaf("y"), 1, 1, 9, 9)
			near(t, "time", out.State.Leaf("time"), 1)
			near(t, "taggers' reward", out.Reward[0], -.125, -.125)
			near(t, "runners' reward", out.Reward[1], .5, .5)
			near(t, "over", out.Over, zero)
		}},
		// The first goes on with .3 from rest; the second turns left from the east and
		// goes .1 north; the third, who has .2 and is pushed by .1, slows by .1 to .2;
		// the fourth turns right by 30 degrees without moving.
		{"moves", base, situation{
			x: apart.x, y: apart.y, speed: []float32{0, 0, .2, 0}, push: []float32{0, 0, .1, 0},
		}, [][2]int{{4, 0}, {3, 4}, {2, 0}, {0, 2}}, func(t *testing.T, out stepOut) {
			near(t, "x", out.State.Leaf("x"), 1.3, 9, 1.2, 9)
			near(t, "y", out.State.Leaf("y"), 1, 1.1, 9, 9)
			near(t, "speed", out.State.Leaf("speed"), .3, .1, .2, 0)
			near(t, "push", out.State.Leaf("push"), .3, .1, 0, 0)
			near(t, "heading", out.State.Leaf("heading"), 0, quarter, 0, circle-math.Pi/6)
		}},
		// Full speed is 1 for taggers and .5 for runners, none is 0, and at either
		// acceleration is over.
		{"bounds", base, situation{
			x: []float32{5, 5, 5, 5}, y: []float32{1, 4, 7, 9}, speed: []float32{.9, .2, .4, .1}, push: []float32{.2, 0, 0, -.1},
		}, [][2]int{{3, 0}, {1, 0}, {4, 0}, {0, 0}}, func(t *testing.T, out stepOut) {
			near(t, "speed", out.State.Leaf("speed"), 1, 0, .5, 0)
			near(t, "push", out.State.Leaf("push"), 0, 0, 0, 0)
			near(t, "x", out.State.Leaf("x"), 6, 5, 5.5, 5)
		}},
		{"walls", base, situation{
			x: []float32{9.8, .1, 5, 10}, y: []float32{5, 5, .2, 10}, speed: []float32{.5, .5, .4, 0}, heading: []float32{0, math.Pi, 3 * quarter, 0},
		}, idle, func(t *testing.T, out stepOut) {
			near(t, "x", out.State.Leaf("x"), 10, 0, 5, 10)
			near(t, "y", out.State.Leaf("y"), 5, 5, 0, 10)
			near(t, "taggers' reward", out.Reward[0], -.375, -.375)
			near(t, "runners' reward", out.Reward[1], .25, .5)
		}},
		// The first runner is .9 from the second tagger and .95 from the first; the
		// second stands 1.1 away.
		{"tag", base, situation{
			x: []float32{1, 2.85, 1.95, 5}, y: []float32{5, 5, 5, 5},
		}, idle, func(t *testing.T, out stepOut) {
			near(t, "taggers' reward", out.Reward[0], -.125, 9.875)
			near(t, "runners' reward", out.Reward[1], -.5, .5)
			near(t, "runners' end", out.Terminated[1], one, zero)
			near(t, "taggers' end", out.Terminated[0], zero, zero)
			near(t, "alive", out.Obs[1].Alive, zero, one)
			near(t, "over", out.Over, zero)
			near(t, "what the tagged see", rl.Gather(rl.Gather(out.Obs[1].X.At(0), 1, []int{0}), 2, []int{0}), make([]float64, ownWidth+2*seenWidth)...)
		}},
		// A tagger comes near enough by moving, and gets both.
		{"two tags", base, situation{
			x: []float32{4, 9, 5.2, 5}, y: []float32{5, 1, 5, 5.8}, speed: []float32{.5},
		}, idle, func(t *testing.T, out stepOut) {
			near(t, "taggers' reward", out.Reward[0], 19.875, -.125)
			near(t, "runners' reward", out.Reward[1], -.5, -.5)
			near(t, "over", out.Over, one)
			near(t, "taggers' end", out.Terminated[0], one, one)
		}},
		// Who is out can be at a tagger's feet, moves no more and gets nothing; when the
		// other one is tagged the game is over.
		{"out", base, situation{
			x: []float32{5, 1, 5, 5}, y: []float32{5, 1, 5, 5.5}, out: []bool{true, false}, heading: []float32{0, 0, 1, 0},
		}, [][2]int{{}, {}, {4, 4}, {}}, func(t *testing.T, out stepOut) {
			near(t, "taggers' reward", out.Reward[0], 9.875, -.125)
			near(t, "runners' reward", out.Reward[1], 0, -.5)
			near(t, "runners' end", out.Terminated[1], one, one)
			near(t, "over", out.Over, one)
			near(t, "x", out.State.Leaf("x"), 5, 1, 5, 5)
			near(t, "heading", out.State.Leaf("heading"), 0, 0, 1, 0)
		}},
		{"time", base, situation{x: apart.x, y: apart.y, time: 49, out: []bool{true, false}}, idle, func(t *testing.T, out stepOut) {
			near(t, "runners' reward", out.Reward[1], 0, 1.5)
			near(t, "runners' end", out.Terminated[1], one, one)
			near(t, "taggers' end", out.Terminated[0], one, one)
			near(t, "over", out.Over, one)
		}},
		{"tagged at the end", base, situation{
			x: []float32{1, 9, 1, 9}, y: []float32{1, 1, 1.5, 9}, time: 49,
		}, idle, func(t *testing.T, out stepOut) {
			near(t, "runners' reward", out.Reward[1], -.5, 1.5)
		}},
		{"stay", stay, situation{
			x: []float32{1, 9, 1, 9}, y: []float32{1, 1, 1.5, 9}, time: 49,
		}, idle, func(t *testing.T, out stepOut) {
			near(t, "taggers' reward", out.Reward[0], 9.875, -.125)
			near(t, "runners' reward", out.Reward[1], .5, 1.5)
			near(t, "runners' end", out.Terminated[1], one, one)
			if out.Obs[1].Alive.Ok() {
				t.Error("somebody can leave")
			}
		}},
		// The first tagger looks north. The nearer runner is 2 north of it, ahead, and
		// comes to it at .4; the other 4 east, on its right, and stands.
		{"sight", base, situation{
			x: []float32{5, 0, 9, 5}, y: []float32{5, 0, 5, 7}, heading: []float32{quarter, 0, 0, 3 * quarter}, speed: []float32{0, 0, 0, .4}, time: 9,
		}, [][2]int{{}, {}, {}, {}}, func(t *testing.T, out stepOut) {
			mine := rl.Gather(rl.Gather(out.Obs[0].X.At(0), 1, []int{0}), 2, []int{0})
			near(t, "sight", mine,
				0, 0, 0, 0, 0, 1, .2, // itself
				1, 0, 0, -1, .16, .4, // ahead, left, distance
				-.4, 0, 0, 0, 1, 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := game{*with(c.options)}
			s := newScope(t)
			c.check(t, d.stepper(s).Call(rl.Key{}, stepIn{d.state(s, c.from), d.actions(s, [][][2]int{c.moves})}))
		})
	}
}

// Of runners that do not learn there is one kind of agent fewer; those at random
// move, the others do not.
func TestRunnerPolicy(t *testing.T) {
	for _, policy := range []string{random, still} {
		d := game{*with(func(o *Options) { small(o); o.Taggers, o.RunnerPolicy = 1, policy })}
		s := newScope(t)
		from := situation{x: []float32{0, 3, 3, 3, 3, 3}, y: []float32{0, 3, 3, 3, 3, 3}}
		at, f := d.state(s, from), d.stepper(s)
		for i := range 5 {
			out := f.Call(rl.NewKey(uint64(i)), stepIn{at, d.actions(s, [][][2]int{{{}}})})
			if len(out.Reward) != 1 || len(out.Obs) != 1 || len(d.Spec()) != 1 {
				t.Fatalf("%s: %d kinds of agents", policy, len(out.Reward))
			}
			at = out.State
		}
		moved := 0
		for _, x := range rl.Floats(at.Leaf("x"))[1:] {
			if x != 3 {
				moved++
			}
		}
		if want := map[string]int{random: 5, still: 0}[policy]; moved != want {
			t.Errorf("%s: %d of 5 runners moved", policy, moved)
		}
	}
}
