// Package stablehlo writes recorded computations as StableHLO, the language that XLA compiles for
// CPUs, GPUs and TPUs. It is text in, text out: nothing here needs XLA or C.
//
// An operation is written as the table of operations spells it, or by a printer of its own.
// Closures become regions: what the body of a loop captures is carried along as state that does not
// change, what a branch captures it simply names. Dead nodes are left out. The text depends on the
// module alone, so that programs can be compared and cached by it.
//
// Where StableHLO leaves a choice, or XLA's own way would give other numbers than the CPU engine,
// the engine's meaning is written out: sums of 16-bit floats are done in float32, the first of
// several equal elements wins, and random bits are Philox in plain integer arithmetic rather than
// the operation XLA has for it, so that they are the same bits.
package stablehlo

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/op"
	"github.com/weft-rl/weft/engine/ir"
)

// Options change a program without changing the module.
type Options struct {
	// Donate says, for inputs that the caller gives away, in which output's memory they may be used
	// again. Shape and element type of the two must be the same.
	Donate map[int]int

	// Precision is how products of float32 take their operands: as they are, unless another one is
	// asked for. Thin products that are written out (Spread) take them as they are in any case, and
	// convolutions round to TF32 at most.
	Precision ir.Precision

	// Spread writes thin products, of few columns or over a short axis, as sums of elementwise
	// ones, which a device that launches kernels one by one makes part of the kernels around them.
	// Their sums are taken in another order.
	Spread bool

	// Sent are inputs that come together, in the words of one tensor that stands behind the other
	// inputs: each begins with a word of its own, see [Words]. What nobody reads of them is left
	// out of it.
	Sent []int

	// Kernels writes loops whose rows do not look at each other as one kernel each, in PTX, for XLA
	// on NVIDIA GPUs.
	Kernels bool

	// Shared is how many bytes of shared memory a block of a kernel may have; 0 stands for what
	// every such device has.
	Shared int
}

// Supports reports whether an operation can be written.
func Supports(t compute.OpType) bool { return printerOf(t) != nil }

// Text writes the module as a StableHLO module with a function called main.
func Text(m *ir.Module, o Options) (string, error) {
	w := &writer{names: map[*ir.Value]string{}, helpers: map[string]bool{}, symbols: map[*ir.Func]string{}, options: o,
		replicas: max(m.Replicas, 1), split: m.Split, cuts: map[*ir.Value]int{}, words: Words(m.Main, o.Sent)}
	if o.Kernels { // which look through calls
		m = &ir.Module{Name: m.Name, Main: m.Flatten(), Replicas: m.Replicas, Split: m.Split, Devices: m.Devices}
	}
	for i, f := range m.Funcs {
		w.symbols[f] = fmt.Sprintf("%s_%d", symbol(f.Name), i) // two names may become one symbol
	}
	for _, f := range m.Funcs {
		w.function(f, "private", w.symbols[f])
	}
	w.function(m.Main, "public", "main")
	if len(w.errs) > 0 {
		return "", fmt.Errorf("computation %q as StableHLO: %w", m.Name, errors.Join(w.errs...))
	}
	return "module @" + symbol(m.Name) + mesh(m.Split) + w.before.String() + w.b.String() + "}\n", nil
}

var notSymbol = regexp.MustCompile(`[^A-Za-z0-9_]`)

// symbol makes a name one that needs no quotes; the prefix keeps it apart from main and from
// helpers.
func symbol(name string) string { return "f_" + notSymbol.ReplaceAllString(name, "_") }

// writer prints one module. Values are numbered through, so that no region hides a name of another.
type writer struct {
	b       strings.Builder
	before  strings.Builder     // helper functions
	helpers map[string]bool     // helpers that were written
	symbols map[*ir.Func]string // symbols of named functions
	indent  string
	names   map[*ir.Value]string
	next    int
	options Options
	errs    []error

	replicas int
	split    *ir.Split         // split of main's parameters and results among devices; nil on one
	cuts     map[*ir.Value]int // axes of main's parameters, and of what loops make of them
	kernels  int               // written so far
	words    Layout
}

func (w *writer) failf(format string, args ...any) {
	w.errs = append(w.errs, fmt.Errorf(format, args...))
}

