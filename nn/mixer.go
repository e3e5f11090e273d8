package nn

import (
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Mixer joins the values of several agents' actions into the value of what they do together (QMIX,
// Rashid et al., 2018). It is a network with one hidden layer whose weights and biases are computed
// from the state by other networks, the hypernetworks. All weights on the way from an agent's value
// to the joint one are absolute, so that the joint value never falls where an agent's rises: the
// action that each agent values most is part of the joint action that is valued most.
type Mixer struct {
	Units int // units of the hidden layer
	Hyper int // hidden units of the hypernetworks that compute weights; 0 is none
}

// Mixing says how agents' values are joined, as settings for an algorithm to embed.
type Mixing struct {
	Mixer string `default:"qmix" oneof:"qmix vdn none" doc:"joint value of what agents do: a monotonic network of their values that sees the state, their sum, or none, with which each learns for itself"`
	Embed int    `default:"32" unit:"units" range:"[1,)" doc:"hidden units of the mixer qmix"`
	Hyper int    `default:"64" unit:"units" range:"[0,)" doc:"hidden units of the networks that compute its weights; 0 makes them linear"`
}

// Mixes reports whether there is a mixer.
//
//weft:pure
func (m Mixing) Mixes() bool { return m.Mixer != "none" }

// InitMixer makes the parameters, if the mixer has any.
func (m Mixing) InitMixer(c *rl.Ctx, sc *model.Scope, agents, state int) {
	zeros := func(n int) *Node { return Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, n)) }
	if m.Mixer == "qmix" {
		m.Joint(c, sc, zeros(agents), zeros(state))
	}
}

// Joint returns the joint values, [rows..., 1], of agents' values, [rows..., agents], in states,
// [rows..., features]. Without a mixer it returns the agents'.
func (m Mixing) Joint(c *rl.Ctx, sc *model.Scope, values, state *Node) *Node {
	switch m.Mixer {
	case "qmix":
		return ExpandAxes(Mixer{m.Embed, m.Hyper}.Apply(c, sc, values, state), -1)
	case "vdn":
		return ReduceAndKeep(values, ReduceSum, -1)
	}
	return values
}

// Apply returns the joint values, [rows...], of agents' values, [rows..., agents], in states,
// [rows..., features].
func (m Mixer) Apply(c *rl.Ctx, sc *model.Scope, values, state *Node) *Node {
	agents := lastDim(values)
	weights := Reshape(m.weights(c, sc.At("hidden"), state, agents*m.Units, .5), append(leadDims(values), agents, m.Units)...)
	bias := Dense(c, sc.At("hidden_bias"), state, m.Units, 1)
	hidden := elu(Add(ReduceSum(Mul(ExpandAxes(values, -1), weights), -2), bias))
	out := m.weights(c, sc.At("out"), state, m.Units, 1/math.Sqrt(float64(m.Units)))
	offset := MLP{Hidden: []int{m.Units}, Act: activation.TypeRelu, Out: 1}.Apply(c, sc.At("out_bias"), state)
	return Add(ReduceSum(Mul(hidden, out), -1), Squeeze(offset, -1))
}

// weights returns n weights that are not below 0 for each state. With the gains that Apply gives,
// the joint value starts with slopes about 1: positive terms add up, and large slopes make large
// errors.
func (m Mixer) weights(c *rl.Ctx, sc *model.Scope, state *Node, n int, gain float64) *Node {
	hyper := MLP{Act: activation.TypeRelu, Out: n, OutGain: gain}
	if m.Hyper > 0 {
		hyper.Hidden = []int{m.Hyper}
	}
	return Abs(hyper.Apply(c, sc, state))
}

// elu returns x where it is above 0, and exp(x)-1 elsewhere.
func elu(x *Node) *Node {
	zero := ZerosLike(x)
	return Where(GreaterThan(x, zero), x, AddScalar(Exp(Min(x, zero)), -1))
}
