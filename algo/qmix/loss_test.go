package qmix

import (
	"fmt"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

const (
	rows, length, team, actions = 3, 4, 2, 3
	gamma, units                = .5, 5
)

// fixture makes two networks of other weights, and a learner of both.
func fixture(t *testing.T, c Config) (*rl.Scope, *Learner) {
	t.Helper()
	s := rl.NewScope(algotest.Device(t), 1)
	c.Layers, c.Units, c.Gamma, c.AgentID, c.Embed, c.Hyper = nn.Layers{Hidden: []int{8}, Activation: "tanh"}, units, gamma, true, 4, 4
	spec := env.Spec{Agents: team, State: 2, Obs: rl.Box{Dims: []int{2}}, Action: rl.Discrete{N: actions}}
	q, err := newNet(s, "", c, spec)
	if err != nil {
		t.Fatal(err)
	}
	target, err := newNet(s, "target ", c, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s, newLearner(s, c, q, target)
}

// table is a sample of episodes, as plain numbers. The first goes on beyond its sequence, the
// second is cut off after three steps, the third terminates after two. In the third the second
// agent is out of play from the second step on.
type table struct {
	obs, state []float32 // [rows, length+1, ...]
	memory     []float32
	reward     []float32 // [rows, length, team]
	action     []int32
	alive      []bool // [rows, length+1, team]
	term       []bool
	valid      []bool // [rows, length]
	legal      []bool // [rows, length, team, actions], of where a step led
	sample     replay.Sample[Step]
}

var lengths = [rows]int{length, 3, 2}

func newTable(s *rl.Scope) *table {
	k := rl.NewKey(3)
	draw := func(use string, n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(2*k.Use(use).Uniform(i, 0) - 1)
		}
		return x
	}
	x := &table{
		obs: draw("obs", rows*(length+1)*team*2), state: draw("state", rows*(length+1)*2), memory: draw("memory", rows*team*units),
		reward: draw("reward", rows*length*team), alive: make([]bool, rows*(length+1)*team), action: make([]int32, rows*length*team),
		term: make([]bool, rows*length*team), valid: make([]bool, rows*length), legal: make([]bool, rows*length*team*actions),
	}
	for i := range x.action {
		x.action[i] = int32(i*i) % actions
	}
	for i := range x.legal {
		x.legal[i] = i%4 != 0
	}
	for i := range x.alive {
		x.alive[i] = true
	}
	for r, n := range lengths {
		for i := range n {
			x.valid[r*length+i] = true
		}
	}
	for i := 1; i <= length; i++ {
		x.alive[(2*(length+1)+i)*team+1] = false
	}
	dies, ends := 2*length, 2*length+1 // steps of the third episode
	x.term[dies*team+1], x.term[ends*team], x.term[ends*team+1] = true, true, true
	x.sample = replay.Sample[Step]{
		Data: Step{
			Obs: x.seen(s, 0), Next: x.seen(s, 1), Action: rl.One(rl.FromFlat(s, x.action, rows, length, team)),
			Reward: rl.FromFlat(s, x.reward, rows, length, team), Terminated: rl.FromFlat(s, x.term, rows, length, team),
			Memory: rl.FromFlat(s, x.memory, rows, team*units),
		},
		Valid: rl.FromFlat(s, x.valid, rows, length),
	}
	x.sample.Data.Next.Legal = rl.One(rl.FromFlat(s, x.legal, rows, length, team, actions))
	return x
}

// seen returns the observations of all steps, or of where they led.
func (x *table) seen(s *rl.Scope, from int) rl.Obs {
	var obs, state []float32
	var alive []bool
	for r := range rows {
		lo, hi := r*(length+1)+from, r*(length+1)+from+length
		obs, state = append(obs, x.obs[lo*team*2:hi*team*2]...), append(state, x.state[lo*2:hi*2]...)
		alive = append(alive, x.alive[lo*team:hi*team]...)
	}
	return rl.Obs{
		X: rl.One(rl.FromFlat(s, obs, rows, length, team, 2)), State: rl.FromFlat(s, state, rows, length, 2),
		Alive: rl.FromFlat(s, alive, rows, length, team),
	}
}

type recalled struct{ Q, Memory rl.Tensor }

func (n *net) step(c *rl.Ctx, in ActIn) recalled {
	q, memory := n.Recall(c, c.Scope(n.agents), in.Obs.X, in.Memory)
	return recalled{rl.Wrap(q), memory}
}

// walk returns the values of all actions, step by step: [length+1][rows, team, actions].
func (x *table) walk(s *rl.Scope, name string, n *net) (out [][]float64) {
	f, memory := rl.NewFunc(s, name, n.step), rl.FromFlat(s, x.memory, rows, team*units)
	for i := range length + 1 {
		var now []float32
		for r := range rows {
			at := (r*(length+1) + i) * team * 2
			now = append(now, x.obs[at:at+team*2]...)
		}
		y := f.Call(rl.Key{}, ActIn{Obs: rl.Obs{X: rl.One(rl.FromFlat(s, now, rows, team, 2))}, Memory: memory})
		out, memory = append(out, rl.Floats(y.Q)), y.Memory
	}
	return out
}

// joining returns how a network joins two agents' values in a state.
func joining(s *rl.Scope, name string, n *net) func(q []float64, state []float32) []float64 {
	type in struct{ Q, State rl.Tensor }
	f := rl.NewFunc(s, name, func(c *rl.Ctx, x in) rl.Tensor {
		return rl.Wrap(n.Joint(c, c.Scope(n.mixer), x.Q.Node(), x.State.Node()))
	})
	return func(q []float64, state []float32) []float64 {
		return rl.Floats(f.Call(rl.Key{}, in{rl.FromFlat(s, []float32{float32(q[0]), float32(q[1])}, 1, team), rl.FromFlat(s, state, 1, 2)}))
	}
}

// TestLoss compares losses and values with those worked out in plain Go from what the networks say
// step by step: over legal actions, with the target's value of the action that either network
// chooses, nothing beyond a termination, the value of the last state at a cut, no weight behind an
// episode's end, and agents out of play that count for nothing.
func TestLoss(t *testing.T) {
	for _, c := range []Config{
		{Mixing: nn.Mixing{Mixer: "qmix"}, Double: true}, {Mixing: nn.Mixing{Mixer: "vdn"}}, {Mixing: nn.Mixing{Mixer: "vdn"}, Double: true},
		{Mixing: nn.Mixing{Mixer: "none"}, Double: true, Team: true}, {Mixing: nn.Mixing{Mixer: "none"}},
	} {
		t.Run(fmt.Sprintf("%s, double %v, team %v", c.Mixer, c.Double, c.Team), func(t *testing.T) {
			s, l := fixture(t, c)
			x := newTable(s)
			_, m := l.loss.Grad(rl.Key{}, x.sample)
			q, goal := x.walk(s, "q by step", l.net), x.walk(s, "goal by step", l.target)
			join, joinGoal := joining(s, "joint", l.net), joining(s, "joint goal", l.target)
			for r, n := range lengths {
				var loss, value, count float64
				for i := range n {
					now, then := x.chosen(q, r, i), x.reached(q, goal, c.Double, r, i)
					v, next := x.joined(c, join, now, r, i), x.joined(c, joinGoal, then, r, i+1)
					for a := range v {
						own := (r*length+i)*team + a
						reward, over := float64(x.reward[own]), x.term[own]
						if c.Mixer != "none" || c.Team {
							both := (r*length + i) * team
							reward = float64(x.reward[both] + x.reward[both+1])
						}
						if c.Mixer != "none" {
							over = x.term[(r*length+i)*team] && x.term[(r*length+i)*team+1]
						} else if !x.alive[(r*(length+1)+i)*team+a] {
							continue
						}
						want := reward
						if !over {
							want += gamma * next[a]
						}
						loss, value, count = loss+(v[a]-want)*(v[a]-want), value+v[a], count+1
					}
				}
				algotest.Near(t, fmt.Sprint("loss of ", r), rl.Floats(m.Loss)[r], loss/count, 1e-4)
				algotest.Near(t, fmt.Sprint("value of ", r), rl.Floats(m.Q)[r], value/count, 1e-4)
			}
		})
	}
}

// chosen returns the values of the actions that were taken in step i of a row.
func (x *table) chosen(q [][]float64, r, i int) (out []float64) {
	for a := range team {
		out = append(out, q[i][(r*team+a)*actions+int(x.action[(r*length+i)*team+a])])
	}
	return out
}

// reached returns the target's values of the best legal actions where step i of a row led.
func (x *table) reached(q, goal [][]float64, double bool, r, i int) (out []float64) {
	by := goal
	if double {
		by = q
	}
	for a := range team {
		at, best := (r*team+a)*actions, -1
		for j := range actions {
			if x.legal[((r*length+i)*team+a)*actions+j] && (best < 0 || by[i+1][at+j] > by[i+1][at+best]) {
				best = j
			}
		}
		out = append(out, goal[i+1][at+best])
	}
	return out
}

// joined returns what a mixer makes of agents' values in state i of a row, the values of those out
// of play being 0, or the values themselves.
func (x *table) joined(c Config, join func([]float64, []float32) []float64, q []float64, r, i int) []float64 {
	if c.Mixer == "none" {
		return q
	}
	at := r*(length+1) + i
	for a := range q {
		if !x.alive[at*team+a] {
			q[a] = 0
		}
	}
	return join(q, x.state[at*2:at*2+2])
}

// TestStandardise: rewards count by their distance from the mean of those seen, in deviations.
func TestStandardise(t *testing.T) {
	s, l := fixture(t, Config{Mixing: nn.Mixing{Mixer: "vdn"}, Standardise: true})
	x := newTable(s)
	raw := *l
	raw.Standardise = false
	plain := rl.NewLoss(s, "plain", raw.lossGraph, l.net.agents)
	_, before := plain.Grad(rl.Key{}, x.sample)
	_, same := l.loss.Grad(rl.Key{}, x.sample)
	algotest.Near(t, "loss before any reward is seen", rl.Floats(same.Loss)[0], rl.Floats(before.Loss)[0], 1e-6)

	l.Observe(rl.FromFlat(s, []float32{2, 3, 7, 2}, 1, 2, team)) // 5 and 9: mean 7, deviation 2
	for i := range x.reward {
		x.reward[i] = (x.reward[i] - 3.5) / 2
	}
	_, got := l.loss.Grad(rl.Key{}, x.sample)
	x.sample.Data.Reward = rl.FromFlat(s, x.reward, rows, length, team)
	_, want := plain.Grad(rl.Key{}, x.sample)
	algotest.Near(t, "loss", rl.Floats(got.Loss)[0], rl.Floats(want.Loss)[0], 1e-4)
}
