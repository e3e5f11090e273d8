package onnx

import (
	"slices"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
)

// dot writes a MatMul where the last axis of one operand meets the first of a matrix, and an Einsum
// elsewhere.
func dot(w *writer, n *ir.Node) {
	a, in := n.Attr.(ir.Dot), w.list(n.Inputs)
	lhs, rhs := n.Inputs[0].Shape.Rank(), n.Inputs[1].Shape.Rank()
	if len(a.LhsBatch) == 0 && rhs == 2 && lhs > 0 && slices.Equal(a.LhsContract, []int{lhs - 1}) && slices.Equal(a.RhsContract, []int{0}) {
		w.names[n.Outputs[0]] = w.let("MatMul", in)
		return
	}
	w.names[n.Outputs[0]] = w.let("Einsum", in, attribute{"equation", equation(a, lhs, rhs)})
}

// equation names the axes of a product by letters: those that both operands share, batch axes
// first, then the free ones of either.
func equation(a ir.Dot, lhs, rhs int) string {
	left, right := make([]byte, lhs), make([]byte, rhs)
	next := byte('a')
	letter := func() byte { next++; return next - 1 }
	var out []byte
	for i, axis := range a.LhsBatch {
		c := letter()
		left[axis], right[a.RhsBatch[i]] = c, c
		out = append(out, c)
	}
	for i, axis := range a.LhsContract {
		c := letter()
		left[axis], right[a.RhsContract[i]] = c, c
	}
	for _, side := range [][]byte{left, right} {
		for i, c := range side {
			if c == 0 {
				side[i] = letter()
				out = append(out, side[i])
			}
		}
	}
	return string(left) + "," + string(right) + "->" + string(out)
}

// convolution puts channels before the spatial axes, where ONNX has them, and back.
func convolution(w *writer, n *ir.Node) {
	a := n.Attr.(ir.Conv)
	x := a.Axes
	if a.BatchGroups > 1 || slices.ContainsFunc(a.InputDilations, func(d int) bool { return d > 1 }) {
		w.failf("%s with groups of rows or a dilated input: %w in ONNX", n.Op, compute.ErrNotImplemented)
	}
	var before, after []int64
	for _, p := range a.Paddings {
		before, after = append(before, int64(p[0])), append(after, int64(p[1]))
	}
	in := w.transposed(w.name(n.Inputs[0]), append([]int{x.InputBatch, x.InputChannels}, x.InputSpatial...))
	kernel := w.transposed(w.name(n.Inputs[1]), append([]int{x.KernelOutputChannels, x.KernelInputChannels}, x.KernelSpatial...))
	out := w.let("Conv", []string{in, kernel}, attribute{"strides", wide(a.Strides)}, attribute{"pads", append(before, after...)},
		attribute{"dilations", wide(a.KernelDilations)}, attribute{"group", int64(max(1, a.ChannelGroups))})
	back := make([]int, 2+len(x.OutputSpatial))
	for i, axis := range append([]int{x.OutputBatch, x.OutputChannels}, x.OutputSpatial...) {
		back[axis] = i
	}
	w.names[n.Outputs[0]] = w.transposed(out, back)
}

// transposed returns a value with its axes in another order.
func (w *writer) transposed(name string, perm []int) string {
	if slices.Equal(perm, upTo(len(perm))) {
		return name
	}
	return w.let("Transpose", []string{name}, attribute{"perm", wide(perm)})
}
