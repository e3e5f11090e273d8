package wrap

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// moments are the running mean and variance of numbers [env, ...], each
// environment's of its own past: "mean", "var" and "weight", [env], which is one
// over the number of values so far. They begin as Gymnasium's do, with a
// ten-thousandth of a value of mean 0 and variance 1. A weight of 0 is that of
// infinitely many: such moments change no more.
type moments struct{ mean, variance, weight *graph.Node }

const (
	fewest  = 1e-4 // values at the beginning
	epsilon = 1e-8 // beside variances
)

// add counts one value of every environment.
func (m moments) add(x *graph.Node) moments {
	rest := graph.Reciprocal(graph.AddScalar(m.weight, 1)) // the part of what was before
	w := graph.Mul(m.weight, rest)
	wide := func(n *graph.Node) *graph.Node {
		for n.Rank() < x.Rank() {
			n = graph.ExpandAxes(n, -1)
		}
		return n
	}
	delta := graph.Sub(x, m.mean)
	return moments{
		mean:     graph.Add(m.mean, graph.Mul(delta, wide(w))),
		variance: graph.Mul(wide(rest), graph.Add(m.variance, graph.Mul(wide(w), graph.Square(delta)))),
		weight:   w,
	}
}

func (m moments) deviation() *graph.Node { return graph.Sqrt(graph.AddScalar(m.variance, epsilon)) }

var momentNames = []string{"mean", "var", "weight"}

func (m moments) tree() rl.Tree {
	return rl.NewTree(momentNames, []rl.Tensor{rl.Wrap(m.mean), rl.Wrap(m.variance), rl.Wrap(m.weight)})
}

func momentsOf(t rl.Tree) moments {
	return moments{t.Leaf("mean").Node(), t.Leaf("var").Node(), t.Leaf("weight").Node()}
}

// fresh returns the moments of numbers with the given dimensions before any value.
func fresh(s *rl.Scope, dims ...int) rl.Tree {
	ones, weight := make([]float32, shapeOf(dtypes.Float32, dims...).Size()), make([]float32, dims[0])
	for i := range ones {
		ones[i] = 1
	}
	for i := range weight {
		weight[i] = 1 / float32(fewest)
	}
	return rl.NewTree(momentNames, []rl.Tensor{
		zeros(s, dtypes.Float32, dims...), rl.FromFlat(s, ones, dims...), rl.FromFlat(s, weight, dims[0]),
	})
}

func shapeOf(d dtypes.DType, dims ...int) shapes.Shape { return shapes.Make(d, dims...) }

// NormalizeObs lets agents see observations of mean 0 and variance 1, by the
// moments of what the environment showed so far, and at most clip away from 0; 0
// is no bound. It does so with one box of float32 numbers, or with all of a Dict.
func NormalizeObs(clip float64) Wrapper {
	return Wrapper{text: fmt.Sprintf("normalize-obs=%v", clip), rule: func(spec env.Spec) (rule, error) {
		r := normalised{clip: clip, agents: spec.Agents}
		if !(clip >= 0) {
			return nil, fmt.Errorf("%v is not a bound", clip)
		}
		for _, l := range spec.Obs.Leaves() {
			if isReal(l.Space) {
				r.names, r.size = append(r.names, l.Name), r.size+l.Space.Shape().Size()
			}
		}
		if len(r.names) == 0 {
			return nil, errors.New("there are no float32 numbers among the observations")
		}
		return r, nil
	}}
}

func isReal(s rl.Space) bool {
	b, ok := s.(rl.Box)
	return ok && b.Shape().DType == dtypes.Float32
}

// normalised has the moments of all numbers of an observation, side by side.
type normalised struct {
	plain
	clip   float64
	agents int
	names  []string // names of the leaves
	size   int      // numbers of an observation
}

func (r normalised) spec(s env.Spec) env.Spec {
	s.Obs = mapLeaves(s.Obs, func(x rl.Space) rl.Space {
		if !isReal(x) {
			return x
		}
		b := rl.Box{Dims: x.(rl.Box).Dims}
		if r.clip > 0 {
			b.Low, b.High = []float64{-r.clip}, []float64{r.clip}
		}
		return b
	})
	return s
}

func (r normalised) zero(s *rl.Scope, n int) rl.Tree {
	if r.agents > 1 {
		return fresh(s, n, r.agents, r.size)
	}
	return fresh(s, n, r.size)
}

// lead returns the axes before those of an observation.
func (r normalised) lead() int {
	if r.agents > 1 {
		return 2
	}
	return 1
}

// flat returns the numbers of an observation side by side.
func (r normalised) flat(o rl.Obs) *graph.Node {
	parts := make([]*graph.Node, len(r.names))
	for i, name := range r.names {
		x := o.X.Leaf(name).Node()
		parts[i] = graph.Reshape(x, append(slices.Clone(x.Shape().Dimensions[:r.lead()]), -1)...)
	}
	return graph.Concatenate(parts, -1)
}

