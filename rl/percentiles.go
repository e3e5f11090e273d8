package rl

import (
	"fmt"
	"math"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Percentiles are running averages of two percentiles of batches. What lies between them is a range
// that a few extreme numbers do not change, by which returns of any size can be scaled.
//
//weft:component statistics axis=none home=apply copyable
type Percentiles struct {
	count, low, high *cell
	how              PercentileOptions
	version          int64
	scope            *Scope
	name             string
}

// PercentileOptions are the settings of Percentiles.
type PercentileOptions struct {
	Low, High float64 // the percentiles, from 0 to 100
	// Decay is the part of an average that an update leaves. The first updates count evenly, until
	// there are 1/(1-Decay).
	Decay float64
	Floor float64 // least range
}

// NewPercentiles returns percentiles of nothing yet, whose range is the floor.
//
//weft:makes name=1
func NewPercentiles(s *Scope, name string, how PercentileOptions) *Percentiles {
	if !(0 <= how.Low && how.Low < how.High && how.High <= 100) || how.Decay < 0 || how.Decay >= 1 || how.Floor <= 0 {
		failf("percentiles %q: %+v: percentiles go from 0 to 100, the low one first; the decay from 0 to below 1; the floor is above 0", name, how)
	}
	zero := func(what string) *cell {
		shape := shapes.Make(dtypes.Float64)
		return &cell{path: name + "/" + what, value: s.dev.from(makeFlat(shape), shape)}
	}
	p := &Percentiles{count: zero("count"), low: zero("low"), high: zero("high"), how: how, scope: s, name: name}
	s.Register(name, p)
	return p
}

// Update adds a batch of numbers, of any shape.
//
//weft:op update writes whole
func (p *Percentiles) Update(x Tensor) {
	o := p.scope.Observed()
	given := x
	if m := meeting([]Tensor{x}); m != nil {
		x = allRows(m, []Tensor{x})[0]
	}
	in := []Tensor{x, p.count.value, p.low.value, p.high.value}
	out := op(fmt.Sprintf("percentiles %+v", p.how), in, func(_ *Ctx, in []Tensor) []Tensor {
		sorted := graph.Sort(graph.Reshape(graph.ConvertDType(in[0].Node(), dtypes.Float64), -1), 0, true)
		count := graph.AddScalar(in[1].Node(), 1)
		rate := graph.MaxScalar(graph.Reciprocal(count), 1-p.how.Decay)
		out := []Tensor{Wrap(count)}
		for i, part := range []float64{p.how.Low, p.how.High} {
			old := in[2+i].Node()
			out = append(out, Wrap(graph.Add(old, graph.Mul(rate, graph.Sub(percentile(sorted, part), old)))))
		}
		return out
	})
	p.set(out)
	if o != nil {
		o.End(Operation{
			Kind: "rl.Percentiles.Update", Name: p.name, Size: given.Shape().Size(), In: []Leaf{{"batch", given}},
			Out: []Leaf{{"count", out[0]}, {"low", out[1]}, {"high", out[2]}},
		})
	}
}

// percentile returns a percentile of numbers in order, between the two nearest where it falls
// between them.
func percentile(sorted *graph.Node, part float64) *graph.Node {
	n := sorted.Shape().Size()
	place := part / 100 * float64(n-1)
	at := min(int(math.Floor(place)), n-1)
	number := func(i int) *graph.Node {
		return graph.Reshape(graph.Slice(sorted, graph.AxisRange(i, i+1)))
	}
	low, high := number(at), number(min(at+1, n-1))
	return graph.Add(low, graph.MulScalar(graph.Sub(high, low), place-float64(at)))
}

// Scale returns x divided by the range between the percentiles, or by the floor if that is more.
//
//weft:traces
func (p *Percentiles) Scale(c *Ctx, x *graph.Node) *graph.Node {
	width := graph.MaxScalar(graph.Sub(c.read(p.high), c.read(p.low)), p.how.Floor)
	return graph.Div(x, graph.ConvertDType(width, dtypes.Float32))
}

// Resident returns the three numbers.
func (p *Percentiles) Resident() []Carried {
	return []Carried{carriedCell{cell: p.count}, carriedCell{cell: p.low}, carriedCell{cell: p.high}}
}

// Axis returns that percentiles cannot be split: they travel with the weights.
func (p *Percentiles) Axis() Axis { return None }

// Version counts the writes, so that a copy knows whether it is current.
func (p *Percentiles) Version() int64 { return p.version }

// Tensors returns the count and both averages.
func (p *Percentiles) Tensors() []Tensor {
	return []Tensor{p.count.value, p.low.value, p.high.value}
}

// Adopt replaces the values by those of other percentiles.
func (p *Percentiles) Adopt(values []Tensor) error {
	if err := fit(p.Tensors(), values); err != nil {
		return fmt.Errorf("percentiles %q: %w", p.name, err)
	}
	p.set(values)
	return nil
}

func (p *Percentiles) set(values []Tensor) {
	p.scope.settle()
	p.count.value, p.low.value, p.high.value = values[0], values[1], values[2]
	p.version++
}

// Save puts the count and both averages.
func (p *Percentiles) Save(st *State) {
	st.Put("count", p.count.value)
	st.Put("low", p.low.value)
	st.Put("high", p.high.value)
}

// Load restores what Save saved.
func (p *Percentiles) Load(st *State) error {
	count := st.GetLike("count", p.count.value)
	low, high := st.GetLike("low", p.low.value), st.GetLike("high", p.high.value)
	if st.Err() == nil {
		p.set([]Tensor{count, low, high})
	}
	return st.Err()
}
