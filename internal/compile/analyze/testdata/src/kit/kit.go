// Package kit has networks and components for the fixtures' loops: an author's
// library beside the vocabulary, read through like the author's own package.
package kit

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Net is a policy and a value function with parameters of its own.
type Net struct {
	Params *rl.Params
	spec   env.Spec
	head   nn.Head
}

// New makes a network.
func New(s *rl.Scope, name string, spec env.Spec) *Net {
	n := &Net{spec: spec, head: nn.NewHead(spec.Action)}
	n.Params = rl.NewParams(s, name, func(c *rl.Ctx, sc *model.Scope) {
		var names []string
		var leaves []rl.Tensor
		for _, l := range spec.Obs.Leaves() {
			one := l.Space.Shape()
			zero := Zeros(c.Graph(), shapes.Make(one.DType, append([]int{1}, one.Dimensions...)...))
			names, leaves = append(names, l.Name), append(leaves, rl.Wrap(zero))
		}
		pi, _ := n.forward(c, sc, rl.Obs{X: rl.NewTree(names, leaves)})
		pi.Mode()
	})
	return n
}

func (n *Net) forward(c *rl.Ctx, sc *model.Scope, o rl.Obs) (nn.Dist, *Node) {
	x := nn.MLP{Hidden: []int{8}}.Apply(c, sc.At("torso"), nn.Features(n.spec.Obs, o.X))
	out := nn.Dense(c, sc.At("policy"), x, n.head.Units(), .01)
	value := Squeeze(nn.Dense(c, sc.At("value"), x, 1, 1), -1)
	return n.head.Dist(c, sc.At("head"), out, o.Legal), value
}

// Act is a decision.
type Act struct {
	Action         rl.Tree
	LogProb, Value rl.Tensor
}

// Policy samples actions.
func (n *Net) Policy(c *rl.Ctx, o rl.Obs) Act {
	pi, v := n.forward(c, c.Scope(n.Params), o)
	a := pi.Sample(c, "action")
	return Act{n.head.Clip(a), rl.Wrap(pi.LogProb(a)), rl.Wrap(v)}
}

// Value is that of states.
func (n *Net) Value(c *rl.Ctx, o rl.Obs) rl.Tensor {
	_, v := n.forward(c, c.Scope(n.Params), o)
	return rl.Wrap(v)
}

// Sample is what the losses need of a step.
type Sample struct {
	Obs      rl.Obs
	Action   rl.Tree
	Adv, Ret rl.Tensor
}

// PolicyLoss is that of the policy gradient.
func (n *Net) PolicyLoss(c *rl.Ctx, s Sample) (loss, weight, aux rl.Tensor) {
	pi, _ := n.forward(c, c.Scope(n.Params), s.Obs)
	l := Neg(Mul(pi.LogProb(s.Action), s.Adv.Node()))
	return rl.Wrap(l), rl.Tensor{}, rl.Wrap(l)
}

// ValueLoss is the squared error of values.
func (n *Net) ValueLoss(c *rl.Ctx, s Sample) (loss, weight, aux rl.Tensor) {
	_, v := n.forward(c, c.Scope(n.Params), s.Obs)
	l := Square(Sub(v, s.Ret.Node()))
	return rl.Wrap(l), rl.Tensor{}, rl.Wrap(l)
}

// Step is one step of every environment.
type Step struct {
	Obs                      rl.Obs
	Act                      Act
	Reward, Terminated, Over rl.Tensor
}

// Float is a tensor as float32.
func Float(t rl.Tensor) *Node { return ConvertDType(t.Node(), dtypes.Float32) }

// Names are the parts of the network, in no order.
func (n *Net) Names() map[string]int { return map[string]int{"policy": 1, "value": 1} }

// Demo is a sample to learn from without acting.
func Demo(s *rl.Scope, e env.Batch, n *Net) Sample {
	obs := e.Obs()
	act := rl.NewFunc(s, "demo", n.Policy).Call(s.Key("demo"), obs)
	return Sample{Obs: obs, Action: act.Action, Adv: act.Value, Ret: act.Value}
}

// Plus is the sum of tensors.
func Plus(list ...rl.Tensor) rl.Tensor {
	sum := Float(list[0])
	for _, t := range list[1:] {
		sum = Add(sum, Float(t))
	}
	return rl.Wrap(MulScalar(sum, 1.5))
}

// Rank is a positive number for every one of any.
func Rank(_ *rl.Ctx, x rl.Tensor) rl.Tensor { return rl.Wrap(AddScalar(Abs(x.Node()), .1)) }

// Last is the last step of [rows, time].
func Last(x rl.Tensor) rl.Tensor {
	n := x.Node()
	return rl.Wrap(Squeeze(Slice(n, AxisRange(), AxisElem(n.Shape().Dimensions[1]-1)), 1))
}

// Halves returns n numbers that are not zero: the same for all rows, so that it does
// not matter which of them a replica has.
func Halves(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = .5
	}
	return out
}