// norm returns an observation by the moments.
func (r normalised) norm(m moments, o rl.Obs) rl.Obs {
	x := graph.Div(graph.Sub(r.flat(o), m.mean), m.deviation())
	if r.clip > 0 {
		x = graph.ClipScalar(x, -r.clip, r.clip)
	}
	leaves := make([]rl.Tensor, o.X.Len())
	at := 0
	for i, name := range o.X.Names() {
		leaves[i] = o.X.At(i)
		if slices.Contains(r.names, name) {
			dims := leaves[i].Shape().Dimensions
			n := leaves[i].Shape().Size() / shapeOf(dtypes.Float32, dims[:r.lead()]...).Size()
			leaves[i] = rl.Wrap(graph.Reshape(graph.SliceAxis(x, x.Rank()-1, graph.AxisRange(at, at+n)), dims...))
			at += n
		}
	}
	o.X = rl.NewTree(o.X.Names(), leaves)
	return o
}

func (r normalised) first(_ *rl.Ctx, mem rl.Tree, o rl.Obs) (rl.Tree, rl.Obs) {
	m := momentsOf(mem).add(r.flat(o))
	return m.tree(), r.norm(m, o)
}

func (r normalised) step(_ *rl.Ctx, mem rl.Tree, x rl.Step) (rl.Tree, rl.Step) {
	m := momentsOf(mem).add(r.flat(x.Obs))
	x.Obs, x.Final = r.norm(m, x.Obs), r.norm(m, x.Final)
	return m.tree(), x
}

// pool returns the moments of all environments' values together.
func (r normalised) pool(s *rl.Scope, from rl.Tree, n int) rl.Tree {
	mean, variance, weight := rl.Floats(from.Leaf("mean")), rl.Floats(from.Leaf("var")), rl.Floats(from.Leaf("weight"))
	size := len(mean) / len(weight)
	m, v := slices.Clone(mean[:size]), slices.Clone(variance[:size])
	count := 1 / max(weight[0], 1e-12)
	for i := 1; i < len(weight); i++ {
		more := 1 / max(weight[i], 1e-12)
		part := more / (count + more)
		for j := range m {
			d := mean[i*size+j] - m[j]
			m[j] += d * part
			v[j] = (1-part)*v[j] + part*variance[i*size+j] + part*(1-part)*d*d
		}
		count += more
	}
	dims := append([]int{n}, from.Leaf("mean").Shape().Dimensions[1:]...)
	all := func(x []float64, dims ...int) rl.Tensor {
		out := make([]float32, 0, n*len(x))
		for range n {
			for _, v := range x {
				out = append(out, float32(v))
			}
		}
		return rl.FromFlat(s, out, dims...)
	}
	return rl.NewTree(momentNames, []rl.Tensor{all(m, dims...), all(v, dims...), all([]float64{1 / count}, n)})
}

func (r normalised) freeze(s *rl.Scope, mem rl.Tree) rl.Tree {
	return rl.NewTree(momentNames, []rl.Tensor{mem.Leaf("mean"), mem.Leaf("var"), rl.Zero(mem.Leaf("weight"))})
}

// NormalizeReward divides rewards by the deviation of the environment's discounted
// return so far. Episodes are still reported by the task's own rewards.
func NormalizeReward(gamma float64) Wrapper {
	return Wrapper{text: fmt.Sprintf("normalize-reward=%v", gamma), rule: func(spec env.Spec) (rule, error) {
		if !(gamma >= 0 && gamma <= 1) {
			return nil, fmt.Errorf("a discount of %v is not between 0 and 1", gamma)
		}
		return scaled{gamma: gamma, agents: spec.Agents}, nil
	}}
}

// scaled has the moments of the return, and the return itself.
type scaled struct {
	plain
	gamma  float64
	agents int
}

func (r scaled) zero(s *rl.Scope, n int) rl.Tree {
	dims := []int{n}
	if r.agents > 1 {
		dims = append(dims, r.agents)
	}
	return with(fresh(s, dims...), zeros(s, dtypes.Float32, dims...))
}

// with returns moments and the return they are of.
func with(m rl.Tree, ret rl.Tensor) rl.Tree {
	return rl.NewTree(append(slices.Clone(momentNames), "return"), []rl.Tensor{m.At(0), m.At(1), m.At(2), ret})
}

func (r scaled) step(_ *rl.Ctx, mem rl.Tree, x rl.Step) (rl.Tree, rl.Step) {
	ret := graph.Add(graph.MulScalar(mem.Leaf("return").Node(), r.gamma), x.Reward.Node())
	m := momentsOf(mem).add(ret)
	x.Reward = rl.Wrap(graph.Div(x.Reward.Node(), m.deviation()))
	done := x.Done().Node()
	return with(m.tree(), rl.Wrap(graph.Where(done, graph.ZerosLike(ret), ret))), x
}
