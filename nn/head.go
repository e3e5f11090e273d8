package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Head makes distributions over a space of actions from the outputs of a
// network: logits for whole numbers, means for boxes.
type Head struct {
	leaves []rl.SpaceLeaf
	form   form
	mix    float64 // part of equal probabilities in single choices
}

// form is the kind of distribution that boxes get.
type form uint8

const (
	free form = iota
	bounded
	squash
	spread
)

// NewHead returns the head of a policy over any space. Boxes get a Gaussian whose
// deviations do not depend on the state: the logarithms are a parameter that
// starts at 0. It is unbounded: Clip what goes to the environment.
func NewHead(space rl.Space) Head { return newHead(space, free) }

// NewSquashedHead does what NewHead does with boxes squashed into their bounds, and
// deviations that are outputs of the network as well: for boxes it takes the
// means, then the logarithms of deviations, which are kept between -5 and 2.
func NewSquashedHead(space rl.Space) Head { return newHead(space, squash) }

// NewBoundedHead does what NewHead does with means that are squashed by tanh into the bounds of
// boxes. The Gaussian around them is not squashed: Clip what goes to the environment. Deviations
// start at half the distance between the bounds. For log-probabilities an action on a bound, which
// no mean reaches, counts as one just inside.
func NewBoundedHead(space rl.Space) Head { return newHead(space, bounded) }

// NewSpreadHead returns the head of a policy that is learnt from samples alone: boxes get a
// Gaussian with means squashed by tanh into their bounds, and deviations that are outputs of the
// network as well, from .1 to 1 of half the distance between the bounds. Samples are not squashed:
// Clip what goes to the environment. Single choices get a part mix of equal probabilities.
func NewSpreadHead(space rl.Space, mix float64) Head {
	h := newHead(space, spread)
	h.mix = mix
	return h
}

func newHead(space rl.Space, f form) Head {
	h := Head{leaves: space.Leaves(), form: f}
	if len(h.leaves) == 0 {
		rl.Failf("there are no actions in %s", space)
	}
	for _, l := range h.leaves {
		if h.units(l.Space) < 1 {
			rl.Failf("no policy can act in %s: spaces of actions are not empty, and boxes hold floats", l.Space)
		}
	}
	return h
}

// Units returns the number of outputs that the network needs.
func (h Head) Units() int {
	n := 0
	for _, l := range h.leaves {
		n += h.units(l.Space)
	}
	return n
}

// units returns 0 for a space that no distribution covers.
func (h Head) units(space rl.Space) int {
	switch s := space.(type) {
	case rl.Discrete, rl.MultiDiscrete:
		return rl.Choices(s)
	case rl.MultiBinary:
		return s.N
	case rl.Box:
		if t := s.Shape().DType; t != dtypes.Float32 && t != dtypes.Float64 {
			return 0
		}
		if h.form == squash || h.form == spread {
			return 2 * size(s.Dims)
		}
		return size(s.Dims)
	}
	return 0
}

// Dist returns the distributions of actions for outputs [rows..., Units]. Parameters
// of the head's own are in sc. legal has masks by leaf of the action, all or some
// or none.
func (h Head) Dist(c *rl.Ctx, sc *model.Scope, outputs *Node, legal rl.Tree) Dist {
	if lastDim(outputs) != h.Units() {
		rl.Failf("the network has %d outputs, the actions need %d", lastDim(outputs), h.Units())
	}
	names, parts := make([]string, len(h.leaves)), make([]Dist, len(h.leaves))
	at := 0
	for i, l := range h.leaves {
		n := h.units(l.Space)
		names[i] = l.Name
		parts[i] = h.leaf(c, sc, l, SliceAxis(outputs, -1, AxisRange(at, at+n)), mask(legal, l.Name))
		at += n
	}
	if len(parts) == 1 && names[0] == "" {
		return parts[0]
	}
	return Joint(names, parts)
}

func mask(legal rl.Tree, leaf string) rl.Tensor {
	if legal.Has(leaf) {
		return legal.Leaf(leaf)
	}
	return rl.Tensor{}
}

func (h Head) leaf(c *rl.Ctx, sc *model.Scope, l rl.SpaceLeaf, x *Node, legal rl.Tensor) Dist {
	switch s := l.Space.(type) {
	case rl.Discrete:
		if h.mix > 0 {
			x = Mixed(x, h.mix)
		}
		return Categorical(x, legal).From(s.Start)
	case rl.MultiDiscrete:
		return MultiDiscrete(x, s.N, legal)
	case rl.MultiBinary:
		return MultiBinary(x, legal)
	}
	box := l.Space.(rl.Box)
	if h.form == squash {
		y := Split(x, -1, 2)
		return Squashed(y[0], ClipScalar(y[1], -5, 2), box)
	}
	if h.form == spread {
		return newSpread(x, box)
	}
	if l.Name != "" {
		sc = sc.At("%s", l.Name)
	}
	logStd := Param(c, sc, "log_std", Fill(0), size(box.Dims))
	if h.form == bounded {
		return newBounded(x, logStd, box)
	}
	d := newGaussian(x, logStd)
	d.dims, d.dtype = box.Dims, box.Shape().DType
	return d
}

// Uniform draws an action for each of n rows that is equally likely anywhere within the bounds, or
// among what is legal.
//
//weft:draws
func (h Head) Uniform(c *rl.Ctx, use string, n int, legal rl.Tree) rl.Tree {
	names, leaves := make([]string, len(h.leaves)), make([]rl.Tensor, len(h.leaves))
	for i, l := range h.leaves {
		names[i] = l.Name
		if box, ok := l.Space.(rl.Box); ok {
			u := c.Uniform(use+"."+l.Name, n, size(box.Dims))
			leaves[i] = rl.Wrap(between(AddScalar(MulScalar(u, 2), -1), box))
			continue
		}
		zero := Zeros(c.Graph(), shapes.Make(dtypes.Float32, n, h.units(l.Space)))
		leaves[i] = h.leaf(c, nil, l, zero, mask(legal, l.Name)).Sample(c, use+"."+l.Name).Leaf("")
	}
	return rl.NewTree(names, leaves)
}

// Clip moves numbers of boxes into their bounds, for the environment to take.
// Log-probabilities are those of the actions as sampled.
func (h Head) Clip(action rl.Tree) rl.Tree {
	names, leaves := make([]string, len(h.leaves)), make([]rl.Tensor, len(h.leaves))
	for i, l := range h.leaves {
		names[i], leaves[i] = l.Name, action.Leaf(l.Name)
		if box, ok := l.Space.(rl.Box); ok {
			leaves[i] = rl.Wrap(clipBox(leaves[i].Node(), box))
		}
	}
	return rl.NewTree(names, leaves)
}

func clipBox(x *Node, box rl.Box) *Node {
	n := size(box.Dims)
	lo, hi := make([]float64, n), make([]float64, n)
	for i := range lo {
		lo[i], hi[i] = box.Bounds(i)
	}
	bound := func(v []float64) *Node {
		b := ConvertDType(Const(x.Graph(), v), x.DType())
		return ExpandLeftToRank(Reshape(b, box.Dims...), x.Rank())
	}
	return Min(Max(x, bound(lo)), bound(hi))
}
