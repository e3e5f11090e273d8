package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Torso turns observations of a space into features: pictures by the CNN for their
// size, everything else by hidden layers on Features.
type Torso struct {
	Space  rl.Space
	Hidden []int
	Act    Activation // none means tanh
	Noise  Noise      // noise of dense layers
}

// Apply returns the features of observations x.
func (t Torso) Apply(c *rl.Ctx, sc *model.Scope, x rl.Tree) *Node {
	if rl.IsImage(t.Space) {
		dims := t.Space.Shape().Dimensions
		cnn := CNNFor(dims[0], dims[1])
		cnn.Noise = t.Noise
		return cnn.Apply(c, sc, x.Leaf("").Node())
	}
	return MLP{Hidden: t.Hidden, Act: t.Act, Noise: t.Noise}.Apply(c, sc, Features(t.Space, x))
}

// ActorCritic is a policy over a space of actions and a value function, with
// networks of their own or, if they are Shared, one but for the last layers. With a
// Cell they share one that remembers.
type ActorCritic struct {
	Torso
	Head   Head
	Shared bool
	Cell   Cell // nil for a network without memory
}

// NewActorCritic returns a policy over a space of actions and a value function, with networks as
// settings have them for a space of observations.
func NewActorCritic(l Layers, s Sharing, obs, actions rl.Space) (ActorCritic, error) {
	t, err := l.Torso(obs)
	return ActorCritic{Torso: t, Head: NewHead(actions), Shared: s.Shares(obs)}, err
}

// Init makes the parameters, by applying the network to an observation of zeros.
func (a ActorCritic) Init(c *rl.Ctx, sc *model.Scope) {
	var memory rl.Tensor
	if a.Cell != nil {
		memory = rl.Wrap(Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, a.Cell.StateSize())))
	}
	pi, _, _ := a.Recall(c, sc, rl.Obs{X: Blank(c, a.Space)}, memory)
	pi.Mode()
}

// Apply returns the policy and the value, [rows...], for observations.
func (a ActorCritic) Apply(c *rl.Ctx, sc *model.Scope, obs rl.Obs) (Dist, *Node) {
	pi, v, _ := a.Recall(c, sc, obs, rl.Tensor{})
	return pi, v
}

// Recall does what Apply does, for a network with a Cell: it takes memory and returns the next, nil
// where there is none. Of observations [env, time, ...] memory is that of the first.
func (a ActorCritic) Recall(c *rl.Ctx, sc *model.Scope, obs rl.Obs, memory rl.Tensor) (pi Dist, value, next *Node) {
	p, next := a.trunk(c, sc, "policy", obs, memory)
	v := p
	if !a.Shared && a.Cell == nil {
		v, _ = a.trunk(c, sc, "value", obs, memory)
	}
	return a.policy(c, sc, p, obs), a.worth(c, sc, v), next
}

// Policy returns Apply's first result alone, and makes no parameters of the value function.
func (a ActorCritic) Policy(c *rl.Ctx, sc *model.Scope, obs rl.Obs) Dist {
	x, _ := a.trunk(c, sc, "policy", obs, rl.Tensor{})
	return a.policy(c, sc, x, obs)
}

// Value returns Apply's second result alone: what bootstraps need.
func (a ActorCritic) Value(c *rl.Ctx, sc *model.Scope, obs rl.Obs) *Node {
	return a.Recalled(c, sc, obs, rl.Tensor{})
}

// Recalled returns Recall's second result alone.
func (a ActorCritic) Recalled(c *rl.Ctx, sc *model.Scope, obs rl.Obs, memory rl.Tensor) *Node {
	v, _ := a.trunk(c, sc, "value", obs, memory)
	return a.worth(c, sc, v)
}

// policy applies the last layer of the policy.
func (a ActorCritic) policy(c *rl.Ctx, sc *model.Scope, x *Node, obs rl.Obs) Dist {
	out := Dense(c, sc.At("policy").At("out"), x, a.Head.Units(), .01)
	return a.Head.Dist(c, sc.At("policy"), out, obs.Legal)
}

// worth applies the last layer of the value function.
func (a ActorCritic) worth(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	return Squeeze(Dense(c, sc.At("value").At("out"), x, 1, 1), -1)
}

// trunk returns what the last layer of the policy or of the value sees, and the next
// memory.
func (a ActorCritic) trunk(c *rl.Ctx, sc *model.Scope, of string, obs rl.Obs, memory rl.Tensor) (x, next *Node) {
	if a.Cell == nil && !a.Shared {
		return a.Torso.Apply(c, sc.At("%s", of), obs.X), nil
	}
	x = a.Torso.Apply(c, sc.At("torso"), obs.X)
	if a.Cell == nil {
		return x, nil
	}
	start := memory.Node()
	if start.Rank() == 3 { // of a sequence
		start = Squeeze(SliceAxis(start, 1, AxisElem(0)), 1)
	}
	var first *Node
	if obs.First.Ok() {
		first = obs.First.Node()
	}
	return Unroll(c, sc.At("memory"), a.Cell, x, start, first)
}

// Width returns how many features Features makes of an observation.
func Width(space rl.Space) (n int) {
	for _, l := range space.Leaves() {
		switch s := l.Space.(type) {
		case rl.Discrete, rl.MultiDiscrete:
			n += rl.Choices(s) // one-hot
		default:
			n += max(1, s.Shape().Size())
		}
	}
	return n
}

// Blank returns one observation of a space, all zero: to make a network's parameters
// by applying it.
func Blank(c *rl.Ctx, space rl.Space) rl.Tree {
	var names []string
	var leaves []rl.Tensor
	for _, l := range space.Leaves() {
		one := l.Space.Shape()
		zero := Zeros(c.Graph(), shapes.Make(one.DType, append([]int{1}, one.Dimensions...)...))
		names, leaves = append(names, l.Name), append(leaves, rl.Wrap(zero))
	}
	return rl.NewTree(names, leaves)
}
