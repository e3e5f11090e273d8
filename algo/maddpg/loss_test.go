package maddpg

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

const rows, pair, logits = 3, 2, .25

// specs are of two agents that choose one of two actions, and of one that acts in a box.
var specs = []env.Spec{
	{Kind: "choosers", Agents: pair, Obs: rl.Box{Dims: []int{1}}, Action: rl.Discrete{N: 2}},
	{Kind: "mover", Obs: rl.Box{Dims: []int{2}}, Action: rl.Box{Low: []float64{0}, High: []float64{4}, Dims: []int{1}}},
}

func fixture(t *testing.T, kind int) (*rl.Scope, *net, *Role) {
	t.Helper()
	s := rl.NewScope(algotest.Device(t), 1)
	c := Config{Critics: 2, AgentID: true, Temperature: 1, Logits: logits, Layers: nn.Layers{Hidden: []int{4}, Activation: "relu"}}
	r, err := newRole(s, "role", c, specs, kind)
	if err != nil {
		t.Fatal(err)
	}
	return s, r.Learner.net, r
}

// sample returns steps, of which the last one terminates.
func sample(s *rl.Scope) replay.Sample[Joint] {
	numbers := func(from float32, dims ...int) rl.Tensor {
		n := 1
		for _, d := range dims {
			n *= d
		}
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(math.Sin(float64(from) + float64(i)))
		}
		return rl.FromFlat(s, x, dims...)
	}
	see := func(from float32) []rl.Obs {
		return []rl.Obs{{X: rl.One(numbers(from, rows, pair, 1))}, {X: rl.One(numbers(from+1, rows, 2))}}
	}
	return replay.Sample[Joint]{
		Data: Joint{
			Obs: see(0), Next: see(2),
			Action:     []rl.Tree{rl.One(rl.FromFlat(s, []int32{0, 1, 1, 1, 1, 0}, rows, pair)), rl.One(rl.FromFlat(s, []float32{0, 1, 4}, rows, 1))},
			Reward:     []rl.Tensor{numbers(5, rows, pair), numbers(6, rows)},
			Terminated: []rl.Tensor{rl.FromFlat(s, []bool{false, false, false, false, true, true}, rows, pair), rl.FromFlat(s, []bool{false, false, true}, rows)},
		},
		Discount: rl.FromFlat(s, []float32{.9, .81, .9}, rows),
	}
}

// value returns what a critic makes of a row, in plain Go.
func value(p *rl.Params, critic int, x []float64) float64 {
	w := map[string][]float64{}
	for i, path := range p.Paths() {
		w[path] = rl.Floats(p.Tensors()[i])
	}
	at := fmt.Sprintf("q%d/", critic+1)
	hidden, out := w[at+"hidden_0/biases"], w[at+"out/biases"][0]
	for j := range hidden {
		sum := hidden[j]
		for i, v := range x {
			sum += v * w[at+"hidden_0/weights"][i*len(hidden)+j]
		}
		out += max(sum, 0) * w[at+"out/weights"][j]
	}
	return out
}

// row returns what the critics of an agent see in a row: observations of all, then actions of all
// as numbers, then the agent's number, if its kind has several.
func row(r int, obs []rl.Obs, actions [][]float64, kind, agent int) []float64 {
	x := append([]float64(nil), rl.Floats(obs[0].X.At(0))[r*pair:(r+1)*pair]...)
	x = append(x, rl.Floats(obs[1].X.At(0))[r*2:(r+1)*2]...)
	x = append(x, actions[0][r*pair*2:(r+1)*pair*2]...)
	x = append(x, actions[1][r])
	if kind == 0 {
		id := []float64{0, 0}
		id[agent] = 1
		x = append(x, id...)
	}
	return x
}

// drawing draws what a kind does by its outputs, as a loss with the same key draws it.
func (n *net) drawing(kind int) func(c *rl.Ctx, in drawn) rl.Tensor {
	return func(c *rl.Ctx, in drawn) rl.Tensor { return rl.Wrap(n.Drawn(c, kind, in.X.Node(), in.Obs)) }
}

type drawn struct {
	X   rl.Tensor
	Obs rl.Obs
}

// TestJudge compares the critics' loss with that worked out in plain Go: the joint critic of all
// agents' observations and actions, the lower one of two targets, nothing beyond a termination.
func TestJudge(t *testing.T) {
	for kind, agents := range []int{pair, 1} {
		t.Run(specs[kind].Kind, func(t *testing.T) {
			s, n, role := fixture(t, kind)
			d := sample(s)
			n.slowCritics.Blend(n.critics, .3) // targets of other weights
			next := []rl.Tensor{rl.FromFlat(s, []float32{1, -1, .5, .2, -2, 2, 0, 1, 3, -3, .1, .4}, rows, pair, 2), rl.FromFlat(s, []float32{-.5, .5, .25}, rows, 1)}
			key := rl.NewKey(9)
			_, m := role.Learner.judge.Grad(key, Judging{d, next})
			later := make([][]float64, len(next))
			for i := range next {
				later[i] = rl.Floats(rl.NewFunc(s, fmt.Sprint("drawn ", i), n.drawing(i)).Call(key, drawn{next[i], d.Data.Next[i]}))
			}
			did := [][]float64{{1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0}, {-1, -.5, 1}}
			for r := range rows {
				for a := range agents {
					at := r*agents + a
					goal := rl.Floats(d.Data.Reward[kind])[at]
					if !rl.Read[bool](d.Data.Terminated[kind])[at] {
						x := row(r, d.Data.Next, later, kind, a)
						goal += rl.Floats(d.Discount)[r] * min(value(n.slowCritics, 0, x), value(n.slowCritics, 1, x))
					}
					x := row(r, d.Data.Obs, did, kind, a)
					q1, q2 := value(n.critics, 0, x), value(n.critics, 1, x)
					algotest.Near(t, fmt.Sprint("value ", at), rl.Floats(m.Q)[at], q1, 1e-5)
					algotest.Near(t, fmt.Sprint("loss ", at), rl.Floats(m.Loss)[at], (q1-goal)*(q1-goal)+(q2-goal)*(q2-goal), 1e-4)
				}
			}
		})
	}
}

// TestImprove compares the policy's loss with that worked out in plain Go: each agent does what its
// policy draws, beside what all others did, as the first critic sees it.
func TestImprove(t *testing.T) {
	s, n, role := fixture(t, 0)
	d := sample(s).Data
	key := rl.NewKey(9)
	_, loss := role.Learner.improve.Grad(key, d)
	outputs := rl.NewFunc(s, "outputs", func(c *rl.Ctx, obs rl.Obs) rl.Tensor { return rl.Wrap(n.Policy(c, c.Scope(n.policy), obs)) }).Call(rl.Key{}, d.Obs[0])
	mine := rl.Floats(rl.NewFunc(s, "mine", n.drawing(0)).Call(key, drawn{outputs, d.Obs[0]}))
	for r := range rows {
		for a := range pair {
			did := [][]float64{{1, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0}, {-1, -.5, 1}}
			at := (r*pair + a) * 2
			copy(did[0][at:at+2], mine[at:at+2])
			x := rl.Floats(outputs)[at : at+2]
			want := logits*(x[0]*x[0]+x[1]*x[1])/2 - value(n.critics, 0, row(r, d.Obs, did, 0, a))
			algotest.Near(t, fmt.Sprint("loss ", r, a), rl.Floats(loss)[r*pair+a], want, 1e-5)
		}
	}
}
