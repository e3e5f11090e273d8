package ppo

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Net is the policy and the value function.
type Net struct {
	Config
	scope  *rl.Scope
	spec   env.Spec
	params *rl.Params
	norm   *rl.Stats // nil without normalisation
	head   nn.Head
	act    nn.Activation
	cell   nn.Cell // nil without recurrence
}

func newNet(s *rl.Scope, c Config, spec env.Spec) (*Net, error) {
	act, err := nn.ActivationNamed(c.Activation)
	if err != nil {
		return nil, err
	}
	n := &Net{Config: c, scope: s, spec: spec, head: nn.NewHead(spec.Action), act: act}
	if c.Memory > 0 {
		n.cell = nn.GRU{Units: c.Memory}
	}
	if c.NormalizeObs {
		n.norm = rl.NewStats(s, "observations", c.ClipObs, n.width())
	}
	n.params = rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		in := ActIn{Obs: rl.Obs{X: nn.Blank(c, spec.Obs)}}
		if n.cell != nil {
			in.Memory = rl.Wrap(Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, n.cell.StateSize())))
		}
		pi, _, _ := n.forward(c, sc, in)
		pi.Mode()
	})
	return n, nil
}

// width is the number of features of an observation.
func (n *Net) width() int {
	w := 0
	for _, l := range n.spec.Obs.Leaves() {
		if k := rl.Choices(l.Space); k > 0 {
			w += k
		} else {
			w += max(1, l.Space.Shape().Size())
		}
	}
	return w
}

// image reports whether observations are pictures.
func (n *Net) image() bool {
	box, ok := n.spec.Obs.(rl.Box)
	return ok && len(box.Dims) == 3
}

// forward is the policy, the value and the next memory.
func (n *Net) forward(c *rl.Ctx, sc *model.Scope, in ActIn) (pi nn.Dist, value, memory *Node) {
	p, v, memory := n.trunk(c, sc, in)
	out := nn.Dense(c, sc.At("policy").At("out"), p, n.head.Units(), .01)
	return n.head.Dist(c, sc.At("policy"), out, in.Obs.Legal), n.value(c, sc, v), memory
}

// value is the last layer of the value function.
func (n *Net) value(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	return Squeeze(nn.Dense(c, sc.At("value").At("out"), x, 1, 1), -1)
}

// trunk is what the last layers of policy and value see. Both have networks of
// their own, unless they are to share all but their last layer; recurrent ones
// always do.
func (n *Net) trunk(c *rl.Ctx, sc *model.Scope, in ActIn) (p, v, memory *Node) {
	switch {
	case n.cell != nil:
		var first *Node
		if in.Obs.First.Ok() {
			first = in.Obs.First.Node()
		}
		p, memory = nn.Unroll(c, sc.At("memory"), n.cell, n.torso(c, sc.At("torso"), in.Obs), n.start(in), first)
		return p, p, memory
	case n.Shared:
		p = n.torso(c, sc.At("torso"), in.Obs)
		return p, p, nil
	}
	return n.torso(c, sc.At("policy"), in.Obs), n.torso(c, sc.At("value"), in.Obs), nil
}

// start is the memory at the beginning of what is unrolled: of a sequence
// [env, time, ...], that of its first step.
func (n *Net) start(in ActIn) *Node {
	m := in.Memory.Node()
	if m.Rank() == 3 {
		m = Squeeze(SliceAxis(m, 1, AxisElem(0)), 1)
	}
	return m
}

// torso turns observations into features.
func (n *Net) torso(c *rl.Ctx, sc *model.Scope, obs rl.Obs) *Node {
	if n.image() {
		return nn.NatureCNN.Apply(c, sc, obs.X.Leaf("").Node())
	}
	x := nn.Features(n.spec.Obs, obs.X)
	if n.norm != nil {
		x = n.norm.Norm(c, x)
	}
	return nn.MLP{Hidden: n.Hidden, Act: n.act}.Apply(c, sc, x)
}

func (n *Net) actGraph(c *rl.Ctx, in ActIn) ActOut {
	pi, memory := n.policy(c, in)
	return n.out(pi.Sample(c, "action"), pi, memory)
}

func (n *Net) greedyGraph(c *rl.Ctx, in ActIn) ActOut {
	pi, memory := n.policy(c, in)
	return n.out(pi.Mode(), pi, memory)
}

// policy is forward where no value is asked for.
func (n *Net) policy(c *rl.Ctx, in ActIn) (pi nn.Dist, memory *Node) {
	pi, _, memory = n.forward(c, c.Scope(n.params), in)
	return pi, memory
}

func (n *Net) out(raw rl.Tree, pi nn.Dist, memory *Node) ActOut {
	out := ActOut{Action: n.head.Clip(raw), Raw: raw, LogProb: rl.Wrap(pi.LogProb(raw))}
	if memory != nil {
		out.Memory = rl.Wrap(memory)
	}
	return out
}

func (n *Net) valueGraph(c *rl.Ctx, in ActIn) rl.Tensor {
	sc := c.Scope(n.params)
	_, v, _ := n.trunk(c, sc, in)
	return rl.Wrap(n.value(c, sc, v))
}

// lossGraph is the clipped surrogate, the clipped value loss and the entropy
// bonus, by row.
func (n *Net) lossGraph(c *rl.Ctx, s Sample) (loss, weight rl.Tensor, m Metrics) {
	pi, v, _ := n.forward(c, c.Scope(n.params), s.In)
	adv, ret, old := s.Adv.Node(), s.Ret.Node(), s.Value.Node()

	logRatio := Sub(pi.LogProb(s.Action), s.LogProb.Node())
	ratio := Exp(logRatio)
	clipped := ClipScalar(ratio, 1-n.Clip, 1+n.Clip)
	policy := Neg(Min(Mul(ratio, adv), Mul(clipped, adv)))

	value := Square(Sub(v, ret))
	if n.ClipValue {
		near := Add(old, ClipScalar(Sub(v, old), -n.Clip, n.Clip))
		value = Max(value, Square(Sub(near, ret)))
	}
	value = MulScalar(value, .5)
	entropy := pi.Entropy()

	total := Sub(Add(policy, MulScalar(value, n.ValueCoef)), MulScalar(entropy, n.EntropyCoef))
	outside := ConvertDType(GreaterThan(Abs(MinusOne(ratio)), ConstAs(ratio, n.Clip)), dtypes.Float32)
	return rl.Wrap(total), rl.Tensor{}, Metrics{
		Policy: rl.Wrap(policy), Value: rl.Wrap(value), Entropy: rl.Wrap(entropy),
		KL:      rl.Wrap(Sub(MinusOne(ratio), logRatio)), // Schulman's low-variance estimate
		Clipped: rl.Wrap(outside),
	}
}
