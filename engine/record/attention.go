package record

import (
	"fmt"
	"math"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// attention is scaled dot-product attention in the layout [batch, key-value heads, queries per
// head, seq, dim].
type attention struct {
	*expr
	batch, heads, group, seq, keys, dim int
	dtype                               dtypes.DType
}

// FusedScaledDotProductAttention implements compute.Function. Lengths per sequence are not
// implemented.
func (f *Function) FusedScaledDotProductAttention(query, key, value compute.Value, layout compute.AttentionAxesLayout,
	options *compute.ScaledDotProductAttentionConfig) (compute.Value, []compute.Value, error) {
	op := compute.OpTypeFusedScaledDotProductAttention
	if options == nil {
		options = &compute.ScaledDotProductAttentionConfig{}
	}
	if options.QuerySeqLen != nil || options.KeyValueSeqLen != nil {
		return nil, nil, fmt.Errorf("%s with sequence lengths: %w", op, compute.ErrNotImplemented)
	}
	if _, err := f.floats(op, query); err != nil {
		return nil, nil, err
	}
	if options.Mask != nil && layout == compute.AttentionAxesLayoutBSHD {
		// It is not said whether such a mask has the layout of the queries or that of the scores.
		if m, err := f.Shape(options.Mask); err != nil || m.Rank() > 2 {
			return nil, nil, fmt.Errorf("%s with a mask %s for layout %s: %w", op, m, layout, compute.ErrNotImplemented)
		}
	}
	a := &attention{expr: &expr{f: f}}
	for _, v := range []*compute.Value{&query, &key, &value} {
		if a.shape(*v).Rank() != 4 {
			return nil, nil, fmt.Errorf("%s: want tensors of rank 4", op)
		}
		if layout == compute.AttentionAxesLayoutBSHD {
			*v = a.swap(*v)
		}
	}
	out, err := a.run(query, key, value, options)
	if layout == compute.AttentionAxesLayoutBSHD && err == nil {
		out, err = a.swap(out), a.err
	}
	return out, nil, err
}

// swap exchanges the head and sequence axes.
func (a *attention) swap(v compute.Value) compute.Value {
	return a.op1(func(v compute.Value) (compute.Value, error) { return a.f.Transpose(v, 0, 2, 1, 3) }, v)
}

func (a *attention) run(query, key, value compute.Value, o *compute.ScaledDotProductAttentionConfig) (compute.Value, error) {
	if a.err != nil {
		return nil, a.err
	}
	q, k := a.shape(query).Dimensions, a.shape(key).Dimensions
	if k[1] == 0 || q[1]%k[1] != 0 {
		return nil, fmt.Errorf("attention: %d query heads for %d key heads", q[1], k[1])
	}
	a.batch, a.heads, a.group, a.seq, a.dim, a.keys = q[0], k[1], q[1]/k[1], q[2], q[3], k[2]
	a.dtype = a.shape(query).DType
	scale := o.Scale
	if scale == 0 {
		scale = 1 / math.Sqrt(float64(a.dim))
	}
	query = a.reshape(query, a.batch, a.heads, a.group*a.seq, a.dim)
	scores := a.dot(query, key, []int{3}, []int{3}, []int{0, 1}, []int{0, 1})
	scores = a.reshape(scores, a.batch, q[1], a.seq, a.keys)
	scores = a.op2(a.f.Mul, scores, a.scalar(scores, scale))
	scores = a.masked(scores, o)
	p := a.reshape(a.softmax(scores, 3), a.batch, a.heads, a.group*a.seq, a.keys)
	out := a.dot(p, value, []int{3}, []int{2}, []int{0, 1}, []int{0, 1})
	if a.err != nil {
		return nil, a.err
	}
	return a.reshape(out, a.batch, q[1], a.seq, a.shape(value).Dimensions[3]), a.err
}

// masked adds the bias and hides what must not be attended to.
func (a *attention) masked(scores compute.Value, o *compute.ScaledDotProductAttentionConfig) compute.Value {
	s := a.shape(scores)
	if o.Bias != nil {
		scores = a.op2(a.f.Add, scores, a.convert(a.widen(o.Bias), a.dtype))
	}
	if o.Mask != nil {
		mask := a.widen(o.Mask)
		if a.shape(mask).DType == dtypes.Bool {
			scores = a.hide(scores, mask, s)
		} else {
			scores = a.op2(a.f.Add, scores, a.convert(mask, a.dtype))
		}
	}
	if o.Causal {
		square := shapes.Make(dtypes.Int32, s.Dimensions...)
		row, col := a.do(a.f.Iota(square, 2)), a.do(a.f.Iota(square, 3))
		scores = a.hide(scores, a.op2(a.f.GreaterOrEqual, row, col), s)
	}
	return scores
}

// widen gives a mask or a bias rank 4.
func (a *attention) widen(m compute.Value) compute.Value {
	dims := a.shape(m).Dimensions
	for len(dims) < 4 {
		dims = append([]int{1}, dims...)
	}
	return a.reshape(m, dims...)
}

func (a *attention) hide(scores, visible compute.Value, s shapes.Shape) compute.Value {
	if a.err != nil {
		return nil
	}
	axes := []int{0, 1, 2, 3}
	full := a.do(a.f.BroadcastInDim(visible, shapes.Make(dtypes.Bool, s.Dimensions...), axes))
	if a.err != nil {
		return nil
	}
	low := -1e30 // finite, so that a row that is hidden whole does not become NaN
	if s.DType == dtypes.Float16 {
		low = -60000
	}
	return a.do(a.f.Where(full, scores, a.scalar(scores, low)))
}
