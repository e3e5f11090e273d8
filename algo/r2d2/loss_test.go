package r2d2

import (
	"fmt"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

const (
	rows, length, burn, actions = 4, 6, 2, 3
	gamma, steps, units         = .5, 2, 5
)

// fixture makes two networks of other weights, and a learner of both.
func fixture(t *testing.T, c Config) (*rl.Scope, *Learner) {
	t.Helper()
	s := rl.NewScope(algotest.Device(t), 1)
	c.Layers, c.Cell, c.Units, c.BurnIn, c.Gamma, c.NStep = nn.Layers{Hidden: []int{8}, Activation: "tanh"}, "gru", units, burn, gamma, steps
	c.Prioritised, c.Eta, c.Alpha, c.PriorityEps = true, .75, .5, .25
	spec := env.Spec{Obs: rl.Box{Dims: []int{2}}, Action: rl.Discrete{N: actions, Start: 5}}
	q, err := newNet(s, "q", c, spec)
	if err != nil {
		t.Fatal(err)
	}
	target, err := newNet(s, "target", c, spec)
	if err != nil {
		t.Fatal(err)
	}
	return s, newLearner(s, c, q, target)
}

// table is a sample of sequences, as plain numbers: the first two rows begin episodes, the second
// and the last end before their sequence does, the last by termination.
type table struct {
	states   []float32 // [rows, length+1, 2]
	memory   []float32
	reward   []float32
	action   []int32
	term     []bool
	legal    []bool // of where a step led
	valid    []bool
	learn    []bool
	sequence replay.Sample[Step]
}

func newTable(s *rl.Scope) table {
	k := rl.NewKey(3)
	draw := func(use string, n int) []float32 {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(2*k.Use(use).Uniform(i, 0) - 1)
		}
		return x
	}
	x := table{
		states: draw("states", rows*(length+1)*2), memory: draw("memory", rows*units), reward: draw("reward", rows*length),
		action: make([]int32, rows*length), term: make([]bool, rows*length), legal: make([]bool, rows*length*actions),
		valid: make([]bool, rows*length), learn: make([]bool, rows*length),
	}
	var obs, next []float32
	for r := range rows {
		for i := range length {
			at := r*length + i
			x.action[at] = int32(5 + (r+i)%actions)
			x.valid[at] = r%2 == 0 || i < 4
			x.learn[at] = x.valid[at] && (r < 2 || i >= burn)
			for a := range actions {
				x.legal[at*actions+a] = (at+a)%4 != 0
			}
			from := (r*(length+1) + i) * 2
			obs, next = append(obs, x.states[from:from+2]...), append(next, x.states[from+2:from+4]...)
		}
	}
	x.term[3*length+3] = true
	flat := func(x []float32) rl.Tree { return rl.One(rl.FromFlat(s, x, rows, length, 2)) }
	x.sequence = replay.Sample[Step]{
		Data: Step{
			Obs: rl.Obs{X: flat(obs)}, Next: rl.Obs{X: flat(next), Legal: rl.One(rl.FromFlat(s, x.legal, rows, length, actions))},
			Action: rl.One(rl.FromFlat(s, x.action, rows, length)), Reward: rl.FromFlat(s, x.reward, rows, length),
			Terminated: rl.FromFlat(s, x.term, rows, length), Memory: rl.FromFlat(s, x.memory, rows, units),
		},
		Prob: rl.FromFlat(s, []float32{.1, .2, .3, .4}, rows), Valid: rl.FromFlat(s, x.valid, rows, length), Learn: rl.FromFlat(s, x.learn, rows, length),
	}
	return x
}

type recalled struct{ Q, Memory rl.Tensor }

func (n *net) step(c *rl.Ctx, in ActIn) recalled {
	q, memory := n.recall(c, c.Scope(n.params), in.Obs.X, in.Memory.Node())
	return recalled{rl.Wrap(q), rl.Wrap(memory)}
}

// walk returns the values of all actions along the states, step by step: [length+1][rows*actions].
func (x table) walk(s *rl.Scope, name string, n *net) (out [][]float64) {
	f, memory := rl.NewFunc(s, name, n.step), rl.FromFlat(s, x.memory, rows, units)
	for i := range length + 1 {
		now := make([]float32, 0, rows*2)
		for r := range rows {
			from := (r*(length+1) + i) * 2
			now = append(now, x.states[from:from+2]...)
		}
		y := f.Call(rl.Key{}, ActIn{Obs: rl.Obs{X: rl.One(rl.FromFlat(s, now, rows, 2))}, Memory: memory})
		out, memory = append(out, rl.Floats(y.Q)), y.Memory
	}
	return out
}

