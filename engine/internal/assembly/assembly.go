// Package assembly writes PTX, the portable assembly of NVIDIA GPUs: registers, instructions, and
// the elements of operations. It knows nothing of graphs; package ptx puts kernels together with
// it.
package assembly

import (
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"
)

// Class is a kind of register.
type Class int

// The classes: floats, words of bits, and predicates.
const (
	F32 Class = iota
	F64
	B32
	B64
	Pred
	classes
)

var names = [classes]struct{ declared, prefix string }{{"f32", "f"}, {"f64", "d"}, {"b32", "r"}, {"b64", "l"}, {"pred", "p"}}

// Kind is how an element type is computed with: its registers, the suffix of arithmetic, and its
// size in memory.
type Kind struct {
	Class  Class
	Suffix string
	Size   int
}

// KindOf returns the kind of an element type, false if kernels do not compute with it.
func KindOf(t dtypes.DType) (Kind, bool) {
	switch t {
	case dtypes.Float32:
		return Kind{F32, "f32", 4}, true
	case dtypes.Float64:
		return Kind{F64, "f64", 8}, true
	case dtypes.Int32:
		return Kind{B32, "s32", 4}, true
	case dtypes.Uint32:
		return Kind{B32, "u32", 4}, true
	case dtypes.Int64:
		return Kind{B64, "s64", 8}, true
	case dtypes.Uint64:
		return Kind{B64, "u64", 8}, true
	case dtypes.Bool:
		return Kind{Pred, "pred", 1}, true
	}
	return Kind{}, false
}

// float reports whether elements are floats.
func (k Kind) float() bool { return k.Class == F32 || k.Class == F64 }

// untyped returns the suffix for moving bits.
func (k Kind) untyped() string { return names[k.Class].declared }

// Writer writes the body of one kernel. The zero value is ready to use.
type Writer struct {
	b      strings.Builder
	counts [classes]int
	turns  []map[string]turn // turns of numbers, by the blocks that are open; see Enter
	depth  int
}

// Enter begins a part of the program; Exit ends it, and forgets the registers that were computed in
// it.
func (w *Writer) Enter() { w.depth++ }

// Exit ends what Enter began.
func (w *Writer) Exit() {
	w.depth--
	w.turns = w.turns[:min(len(w.turns), w.depth+1)]
}

// New returns a register that nothing else uses.
func (w *Writer) New(c Class) string {
	w.counts[c]++
	return fmt.Sprintf("%%%s%d", names[c].prefix, w.counts[c]-1)
}

// Many returns n registers that nothing else uses.
func (w *Writer) Many(c Class, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = w.New(c)
	}
	return out
}

// Line writes one instruction.
func (w *Writer) Line(format string, args ...any) {
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteString(";\n")
}

// Op writes an instruction with a new register for its result, and returns that.
func (w *Writer) Op(c Class, name string, args ...string) string {
	out := w.New(c)
	w.Line("%s %s, %s", name, out, strings.Join(args, ", "))
	return out
}

// F writes an instruction of float32.
func (w *Writer) F(name string, args ...string) string { return w.Op(F32, name+".f32", args...) }

// Label marks the place that a branch goes to.
func (w *Writer) Label(name string) { w.b.WriteString(name + ":\n") }

// Body returns what was written.
func (w *Writer) Body() string { return w.b.String() }

// Declarations returns the lines that declare all registers.
func (w *Writer) Declarations() string {
	var b strings.Builder
	for c, n := range w.counts {
		if n > 0 {
			fmt.Fprintf(&b, ".reg .%s %%%s<%d>;\n", names[c].declared, names[c].prefix, n)
		}
	}
	return b.String()
}

// Float returns a float32 immediate.
func Float(x float64) string { return fmt.Sprintf("0f%08X", math.Float32bits(float32(x))) }

// Double returns a float64 immediate.
func Double(x float64) string { return fmt.Sprintf("0d%016X", math.Float64bits(x)) }

// Immediate returns a constant element; bits are its own, in the low bytes.
func Immediate(t dtypes.DType, bits uint64) string {
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

// Constant returns a register with a constant element of a kind.
func (w *Writer) Constant(t dtypes.DType, k Kind, bits uint64) string {
	if k.Class != Pred {
		return w.Op(k.Class, "mov."+k.Suffix, Immediate(t, bits))
	}
	zero := w.Op(B32, "mov.u32", "0")
	return w.Op(Pred, "setp.ne.u32", zero, fmt.Sprint(bits&1))
}

// Either returns a where the predicate p holds, else b.
func (w *Writer) Either(k Kind, p, a, b string) string {
	if k.Class != Pred {
		return w.Op(k.Class, "selp."+k.untyped(), a, b, p)
	}
	yes := w.Op(Pred, "and.pred", p, a)
	no := w.Op(Pred, "and.pred", w.Op(Pred, "not.pred", p), b)
	return w.Op(Pred, "or.pred", yes, no)
}
