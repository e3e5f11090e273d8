package rl

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Stats are the running mean and variance of a batch's features. They are
// frozen during an iteration and updated once from its whole batch, so that
// every replica normalises alike.
//
//weft:component statistics axis=none home=apply copyable
type Stats struct {
	count, mean, m2 *cell
	clip            float64
	version         int64
	scope           *Scope
	name            string
}

// NewStats returns statistics of features with the given dimensions; clip bounds
// what Norm returns, 0 is no bound.
//
//weft:makes name=1
func NewStats(s *Scope, name string, clip float64, dims ...int) *Stats {
	zero := func(what string, dims ...int) *cell {
		shape := shapes.Make(dtypes.Float64, dims...)
		return &cell{path: name + "/" + what, value: s.dev.from(makeFlat(shape), shape)}
	}
	st := &Stats{count: zero("count"), mean: zero("mean", dims...), m2: zero("m2", dims...), clip: clip, scope: s, name: name}
	s.Register(name, st)
	return st
}

// Update adds a batch [..., features]: all leading axes are rows.
//
//weft:op update writes whole
func (s *Stats) Update(x Tensor) {
	o := s.scope.Observed()
	given := x
	want, features := s.mean.value.Shape().Dimensions, s.mean.value.Shape().Rank()
	if got := x.Shape().Dimensions; len(got) < features || !slices.Equal(got[len(got)-features:], want) {
		failf("statistics of features %v cannot count %s", want, x.Shape())
	}
	if m := meeting([]Tensor{x}); m != nil {
		x = allRows(m, []Tensor{x})[0]
	}
	in := []Tensor{x, s.count.value, s.mean.value, s.m2.value}
	out := op(fmt.Sprintf("stats %d", features), in, func(_ *Ctx, in []Tensor) []Tensor {
		x := graph.ConvertDType(in[0].Node(), dtypes.Float64)
		rows := make([]int, x.Rank()-features)
		n := 1
		for i := range rows {
			rows[i] = i
			n *= x.Shape().Dimensions[i]
		}
		x = graph.Reshape(x, append([]int{n}, x.Shape().Dimensions[len(rows):]...)...)
		count, mean, m2 := merge(x, in[1].Node(), in[2].Node(), in[3].Node())
		return []Tensor{Wrap(count), Wrap(mean), Wrap(m2)}
	})
	s.set(out)
	if o != nil {
		o.End(Operation{
			Kind: "rl.Stats.Update", Name: s.name, Size: given.Shape().Size(), In: []Leaf{{"batch", given}},
			Out: []Leaf{{"count", out[0]}, {"mean", out[1]}, {"m2", out[2]}},
		})
	}
}

// merge adds the rows of x to a count, mean and sum of squared deviations
// (Chan, Golub and LeVeque, 1979).
func merge(x, count, mean, m2 *graph.Node) (_, _, _ *graph.Node) {
	n := graph.ConstAs(count, float64(x.Shape().Dimensions[0]))
	batchMean := graph.ReduceMean(x, 0)
	batchM2 := graph.ReduceSum(graph.Square(graph.Sub(x, graph.ExpandAxes(batchMean, 0))), 0)
	total := graph.Add(count, n)
	d := graph.Sub(batchMean, mean)
	mean = graph.Add(mean, graph.Mul(d, graph.Div(n, total)))
	m2 = graph.Add(graph.Add(m2, batchM2), graph.Mul(graph.Square(d), graph.Div(graph.Mul(count, n), total)))
	return total, mean, m2
}

// Norm returns x, [..., features], with the statistics' mean taken off and divided by
// their deviation. Before the first update it is x.
//
//weft:traces
func (s *Stats) Norm(c *Ctx, x *graph.Node) *graph.Node {
	mean, deviation := s.moments(c, x.Rank())
	return s.bound(graph.Div(graph.Sub(x, mean), deviation))
}

// Restore undoes Norm, but for its bound: outputs of a network that learns
// standardised targets, in the targets' own unit.
//
//weft:traces
func (s *Stats) Restore(c *Ctx, x *graph.Node) *graph.Node {
	mean, deviation := s.moments(c, x.Rank())
	return graph.Add(graph.Mul(x, deviation), mean)
}

// Scale returns x divided by the statistics' deviation: rewards, whose sign matters.
//
//weft:traces
func (s *Stats) Scale(c *Ctx, x *graph.Node) *graph.Node {
	_, deviation := s.moments(c, x.Rank())
	return s.bound(graph.Div(x, deviation))
}

func (s *Stats) bound(x *graph.Node) *graph.Node {
	if s.clip > 0 {
		return graph.ClipScalar(x, -s.clip, s.clip)
	}
	return x
}

// moments returns mean and deviation as they stand against a tensor of the rank.
func (s *Stats) moments(c *Ctx, rank int) (mean, deviation *graph.Node) {
	count, m2 := c.read(s.count), c.read(s.m2)
	variance := graph.Div(m2, graph.MaxScalar(count, 1.0))
	fresh := graph.LessThan(count, graph.OnesLike(count))
	deviation = graph.Sqrt(graph.AddScalar(variance, 1e-8))
	deviation = graph.Where(fresh, graph.OnesLike(deviation), deviation)
	fit := func(x *graph.Node) *graph.Node {
		x = graph.ConvertDType(x, dtypes.Float32)
		if x.Rank() > 0 {
			x = graph.ExpandLeftToRank(x, rank)
		}
		return x
	}
	return fit(c.read(s.mean)), fit(deviation)
}

// Axis returns that statistics cannot be split: they travel with the weights.
func (s *Stats) Axis() Axis { return None }

// Save puts count, mean and squared deviations.
func (s *Stats) Save(st *State) {
	st.Put("count", s.count.value)
	st.Put("mean", s.mean.value)
	st.Put("m2", s.m2.value)
}

// Load restores what Save saved.
func (s *Stats) Load(st *State) error {
	count := st.GetLike("count", s.count.value)
	mean, m2 := st.GetLike("mean", s.mean.value), st.GetLike("m2", s.m2.value)
	if st.Err() == nil {
		s.set([]Tensor{count, mean, m2})
	}
	return st.Err()
}
