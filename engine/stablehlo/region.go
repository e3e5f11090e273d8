package stablehlo

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/ptx"
	"github.com/weft-rl/weft/engine/rows"
)

// kernelRegion is a part of a function that is written as one kernel: sums over rows, with all that
// rows compute for them.
type kernelRegion struct {
	*rows.Region
	kernel  ptx.Tiles
	written bool
}

// inputs returns the values that it reads.
func (r *kernelRegion) inputs() (out []*ir.Value) {
	for _, v := range r.Inputs {
		if v != nil {
			out = append(out, v)
		}
	}
	return out
}

// regions returns the regions of a function, by the nodes that they replace.
func (w *writer) regions(f *ir.Func) map[*ir.Node]*kernelRegion {
	if !w.options.Kernels {
		return nil
	}
	out := map[*ir.Node]*kernelRegion{}
	for _, r := range rows.Regions(f) {
		w.kernels++
		k, err := ptx.OfRegion(r, fmt.Sprintf("sums_%d", w.kernels), w.options.Precision, w.options.Shared)
		if err != nil {
			continue
		}
		region := &kernelRegion{Region: r, kernel: k}
		for _, s := range r.Sums {
			out[s.Value.Node] = region
		}
	}
	return out
}

// sums writes the call of a kernel, adds up what its blocks leave, and names each sum.
func (w *writer) sums(r *kernelRegion) {
	r.written = true
	k, in := r.kernel, r.inputs()
	kinds := []dtypes.DType{dtypes.Float32, dtypes.Float64}
	counts := []int{k.Single, max(k.Double, 1)}
	out := []string{tensor(kinds[0], k.Blocks, counts[0]), tensor(kinds[1], k.Blocks, counts[1])}
	for _, n := range k.Written {
		out = append(out, tensor(dtypes.Float32, r.Rows, n))
	}
	left, each := w.many(len(out))
	w.line("%s = stablehlo.custom_call @__gpu$xla.gpu.ptx(%s) {api_version = 2 : i32, backend_config = %s, operand_layouts = %s, result_layouts = %s} : (%s) -> %s",
		left, w.list(in), quoted(config(k.Kernel)), layouts(ranksOf(in)), layouts(slices.Repeat([]int{2}, len(out))), typesOf(in), tuple(out))
	for _, l := range k.Left {
		w.products(r.Sums[l.Sum], each[2+l.X], each[2+l.Y], r.Rows)
	}
	for i, d := range kinds {
		each[i] = w.let("stablehlo.reduce(%s init: %s) applies stablehlo.add across dimensions = [0] : (%s, %s) -> %s",
			each[i], w.scalar(d, 0), tensor(d, k.Blocks, counts[i]), tensor(d), tensor(d, counts[i]))
	}
	for i, s := range r.Sums {
		if w.names[s.Value] != "" {
			continue
		}
		which := 0
		if s.Value.DType() == dtypes.Float64 {
			which = 1
		}
		d, n := kinds[which], s.Value.Size()
		part := w.let("stablehlo.slice %s [%d:%d] : (%s) -> %s", each[which], k.At[i], k.At[i]+n, tensor(d, counts[which]), tensor(d, n))
		w.names[s.Value] = w.let("stablehlo.reshape %s : (%s) -> %s", part, tensor(d, n), typeOf(s.Value))
	}
}

// products adds up the products of the rows of two matrices.
func (w *writer) products(s rows.Total, x, y string, count int) {
	one, other := tensor(dtypes.Float32, count, s.X.N), tensor(dtypes.Float32, count, s.Y.N)
	if w.options.Precision == ir.BF16 {
		half := func(name string, n int) (string, string) {
			to := tensor(dtypes.BFloat16, count, n)
			return w.let("stablehlo.convert %s : (%s) -> %s", name, tensor(dtypes.Float32, count, n), to), to
		}
		x, one = half(x, s.X.N)
		y, other = half(y, s.Y.N)
	}
	out := tensor(dtypes.Float32, s.X.N, s.Y.N)
	sum := w.let("stablehlo.dot_general %s, %s, contracting_dims = [0] x [0], precision = [%s] : (%s, %s) -> %s", x, y, w.precision(), one, other, out)
	w.names[s.Value] = w.let("stablehlo.reshape %s : (%s) -> %s", sum, out, typeOf(s.Value))
}
