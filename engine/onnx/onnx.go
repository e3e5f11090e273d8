// Package onnx writes recorded computations as ONNX models, which onnxruntime and many other
// programs run.
//
// An operation is written as the table of operations spells it, or by a printer of its own. A model
// takes any number of rows, although a computation is recorded for one number: it is recorded
// twice, for two numbers of rows, and a dimension in which the recordings differ is a multiple of
// the rows. Values that broadcasting repeats stay small where the operator that takes them
// broadcasts by itself.
package onnx

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

const (
	opset     = 18 // set of operators: the first in which all reductions take their axes as an input
	irVersion = 8  // version of the file format that came with it
)

// Model says what a model has besides its computation.
type Model struct {
	Name, Doc string
	Inputs    []Input  // one for each parameter of the computation
	Outputs   []Output // one for each result
	Meta      []Entry  // metadata, in this order
}

// Input is a parameter of the computation: an input of the model, or a weight.
type Input struct {
	Name, Doc string
	Weight    []byte // row-major elements of a weight; nil for an input
}

// Output is a result of the computation.
type Output struct{ Name, Doc string }

// Entry is one line of metadata.
type Entry struct{ Key, Value string }

// Recording is a computation as it was recorded for a number of rows.
type Recording struct {
	*ir.Module
	Rows int
}

// Supports reports whether an operation can be written.
func Supports(t compute.OpType) bool { return printerOf(t) != nil }

// Encode returns the model of a computation that was recorded for two numbers of rows. Parameters
// that nothing depends on are left out, unless they are the first input.
func Encode(m Model, one, other Recording) ([]byte, error) {
	f, g := one.Flatten(), other.Flatten()
	if len(m.Inputs) != len(f.Params) || len(m.Outputs) != len(f.Results) {
		return nil, fmt.Errorf("model %q: %d inputs and %d outputs for %d parameters and %d results",
			m.Name, len(m.Inputs), len(m.Outputs), len(f.Params), len(f.Results))
	}
	w := &writer{
		rows: [2]int{one.Rows, other.Rows}, twin: map[*ir.Value]*ir.Value{}, attrs: map[*ir.Node]any{}, names: map[*ir.Value]string{},
		small: map[*ir.Value]string{}, known: map[string]string{}, taken: map[string]bool{},
	}
	if err := w.pair(f, g); err != nil {
		return nil, fmt.Errorf("model %q: %w", m.Name, err)
	}
	w.inputs(m, f)
	live := f.Live()
	for _, n := range f.Nodes {
		if live[n] {
			w.node(n)
		}
	}
	for i, r := range f.Results {
		o := m.Outputs[i]
		w.nodes = append(w.nodes, node{op: "Identity", in: []string{w.name(r)}, out: []string{o.Name}})
		w.out = append(w.out, info{o.Name, o.Doc, r.DType(), w.dims(r)})
	}
	if len(w.errs) > 0 {
		return nil, fmt.Errorf("model %q: %w", m.Name, errors.Join(w.errs...))
	}
	return m.wire(w.graph(m.Name)), nil
}

// writer writes one graph.
type writer struct {
	rows  [2]int
	twin  map[*ir.Value]*ir.Value // values of the recording for the other number of rows
	attrs map[*ir.Node]any        // attributes in that recording
	names map[*ir.Value]string
	small map[*ir.Value]string // values before they are repeated to their dimensions
	known map[string]string    // constants and shapes by what they hold
	taken map[string]bool      // names
	first *ir.Value            // an input with rows

	nodes   []node
	weights []tensor
	in, out []info
	errs    []error
}

