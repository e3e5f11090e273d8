package wrap

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// FrameStack lets agents see the last n observations at once, the oldest first.
// They are joined along the last axis, so that pictures [height, width, channels]
// get more channels; pictures without channels get n. An episode begins with n
// times its first observation.
func FrameStack(n int) Wrapper {
	return Wrapper{text: fmt.Sprintf("frame-stack=%d", n), rule: func(spec env.Spec) (rule, error) {
		if n < 2 {
			return nil, fmt.Errorf("a stack of %d frames is too small: want 2 or more", n)
		}
		r := frames{n: n, leaves: spec.Obs.Leaves(), agents: spec.Agents}
		for _, l := range r.leaves {
			if _, ok := l.Space.(rl.Box); ok {
				return r, nil
			}
		}
		return nil, errors.New("there are no boxes among the observations")
	}}
}

// frames' memory is the stacked boxes.
type frames struct {
	plain
	n      int
	leaves []rl.SpaceLeaf
	agents int
}

// joined reports whether frames of a box go into an axis that is there.
func joined(b rl.Box) bool { return len(b.Dims) == 1 || len(b.Dims) >= 3 }

// stacked returns the space of n frames.
func (r frames) stacked(b rl.Box) rl.Box {
	last := 1 // numbers that stay together
	if joined(b) {
		last = b.Dims[len(b.Dims)-1]
		b.Dims = slices.Clone(b.Dims)
		b.Dims[len(b.Dims)-1] *= r.n
	} else {
		b.Dims = append(slices.Clone(b.Dims), r.n)
	}
	many := func(x []float64) (out []float64) {
		if len(x) <= 1 {
			return x
		}
		for i := 0; i < len(x); i += last {
			out = append(out, slices.Repeat(x[i:i+last], r.n)...)
		}
		return out
	}
	b.Low, b.High, b.Frames = many(b.Low), many(b.High), r.n*max(1, b.Frames)
	return b
}

func (r frames) spec(s env.Spec) env.Spec {
	s.Obs = mapLeaves(s.Obs, func(x rl.Space) rl.Space {
		if b, ok := x.(rl.Box); ok {
			return r.stacked(b)
		}
		return x
	})
	return s
}

func (r frames) zero(s *rl.Scope, n int) rl.Tree {
	return r.boxes(func(l rl.SpaceLeaf, b rl.Box) rl.Tensor {
		dims := []int{n}
		if r.agents > 1 {
			dims = append(dims, r.agents)
		}
		return zeros(s, b.Shape().DType, append(dims, r.stacked(b).Dims...)...)
	})
}

func zeros(s *rl.Scope, d dtypes.DType, dims ...int) rl.Tensor {
	shape := shapeOf(d, dims...)
	return s.Device().Tensor(dtypes.MakeAnySlice(d, shape.Size()), shape)
}

// boxes returns a tree with a tensor for every box.
func (r frames) boxes(f func(l rl.SpaceLeaf, b rl.Box) rl.Tensor) rl.Tree {
	var names []string
	var leaves []rl.Tensor
	for _, l := range r.leaves {
		if b, ok := l.Space.(rl.Box); ok {
			names, leaves = append(names, l.Name), append(leaves, f(l, b))
		}
	}
	return rl.NewTree(names, leaves)
}

func (r frames) first(_ *rl.Ctx, _ rl.Tree, o rl.Obs) (rl.Tree, rl.Obs) {
	mem := r.boxes(func(l rl.SpaceLeaf, b rl.Box) rl.Tensor {
		x := frame(o.X.Leaf(l.Name), b)
		return rl.Wrap(graph.Concatenate(slices.Repeat([]*graph.Node{x}, r.n), -1))
	})
	return mem, r.show(o, mem)
}

// frame returns an observation with the axis that frames are joined along.
func frame(t rl.Tensor, b rl.Box) *graph.Node {
	if joined(b) {
		return t.Node()
	}
	return graph.ExpandAxes(t.Node(), -1)
}

// push returns the stack with an observation for its oldest.
func (r frames) push(mem rl.Tree, o rl.Obs) rl.Tree {
	return r.boxes(func(l rl.SpaceLeaf, b rl.Box) rl.Tensor {
		x, old := frame(o.X.Leaf(l.Name), b), mem.Leaf(l.Name).Node()
		axis := x.Rank() - 1
		rest := graph.SliceAxis(old, axis, graph.AxisRange(x.Shape().Dimensions[axis]))
		return rl.Wrap(graph.Concatenate([]*graph.Node{rest, x}, axis))
	})
}

// show returns an observation with the boxes of the stack.
func (r frames) show(o rl.Obs, mem rl.Tree) rl.Obs {
	leaves := make([]rl.Tensor, o.X.Len())
	for i, name := range o.X.Names() {
		if leaves[i] = o.X.At(i); mem.Has(name) {
			leaves[i] = mem.Leaf(name)
		}
	}
	o.X = rl.NewTree(o.X.Names(), leaves)
	return o
}

func (r frames) step(c *rl.Ctx, mem rl.Tree, x rl.Step) (rl.Tree, rl.Step) {
	begun, _ := r.first(c, mem, x.Obs)
	next := r.push(mem, x.Obs)
	now := r.boxes(func(l rl.SpaceLeaf, _ rl.Box) rl.Tensor {
		return rl.Select(x.Obs.First, begun.Leaf(l.Name), next.Leaf(l.Name))
	})
	x.Final = r.show(x.Final, r.push(mem, x.Final))
	x.Obs = r.show(x.Obs, now)
	return now, x
}
