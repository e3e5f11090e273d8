package nn

import (
	"fmt"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Values is a network that predicts what every choice returns: the mean, or the distribution. A
// Dueling one predicts what the state returns and the choices' advantages, which have mean 0 (Wang
// et al., 2016). A Torso with Noise makes all its dense layers noisy.
type Values struct {
	Torso
	Distributional
	Action  rl.Discrete
	Dueling bool
}

// NewValues returns a network with the given layers for choices of a space.
func NewValues(l Layers, d Distributional, obs, action rl.Space) (Values, error) {
	choice, ok := action.(rl.Discrete)
	if !ok {
		return Values{}, fmt.Errorf("values are of single discrete actions, not of %s", action)
	}
	torso, err := l.Torso(obs)
	return Values{Torso: torso, Distributional: d, Action: choice}, err
}

// Init makes the parameters: what rl.NewParams asks for.
func (v Values) Init(c *rl.Ctx, sc *model.Scope) {
	v.Apply(c, sc, rl.Obs{X: Blank(c, v.Space)}, "init")
}

// Apply returns predictions for observations, [rows..., choices]; of a distribution
// [rows..., choices, Numbers]. noise names the draws of noisy layers; "" is without noise.
func (v Values) Apply(c *rl.Ctx, sc *model.Scope, obs rl.Obs, noise string) *Node {
	v.Noise.Use = noise
	return v.Choices(c, sc, v.Torso.Apply(c, sc.At("torso"), obs.X))
}

// Choices returns predictions from features x, the last layers of Apply.
func (v Values) Choices(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	z, over := v.head(c, sc.At("out"), x, v.Action.N)
	if !v.Dueling {
		return z
	}
	state, _ := v.head(c, sc.At("value"), x, 1)
	return Add(state, Sub(z, ReduceAndKeep(z, ReduceMean, over)))
}

// head returns predictions of n choices from features, and the axis of choices.
func (v Values) head(c *rl.Ctx, sc *model.Scope, x *Node, n int) (z *Node, over int) {
	k := v.Numbers()
	z = v.Noise.Dense(c, sc, x, n*k, 1)
	if v.Distribution == "none" {
		return z, -1
	}
	return Reshape(z, append(leadDims(z), n, k)...), -2
}

// Of returns the predictions of one choice a row.
func (v Values) Of(z *Node, action rl.Tree) *Node {
	a := SubScalar(action.Leaf("").Node(), v.Action.Start)
	hot := OneHot(a, v.Action.N, z.DType())
	if v.Distribution == "none" {
		return ReduceSum(Mul(z, hot), -1)
	}
	return ReduceSum(Mul(z, ExpandAxes(hot, -1)), -2)
}

// Best returns the legal choices whose predicted means are greatest, the first of equals.
func (v Values) Best(z *Node, obs rl.Obs) rl.Tree { return v.among(v.Mean(z), obs).Mode() }

// Any draws choices that are equally likely among the legal ones, as many rows as there are of
// predictions.
//
//weft:draws
func (v Values) Any(c *rl.Ctx, use string, z *Node, obs rl.Obs) rl.Tree {
	return v.among(ZerosLike(v.Mean(z)), obs).Sample(c, use)
}

// among returns the distribution over the legal choices by scores.
func (v Values) among(scores *Node, obs rl.Obs) *Discrete {
	return Categorical(scores, mask(obs.Legal, "")).From(v.Action.Start)
}