func rescale(x float64) float64 {
	return math.Copysign(math.Sqrt(math.Abs(x)+1)-1, x) + x/1000
}

// unscale inverts rescale by bisection.
func unscale(y float64) float64 {
	lo, hi := -1e6, 1e6
	for range 200 {
		if mid := (lo + hi) / 2; rescale(mid) < y {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// TestLoss compares losses, priorities and values with those worked out in plain Go from what the
// networks say step by step: over legal actions, beyond a burn-in, with returns of two steps that
// episodes and sequences cut short.
func TestLoss(t *testing.T) {
	for _, c := range []Config{{}, {Double: true}, {Double: true, Rescale: true}} {
		t.Run(fmt.Sprintf("double %v, rescale %v", c.Double, c.Rescale), func(t *testing.T) {
			s, l := fixture(t, c)
			x := newTable(s)
			_, m := l.loss.Grad(rl.Key{}, Batch{x.sequence, rl.Scalar(.5)})
			q, goal := x.walk(s, "q by step", l.net), x.walk(s, "goal by step", l.target)
			chooser := goal
			if c.Double {
				chooser = q
			}
			reached := func(r, i int) float64 { // where step i led
				best := -1
				for a := range actions {
					if x.legal[(r*length+i)*actions+a] && (best < 0 || chooser[i+1][r*actions+a] > chooser[i+1][r*actions+best]) {
						best = a
					}
				}
				v := goal[i+1][r*actions+best]
				if c.Rescale {
					v = unscale(v)
				}
				return v
			}
			for r := range rows {
				var most, sum, loss, value, n float64
				for i := range length {
					at := r*length + i
					if !x.learn[at] {
						continue
					}
					want, discount := float64(x.reward[at]), gamma
					last := at
					if i+1 < length && x.valid[at+1] && !x.term[at] { // one step more
						want, discount, last = want+gamma*float64(x.reward[at+1]), gamma*gamma, at+1
					}
					if !x.term[last] {
						want += discount * reached(r, last-r*length)
					}
					if c.Rescale {
						want = rescale(want)
					}
					v := q[i][r*actions+int(x.action[at]-5)]
					td := math.Abs(v - want)
					most, sum, loss, value, n = max(most, td), sum+td, loss+td*td, value+v, n+1
				}
				algotest.Near(t, fmt.Sprint("loss of ", r), rl.Floats(m.Loss)[r], loss/n, 1e-3)
				algotest.Near(t, fmt.Sprint("value of ", r), rl.Floats(m.Q)[r], value/n, 1e-4)
				algotest.Near(t, fmt.Sprint("priority of ", r), rl.Floats(m.Priority)[r], math.Sqrt(.75*most+.25*sum/n+.25), 1e-3)
			}
		})
	}
}

type pulled struct {
	Obs           rl.Tree
	Memory, Exact rl.Tensor
}

// pull returns how values beyond the burn-in depend on the memory before it.
func (n *net) pull(c *rl.Ctx, in pulled) rl.Tensor {
	memory := in.Memory.Node()
	q := n.along(c, in.Obs, memory, in.Exact.Node())
	return rl.Wrap(Gradient(ReduceAllSum(SliceAxis(q, 1, AxisRangeToEnd(burn))), memory)[0])
}

// TestBurnIn: no gradient comes through the burn-in, but in rows that need none.
func TestBurnIn(t *testing.T) {
	s, l := fixture(t, Config{})
	x := newTable(s)
	states := rl.One(rl.FromFlat(s, x.states, rows, length+1, 2))
	exact := []bool{true, true, false, false}
	g := rl.Floats(rl.NewFunc(s, "pull", l.net.pull).Call(rl.Key{}, pulled{states, rl.FromFlat(s, x.memory, rows, units), rl.FromFlat(s, exact, rows)}))
	for r, through := range exact {
		sum := 0.
		for _, v := range g[r*units : (r+1)*units] {
			sum += math.Abs(v)
		}
		if (sum > 0) != through {
			t.Errorf("row %d: a gradient of %v comes through the burn-in, exact %v", r, sum, through)
		}
	}
}