// line writes one line at the current depth.
func (w *writer) line(format string, args ...any) {
	w.b.WriteString(w.indent)
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

// block writes what body does one level deeper.
func (w *writer) block(body func()) {
	outer := w.indent
	w.indent += "  "
	body()
	w.indent = outer
}

func (w *writer) fresh() string {
	w.next++
	return fmt.Sprintf("%%%d", w.next-1)
}

// let writes an operation with one result and returns the name of that.
func (w *writer) let(format string, args ...any) string {
	name := w.fresh()
	w.line("%s = %s", name, fmt.Sprintf(format, args...))
	return name
}

// set writes the operation that makes the node's one output.
func (w *writer) set(n *ir.Node, format string, args ...any) {
	w.names[n.Outputs[0]] = w.let(format, args...)
}

// many names the results of an operation that has any number of them: the text before its equals
// sign, and each.
func (w *writer) many(count int) (left string, each []string) {
	name := w.fresh()
	if count == 1 {
		return name, []string{name}
	}
	for i := range count {
		each = append(each, fmt.Sprintf("%s#%d", name, i))
	}
	return fmt.Sprintf("%s:%d", name, count), each
}

func (w *writer) name(v *ir.Value) string {
	if name := w.names[v]; name != "" {
		return name
	}
	w.failf("a %s is used before it is written", v.Node.Op)
	return "%undefined"
}

func (w *writer) list(vs []*ir.Value) string {
	parts := make([]string, len(vs))
	for i, v := range vs {
		parts[i] = w.name(v)
	}
	return strings.Join(parts, ", ")
}

func (w *writer) function(f *ir.Func, visibility, name string) {
	if len(f.Results) == 0 {
		w.failf("function %s returns nothing", name)
		return
	}
	var args []string
	var sent []int
	var words Layout
	if visibility == "public" {
		sent, words = w.options.Sent, w.words
	}
	for i, v := range f.Params {
		if slices.Contains(sent, i) {
			continue
		}
		w.names[v] = fmt.Sprintf("%%arg%d", i)
		args = append(args, w.names[v]+": "+typeOf(v)+w.attributes(visibility, i, v))
	}
	if words.Len > 0 {
		args = append(args, "%sent: "+tensor(dtypes.Uint32, words.Len))
	}
	w.indent = "  "
	w.line("func.func %s @%s(%s) -> (%s) {", visibility, name, strings.Join(args, ", "), w.resultTypes(visibility, f))
	w.block(func() {
		w.unpack(f, words)
		w.body(f)
		w.line("return %s : %s", w.list(f.Results), typesOf(f.Results))
	})
	w.line("}")
}

// body writes the nodes of a function that its results need, in their order, but each after what it
// needs.
func (w *writer) body(f *ir.Func) {
	regions := w.regions(f)
	needs := func(n *ir.Node) []*ir.Value {
		if r := regions[n]; r != nil {
			return r.inputs()
		}
		return n.Inputs
	}
	live, done, once := map[*ir.Node]bool{}, map[*ir.Node]bool{}, map[*ir.Node]bool(nil)
	var mark, write func(n *ir.Node)
	mark = func(n *ir.Node) {
		if !live[n] {
			live[n] = true
			for _, v := range needs(n) {
				mark(v.Node)
			}
		}
	}
	write = func(n *ir.Node) {
		if done[n] {
			return
		}
		done[n] = true
		for _, v := range needs(n) {
			write(v.Node)
		}
		if r := regions[n]; r == nil {
			w.node(n)
			if once[n] {
				w.fix(n)
			}
		} else if !r.written {
			w.sums(r)
		}
	}
	for _, r := range f.Results {
		mark(r.Node)
	}
	nodes := slices.DeleteFunc(slices.Clone(f.Nodes), func(n *ir.Node) bool { return !live[n] })
	if w.options.Spread { // for a device that launches kernels one by one
		once = w.once(nodes)
	}
	for _, n := range nodes {
		write(n)
	}
}

func (w *writer) node(n *ir.Node) {
	p := printerOf(n.Op)
	switch {
	case p == nil:
		w.errs = append(w.errs, fmt.Errorf("%s: %w", n.Op, compute.ErrNotImplemented))
		for _, v := range n.Outputs { // so that it is reported once
			w.names[v] = "%undefined"
		}
	case n.Outputs[0].DType().IsHalfPrecision() && op.Of(n.Op).Wide == op.Everywhere:
		w.widened(n, p)
	default:
		p(w, n)
	}
}
