package nn

import (
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Torso turns observations of a space into features: pictures by the CNN of the
// Nature paper, everything else by hidden layers on Features.
type Torso struct {
	Space  rl.Space
	Hidden []int
	Act    Activation // none means tanh
}

// Apply is the features of observations x.
func (t Torso) Apply(c *rl.Ctx, sc *model.Scope, x rl.Tree) *Node {
	if box, ok := t.Space.(rl.Box); ok && len(box.Dims) == 3 {
		return NatureCNN.Apply(c, sc, x.Leaf("").Node())
	}
	return MLP{Hidden: t.Hidden, Act: t.Act}.Apply(c, sc, Features(t.Space, x))
}

// ActorCritic is a policy over a space of actions and a value function, with
// networks of their own or, if they are Shared, one but for the last layers.
type ActorCritic struct {
	Torso
	Head   Head
	Shared bool
}

// Apply is the policy and the value, [rows...], for observations.
func (a ActorCritic) Apply(c *rl.Ctx, sc *model.Scope, obs rl.Obs) (Dist, *Node) {
	of := func(name string) *Node { return a.Torso.Apply(c, sc.At("%s", name), obs.X) }
	var p, v *Node
	if a.Shared {
		p = of("torso")
		v = p
	} else {
		p, v = of("policy"), of("value")
	}
	out := Dense(c, sc.At("policy").At("out"), p, a.Head.Units(), .01)
	value := Dense(c, sc.At("value").At("out"), v, 1, 1)
	return a.Head.Dist(c, sc.At("policy"), out, obs.Legal), Squeeze(value, -1)
}

// Value is Apply's second result alone: what bootstraps need.
func (a ActorCritic) Value(c *rl.Ctx, sc *model.Scope, obs rl.Obs) *Node {
	name := "value"
	if a.Shared {
		name = "torso"
	}
	x := a.Torso.Apply(c, sc.At("%s", name), obs.X)
	return Squeeze(Dense(c, sc.At("value").At("out"), x, 1, 1), -1)
}

// Blank is one observation of a space, all zero: to make a network's parameters
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
