package stablehlo

import (
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
)

// Layout is where inputs lie that come together in one tensor of 32-bit words.
type Layout struct {
	Input []int // inputs that are read, in their order
	At    []int // the first word of each
	Len   int   // words of all
}

// Words returns how the given inputs of a function come together. A number is in memory as it is on
// a device; a number of 8 bytes is two words, least significant first, and numbers of fewer than 4
// bytes fill up a word.
func Words(f *ir.Func, sent []int) Layout {
	var l Layout
	if len(sent) == 0 {
		return l
	}
	live := f.Live()
	for _, i := range sent {
		v := f.Params[i]
		if !live[v.Node] {
			continue
		}
		l.Input, l.At = append(l.Input, i), append(l.At, l.Len)
		l.Len += (v.Bytes() + 3) / 4
	}
	return l
}

// unpack names the inputs that come together.
func (w *writer) unpack(f *ir.Func, l Layout) {
	for j, i := range l.Input {
		v, end := f.Params[i], l.Len
		if j+1 < len(l.At) {
			end = l.At[j+1]
		}
		words := w.let("stablehlo.slice %%sent [%d:%d:1] : (%s) -> %s", l.At[j], end, tensor(dtypes.Uint32, l.Len),
			tensor(dtypes.Uint32, end-l.At[j]))
		w.names[v] = w.input(words, end-l.At[j], v)
	}
}

// input returns a value made of words as they lie in memory, where a bool is a byte.
func (w *writer) input(words string, count int, v *ir.Value) string {
	if v.DType() != dtypes.Bool {
		return w.cut(words, count, v)
	}
	bytes := &ir.Value{Shape: v.Shape.Clone()}
	bytes.Shape.DType = dtypes.Uint8
	return w.let("stablehlo.convert %s : (%s) -> %s", w.cut(words, count, bytes), typeOf(bytes), typeOf(v))
}
