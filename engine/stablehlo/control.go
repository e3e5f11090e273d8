package stablehlo

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
)

// while carries what its closures capture as further state, which the body hands on as it is:
// regions of a loop see nothing but their arguments.
func while(w *writer, n *ir.Node) {
	if w.options.Kernels && w.kernel(n) {
		return
	}
	state := n.Operands()
	captured := map[*ir.Value]int{} // position in state
	for i := range n.Funcs {
		for _, v := range n.CapturesOf(i) {
			if _, ok := captured[v]; !ok {
				captured[v] = len(state)
				state = append(state[:len(state):len(state)], v)
			}
		}
	}
	at := w.next
	left, each := w.many(len(state))
	args, pass := make([]string, len(state)), make([]string, len(state))
	for i, v := range state {
		args[i] = fmt.Sprintf("%%s%d_%d", at, i) // numbers alone would be results
		pass[i] = args[i] + " = " + w.name(v)
	}
	enter := func(i int) *ir.Func {
		f := n.Funcs[i]
		for j, p := range f.Params {
			w.names[p] = args[j]
		}
		for j, v := range n.CapturesOf(i) {
			w.names[f.Captures[j]] = args[captured[v]]
		}
		return f
	}
	w.line("%s = stablehlo.while(%s) : %s", left, strings.Join(pass, ", "), typesOf(state))
	w.line("cond {")
	w.block(func() { w.region(enter(0), nil, nil) })
	w.line("} do {")
	count := len(n.Outputs)
	w.block(func() {
		f := enter(1)
		w.hold(n, f)
		w.region(f, args[count:], state[count:])
	})
	w.line("}")
	for i, v := range n.Outputs {
		w.names[v] = each[i]
		w.sameCut(v, state[i])
	}
}

// region writes a closure's nodes and returns its results, with more values after them.
func (w *writer) region(f *ir.Func, more []string, like []*ir.Value) {
	w.body(f)
	names := []string{}
	for _, r := range f.Results {
		names = append(names, w.name(r))
	}
	types := append(append([]*ir.Value{}, f.Results...), like...)
	w.line("stablehlo.return %s : %s", strings.Join(append(names, more...), ", "), typesOf(types))
}

// branch names in its regions what they capture.
func branch(w *writer, n *ir.Node) {
	left, each := w.many(len(n.Outputs))
	w.line(`%s = "stablehlo.if"(%s) ({`, left, w.name(n.Inputs[0]))
	for i, f := range n.Funcs {
		if i > 0 {
			w.line("}, {")
		}
		for j, v := range n.CapturesOf(i) {
			w.names[f.Captures[j]] = w.name(v)
			w.sameCut(f.Captures[j], v)
		}
		w.block(func() { w.region(f, nil, nil) })
	}
	w.line("}) : (tensor<i1>) -> %s", results(n.Outputs))
	for i, v := range n.Outputs {
		w.names[v] = each[i]
	}
}

// sort gives its comparator what it captures as further operands, the same in every place: a
// comparator sees nothing but the elements it compares. Every sort is stable, as the CPU engine's
// are, so that what is carried along agrees.
func sort(w *writer, n *ir.Node) {
	axis, f := n.Attr.(ir.Sort).Axis, n.Funcs[0]
	operands, dims := n.Operands(), n.Outputs[0].Shape.Dimensions
	var names, types, args []string
	for i, v := range operands {
		names, types = append(names, w.name(v)), append(types, typeOf(v))
		for _, p := range f.Params[2*i : 2*i+2] {
			w.names[p] = w.fresh()
			args = append(args, w.names[p]+": "+typeOf(p))
		}
	}
	for i, v := range n.CapturesOf(0) {
		if !v.Shape.IsScalar() {
			w.failf("a comparator of %s that captures %s: only scalars can be: %w", n.Op, v.Shape, compute.ErrNotImplemented)
			return
		}
		full := tensor(v.DType(), dims...)
		names = append(names, w.let("stablehlo.broadcast_in_dim %s, dims = [] : (%s) -> %s", w.name(v), typeOf(v), full))
		types = append(types, full)
		w.names[f.Captures[i]] = w.fresh()
		args = append(args, w.names[f.Captures[i]]+": "+typeOf(v), w.fresh()+": "+typeOf(v))
	}
	left, each := w.many(len(names))
	w.line(`%s = "stablehlo.sort"(%s) <{dimension = %d : i64, is_stable = true}> ({`, left, strings.Join(names, ", "), axis)
	w.block(func() {
		w.line("^bb0(%s):", strings.Join(args, ", "))
		w.region(f, nil, nil)
	})
	list := strings.Join(types, ", ")
	w.line("}) : (%s) -> (%s)", list, list)
	for i, v := range n.Outputs {
		w.names[v] = each[i]
	}
}

func call(w *writer, n *ir.Node) {
	left, each := w.many(len(n.Outputs))
	w.line("%s = func.call @%s(%s) : %s", left, w.symbols[n.Funcs[0]], w.list(n.Inputs), signature(n))
	for i, v := range n.Outputs {
		w.names[v] = each[i]
	}
}

// barrier keeps what is before it from being moved behind it; its first operand is what comes out.
func barrier(w *writer, n *ir.Node) {
	left, each := w.many(len(n.Inputs))
	w.line("%s = stablehlo.optimization_barrier %s : %s", left, w.list(n.Inputs), typesOf(n.Inputs))
	w.names[n.Outputs[0]] = each[0]
}