// pair finds for every value its twin in the other recording.
func (w *writer) pair(f, g *ir.Func) error {
	if len(f.Nodes) != len(g.Nodes) {
		return fmt.Errorf("it has %d operations for %d rows and %d for %d: it cannot be written for any number of rows",
			len(f.Nodes), w.rows[0], len(g.Nodes), w.rows[1])
	}
	for i, n := range f.Nodes {
		o := g.Nodes[i]
		if n.Op != o.Op || len(n.Outputs) != len(o.Outputs) || reflect.TypeOf(n.Attr) != reflect.TypeOf(o.Attr) {
			return fmt.Errorf("operation %d is %s for %d rows and %s for %d: it cannot be written for any number of rows",
				i, n.Op, w.rows[0], o.Op, w.rows[1])
		}
		w.attrs[n] = o.Attr
		for j, v := range n.Outputs {
			w.twin[v] = o.Outputs[j]
		}
	}
	return nil
}

// inputs declares the inputs and weights that the results depend on.
func (w *writer) inputs(m Model, f *ir.Func) {
	live := f.Live()
	for i, p := range f.Params {
		in := m.Inputs[i]
		if in.Weight == nil && w.first == nil && p.Shape.Rank() > 0 && w.dims(p)[0].rows == 1 {
			w.first = p
		} else if !live[p.Node] {
			continue
		}
		name := w.free(in.Name)
		w.names[p] = name
		if in.Weight != nil {
			w.weights = append(w.weights, tensor{name, wide(p.Shape.Dimensions), p.DType(), in.Weight})
			continue
		}
		w.in = append(w.in, info{name, in.Doc, p.DType(), w.dims(p)})
	}
	for _, o := range m.Outputs {
		w.taken[o.Name] = true
	}
	if w.first == nil {
		w.failf("no input has rows")
	}
}

func (w *writer) failf(format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if !slices.ContainsFunc(w.errs, func(x error) bool { return x.Error() == err.Error() }) {
		w.errs = append(w.errs, err)
	}
}

// free returns a name that nothing else has.
func (w *writer) free(name string) string {
	out := name
	for i := 1; w.taken[out]; i++ {
		out = fmt.Sprintf("%s_%d", name, i)
	}
	w.taken[out] = true
	return out
}

// let writes an operator with one output and returns its name.
func (w *writer) let(op string, in []string, attrs ...attribute) string {
	out := w.free(op + "_0")
	w.nodes = append(w.nodes, node{op, in, []string{out}, attrs})
	return out
}

func (w *writer) node(n *ir.Node) {
	p := printerOf(n.Op)
	if p == nil {
		w.failf("%s: %w in ONNX", n.Op, compute.ErrNotImplemented)
		for _, v := range n.Outputs { // so that it is reported once
			w.names[v] = "undefined"
		}
		return
	}
	p(w, n)
}

// printer writes one node.
type printer func(w *writer, n *ir.Node)

// own are the printers of operations that the table does not spell.
var own = map[compute.OpType]printer{
	compute.OpTypeParameter:           func(*writer, *ir.Node) {},
	compute.OpTypeConstant:            constant,
	compute.OpTypeIdentity:            same,
	compute.OpTypeOptimizationBarrier: same,
	compute.OpTypeSchedulingBarrier:   same,
	compute.OpTypeReshape:             reshape,
	compute.OpTypeBroadcastInDim:      broadcast,
	compute.OpTypeIota:                counting,
	compute.OpTypeSlice:               slice,
	compute.OpTypeReverse:             reverse,
	compute.OpTypePad:                 pad,
	compute.OpTypeArgMinMax:           argMinMax,
	compute.OpTypeDotGeneral:          dot,
	compute.OpTypeConvGeneral:         convolution,
}

// printerOf returns nil for an operation that cannot be written.
func printerOf(t compute.OpType) printer {
	if p, ok := own[t]; ok {
		return p
	}
	if op.Of(t).ONNX != "" {
		return written
	}
	return nil
}

// graph returns the bytes of the GraphProto.
func (w *writer) graph(name string) message {
	var m message
	for _, n := range w.nodes {
		m = m.raw(1, n.wire())
	}
	m = m.text(2, name)
	for _, t := range w.weights {
		m = m.raw(5, t.wire())
	}
	for _, v := range w.in {
		m = m.raw(11, v.wire())
	}
	for _, v := range w.out {
		m = m.raw(12, v.wire())
	}
	return m
}
