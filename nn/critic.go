package nn

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Critics are value functions of a state and an action, each with a network of its own: the
// smallest of several is less apt to overrate than one. Where actions are a single choice they give
// the values of all of them at once.
type Critics struct {
	Torso  Torso // torso of observations, or of features of both
	Action rl.Space
	N      int
}

// NewCritics returns n critics with the given layers.
func NewCritics(l Layers, obs, action rl.Space, n int) (Critics, error) {
	torso, err := l.Torso(obs)
	if _, all := action.(rl.Discrete); err == nil && !all && rl.IsImage(obs) {
		err = fmt.Errorf("critics of %s see no pictures: flatten them, or take an algorithm with values of states", action)
	}
	return Critics{Torso: torso, Action: action, N: n}, err
}

// Init makes the parameters: what rl.NewParams asks for.
func (q Critics) Init(c *rl.Ctx, sc *model.Scope) {
	q.Apply(c, sc, rl.Obs{X: Blank(c, q.Torso.Space)}, Blank(c, q.Action))
}

// Apply returns the values of actions, [rows...] of each critic.
func (q Critics) Apply(c *rl.Ctx, sc *model.Scope, obs rl.Obs, action rl.Tree) []*Node {
	if choice, all := q.Action.(rl.Discrete); all {
		out := q.All(c, sc, obs)
		a := SubScalar(action.Leaf("").Node(), choice.Start)
		for i, x := range out {
			out[i] = ReduceSum(Mul(x, OneHot(a, choice.N, x.DType())), -1)
		}
		return out
	}
	return q.ApplyScaled(c, sc, obs, Scaled(q.Action, action))
}

// ApplyScaled returns the values of actions that are no single choice, as Scaled returns them.
func (q Critics) ApplyScaled(c *rl.Ctx, sc *model.Scope, obs rl.Obs, action *Node) []*Node {
	in := Concatenate([]*Node{Features(q.Torso.Space, obs.X), action}, -1)
	return q.each(sc, func(sc *model.Scope) *Node {
		x := MLP{Hidden: q.Torso.Hidden, Act: q.Torso.Act}.Apply(c, sc, in)
		return Squeeze(Dense(c, sc.At("out"), x, 1, 1), -1)
	})
}

// All returns the values of all choices, [rows..., choices] of each critic.
func (q Critics) All(c *rl.Ctx, sc *model.Scope, obs rl.Obs) []*Node {
	choice, ok := q.Action.(rl.Discrete)
	if !ok {
		rl.Failf("actions in %s cannot be listed", q.Action)
	}
	return q.each(sc, func(sc *model.Scope) *Node {
		return Dense(c, sc.At("out"), q.Torso.Apply(c, sc, obs.X), choice.N, 1)
	})
}

func (q Critics) each(sc *model.Scope, value func(*model.Scope) *Node) []*Node {
	out := make([]*Node, q.N)
	for i := range out {
		out[i] = value(sc.At("q%d", i+1))
	}
	return out
}

// Least returns the smallest of critics' values, element by element.
func Least(values []*Node) *Node {
	out := values[0]
	for _, x := range values[1:] {
		out = Min(out, x)
	}
	return out
}

// First returns the first of the critics alone.
func (q Critics) First() Critics {
	q.N = 1
	return q
}

// Goal returns what a critic is to predict: the rewards of a row, and what the state they led to is
// worth unless the task ended there. Gradients stop at it.
func Goal(reward, discount, terminated rl.Tensor, next *Node) *Node {
	open := OneMinus(ConvertDType(terminated.Node(), dtypes.Float32))
	return StopGradient(Add(reward.Node(), Mul(Mul(discount.Node(), open), next)))
}

// SquaredErrors returns the squared differences of critics' values from a goal, summed by row.
func SquaredErrors(values []*Node, goal *Node) *Node {
	total := Square(Sub(values[0], goal))
	for _, x := range values[1:] {
		total = Add(total, Square(Sub(x, goal)))
	}
	return total
}

// Scaled returns actions as float32 numbers [..., features]: those of boxes from -1 to 1 between
// their bounds, whole numbers one-hot.
func Scaled(space rl.Space, action rl.Tree) *Node {
	leaves := space.Leaves()
	parts := make([]*Node, len(leaves))
	for i, l := range leaves {
		x := features(l.Space, action.Leaf(l.Name).Node())
		if box, ok := l.Space.(rl.Box); ok {
			middle, half := halves(x, box)
			x = Div(Sub(x, middle), half)
		}
		parts[i] = x
	}
	if len(parts) == 1 {
		return parts[0]
	}
	return Concatenate(parts, -1)
}

// Continuous reports whether actions in space are numbers between bounds alone, which Unscaled
// makes.
func Continuous(space rl.Space) bool {
	for _, l := range space.Leaves() {
		if _, ok := l.Space.(rl.Box); !ok {
			return false
		}
	}
	return true
}

// Unscaled undoes Scaled where actions are boxes: numbers from -1 to 1, [..., features], become
// actions between their bounds.
func Unscaled(space rl.Space, x *Node) rl.Tree {
	leaves := space.Leaves()
	names, parts := make([]string, len(leaves)), make([]rl.Tensor, len(leaves))
	at := 0
	for i, l := range leaves {
		box, ok := l.Space.(rl.Box)
		if !ok {
			rl.Failf("actions in %s are not numbers between bounds", l.Space)
		}
		n := size(box.Dims)
		names[i], parts[i] = l.Name, rl.Wrap(between(SliceAxis(x, -1, AxisRange(at, at+n)), box))
		at += n
	}
	return rl.NewTree(names, parts)
}
