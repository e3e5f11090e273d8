package ptx

import (
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/rows"
)

// class is a kind of register.
type class int

const (
	f32 class = iota
	f64
	b32
	b64
	pred
)

var classes = [...]struct{ declared, prefix string }{{"f32", "f"}, {"f64", "d"}, {"b32", "r"}, {"b64", "l"}, {"pred", "p"}}

// kind is how an element type is computed with: its registers, the suffix of arithmetic, and its size in memory.
type kind struct {
	class  class
	suffix string
	size   int
}

func kindOf(t dtypes.DType) kind {
	switch t {
	case dtypes.Float32:
		return kind{f32, "f32", 4}
	case dtypes.Float64:
		return kind{f64, "f64", 8}
	case dtypes.Int32:
		return kind{b32, "s32", 4}
	case dtypes.Uint32:
		return kind{b32, "u32", 4}
	case dtypes.Int64:
		return kind{b64, "s64", 8}
	case dtypes.Uint64:
		return kind{b64, "u64", 8}
	case dtypes.Bool:
		return kind{pred, "pred", 1}
	}
	refuse("elements of type %s", t)
	return kind{}
}

// writer writes one kernel.
type writer struct {
	loop   *rows.Loop
	b      strings.Builder
	counts [len(classes)]int
	params int
	warps  int
	halves bool // products round their operands to bfloat16
	shared int  // floats that a warp needs to hand a vector round
	labels int

	scopes  []map[*rows.Node][]string // the registers of what is computed, innermost last
	turns   []map[string]turn         // of numbers, by the same scopes
	carried map[int][]string          // registers of states
	weights map[*rows.Node][]string   // of products whose matrix is held
	inputs  []string                  // addresses
	outputs map[int]string            // addresses by result
	lane    string
	lane64  string
	row     string // u64
	first   string // predicate: this is thread 0
	round   string
	stage   string // address of the warp's shared memory
	used    int    // 32-bit registers that hold matrices
	budget  int
	own     func(*rows.Node) []string // computes a node in a way of its own, or returns nil
	tails   map[int]string            // predicates of threads whose last element exists, by elements in the last register
}

func newWriter(l *rows.Loop, warps int, p ir.Precision) *writer {
	return &writer{loop: l, warps: warps, halves: p == ir.BF16, carried: map[int][]string{}, weights: map[*rows.Node][]string{}, outputs: map[int]string{},
		tails: map[int]string{}, scopes: []map[*rows.Node][]string{{}}, budget: 176}
}

// enter begins a part of the program, exit ends it: what is computed there is not there any more.
func (w *writer) enter() { w.scopes = append(w.scopes, map[*rows.Node][]string{}) }

func (w *writer) exit() {
	w.scopes = w.scopes[:len(w.scopes)-1]
	w.turns = w.turns[:min(len(w.turns), len(w.scopes))]
}

func (w *writer) new(c class) string {
	w.counts[c]++
	return fmt.Sprintf("%%%s%d", classes[c].prefix, w.counts[c]-1)
}

func (w *writer) many(c class, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = w.new(c)
	}
	return out
}

func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteString(";\n")
}

// op writes an instruction with a new register for its result.
func (w *writer) op(c class, name string, args ...string) string {
	out := w.new(c)
	w.line("%s %s, %s", name, out, strings.Join(args, ", "))
	return out
}

func (w *writer) f(name string, args ...string) string { return w.op(f32, name+".f32", args...) }

func (w *writer) label() string {
	w.labels++
	return fmt.Sprintf("L%d", w.labels-1)
}

func (w *writer) at(label string) { w.b.WriteString(label + ":\n") }

// float is a float32 immediate.
func float(x float64) string { return fmt.Sprintf("0f%08X", math.Float32bits(float32(x))) }

func double(x float64) string { return fmt.Sprintf("0d%016X", math.Float64bits(x)) }

// immediate is a constant element.
func immediate(t dtypes.DType, bits uint64) string {
	switch t {
	case dtypes.Float32:
		return fmt.Sprintf("0f%08X", uint32(bits))
	case dtypes.Float64:
		return fmt.Sprintf("0d%016X", bits)
	case dtypes.Int32:
		return fmt.Sprint(int32(bits))
	case dtypes.Int64:
		return fmt.Sprint(int64(bits))
	}
	return fmt.Sprint(bits)
}

// constant is a register with a constant element.
func (w *writer) constant(t dtypes.DType, bits uint64) string {
	k := kindOf(t)
	if k.class != pred {
		return w.op(k.class, "mov."+k.suffix, immediate(t, bits))
	}
	zero := w.op(b32, "mov.u32", "0")
	return w.op(pred, "setp.ne.u32", zero, fmt.Sprint(bits&1))
}

// spread reports whether a vector of n elements is spread over the threads.
func spread(n int) bool { return n > small }

// registers is how many a thread has of a vector of n elements.
func registers(n int) int {
	if spread(n) {
		return (n + lanes - 1) / lanes
	}
	return n
}
