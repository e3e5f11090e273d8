package wrap

import (
	"errors"
	"math"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// RescaleAction lets agents act between -1 and 1 where the environment has other
// bounds, which must be finite.
func RescaleAction() Wrapper {
	return Wrapper{text: "rescale-action", rule: func(spec env.Spec) (rule, error) {
		return newActions(spec, rescale{}, func(lo, hi float64) bool { return !math.IsInf(lo, 0) && !math.IsInf(hi, 0) })
	}}
}

// ClipAction lets agents act without bounds: what is outside is moved to the
// nearest bound.
func ClipAction() Wrapper {
	return Wrapper{text: "clip-action", rule: func(spec env.Spec) (rule, error) {
		return newActions(spec, clip{}, func(lo, hi float64) bool { return true })
	}}
}

// actions changes continuous actions.
type actions struct {
	plain
	to     change
	spaces []rl.SpaceLeaf // spaces of the environment
}

// change is how numbers are changed.
type change interface {
	bounds() (lo, hi []float64)
	number(x, lo, hi *graph.Node) *graph.Node
}

// newActions returns a rule for all boxes of an action space, whose bounds must do.
func newActions(spec env.Spec, to change, do func(lo, hi float64) bool) (rule, error) {
	r := actions{to: to, spaces: spec.Action.Leaves()}
	boxes := 0
	for _, l := range r.spaces {
		b, ok := l.Space.(rl.Box)
		if !ok {
			continue
		}
		boxes++
		for i := range b.Shape().Size() {
			if lo, hi := b.Bounds(i); !do(lo, hi) {
				return nil, errors.New("the action space has an infinite bound")
			}
		}
	}
	if boxes == 0 {
		return nil, errors.New("the action space has no continuous actions")
	}
	return r, nil
}

func (r actions) spec(s env.Spec) env.Spec {
	s.Action = mapLeaves(s.Action, func(x rl.Space) rl.Space {
		if b, ok := x.(rl.Box); ok {
			b.Low, b.High = r.to.bounds()
			return b
		}
		return x
	})
	return s
}

func (r actions) action(_ *rl.Ctx, a rl.Tree) rl.Tree {
	leaves := make([]rl.Tensor, a.Len())
	for i, l := range r.spaces {
		leaves[i] = a.At(i)
		if b, ok := l.Space.(rl.Box); ok {
			x := leaves[i].Node()
			lo, hi := limits(x, b)
			leaves[i] = rl.Wrap(r.to.number(x, lo, hi))
		}
	}
	return rl.NewTree(a.Names(), leaves)
}

// limits returns the bounds of a box in the shape of x.
func limits(x *graph.Node, b rl.Box) (lo, hi *graph.Node) {
	low, high := make([]float32, b.Shape().Size()), make([]float32, b.Shape().Size())
	for i := range low {
		l, h := b.Bounds(i)
		low[i], high[i] = float32(l), float32(h)
	}
	fit := func(flat []float32) *graph.Node {
		n := graph.Reshape(graph.ConstAs(x, flat), b.Shape().Dimensions...)
		return graph.BroadcastToShape(graph.ExpandLeftToRank(n, x.Rank()), x.Shape())
	}
	return fit(low), fit(high)
}

type rescale struct{}

func (rescale) bounds() (lo, hi []float64) { return []float64{-1}, []float64{1} }

func (rescale) number(x, lo, hi *graph.Node) *graph.Node {
	part := graph.MulScalar(graph.AddScalar(x, 1), .5)
	return within(graph.Add(lo, graph.Mul(part, graph.Sub(hi, lo))), lo, hi) // rounding may lead outside
}

type clip struct{}

func (clip) bounds() (lo, hi []float64) { return nil, nil }

func (clip) number(x, lo, hi *graph.Node) *graph.Node { return within(x, lo, hi) }

func within(x, lo, hi *graph.Node) *graph.Node { return graph.Min(graph.Max(x, lo), hi) }

// mapLeaves returns a space with its simple spaces replaced.
func mapLeaves(s rl.Space, f func(rl.Space) rl.Space) rl.Space {
	d, ok := s.(rl.Dict)
	if !ok {
		return f(s)
	}
	out := make(rl.Dict, len(d))
	for i, e := range d {
		out[i] = rl.SpaceLeaf{Name: e.Name, Space: mapLeaves(e.Space, f)}
	}
	return out
}
