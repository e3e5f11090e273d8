package onnx

import (
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/ir"
)

// dim is one dimension: a number, or, where rows is not 0, so many times the number of rows.
type dim struct{ n, rows int }

func (d dim) String() string {
	switch d.rows {
	case 0:
		return fmt.Sprint(d.n)
	case 1:
		return "rows"
	}
	return fmt.Sprintf("%d*rows", d.rows)
}

// dims returns the dimensions of a value for any number of rows.
func (w *writer) dims(v *ir.Value) []dim {
	a, b := v.Shape.Dimensions, w.twin[v].Shape.Dimensions
	out := make([]dim, len(a))
	for i, n := range a {
		switch {
		case len(a) != len(b):
			w.failf("%s: a value has %d axes for %d rows and %d for %d", v.Node.Op, len(a), w.rows[0], len(b), w.rows[1])
			return out
		case n == b[i]:
			out[i].n = n
		case n%w.rows[0] == 0 && b[i] == n/w.rows[0]*w.rows[1]:
			out[i] = dim{n, n / w.rows[0]}
		default:
			w.failf("%s: an axis has %d elements for %d rows and %d for %d: no multiple of the rows", v.Node.Op, n, w.rows[0], b[i], w.rows[1])
		}
	}
	return out
}

// fixed reports whether no dimension depends on the number of rows.
func fixed(dims []dim) bool {
	for _, d := range dims {
		if d.rows > 0 {
			return false
		}
	}
	return true
}

// shape returns the name of a list of dimensions, as operators take it.
func (w *writer) shape(dims []dim) string {
	if fixed(dims) {
		return w.ints(numbers(dims)...)
	}
	return w.once(fmt.Sprint("shape", dims), func() string {
		var parts []string
		for _, d := range dims {
			if d.rows > 0 {
				parts = append(parts, w.count(d.rows))
			} else {
				parts = append(parts, w.ints(int64(d.n)))
			}
		}
		if len(parts) == 1 {
			return parts[0]
		}
		return w.let("Concat", parts, attribute{"axis", int64(0)})
	})
}

// count returns the name of a list of one number: so many times the rows.
func (w *writer) count(times int) string {
	return w.once(fmt.Sprint("rows*", times), func() string {
		if times > 1 {
			return w.let("Mul", []string{w.count(1), w.ints(int64(times))})
		}
		return w.let("Shape", []string{w.names[w.first]}, attribute{"start", int64(0)}, attribute{"end", int64(1)})
	})
}

// once returns what make returned when the key was first seen.
func (w *writer) once(key string, make func() string) string {
	if name, ok := w.known[key]; ok {
		return name
	}
	name := make()
	w.known[key] = name
	return name
}

// ints returns the name of a list of numbers.
func (w *writer) ints(xs ...int64) string {
	var data []byte
	for _, x := range xs {
		data = binary.LittleEndian.AppendUint64(data, uint64(x))
	}
	return w.constant(tensor{dims: []int64{int64(len(xs))}, of: dtypes.Int64, data: data})
}

// constant returns the name of a constant, one for all that are alike.
func (w *writer) constant(t tensor) string {
	return w.once(fmt.Sprintf("constant %s %v %x", t.of, t.dims, t.data), func() string {
		t.name = w.free("constant_0")
		w.weights = append(w.weights, t)
		return t.name
	})
}

// reshaped returns the name of a value in other dimensions.
func (w *writer) reshaped(name string, dims []dim) string {
	open := 0
	to := numbers(dims)
	for i, d := range dims {
		if d.rows > 0 {
			to[i], open = -1, open+1
		}
	}
	if open > 1 {
		return w.let("Reshape", []string{name, w.shape(dims)})
	}
	return w.let("Reshape", []string{name, w.ints(to...)})
}

// name returns the name of a value in its full dimensions.
func (w *writer) name(v *ir.Value) string {
	if name, ok := w.names[v]; ok {
		return name
	}
	w.names[v] = w.let("Expand", []string{w.small[v], w.shape(w.dims(v))})
	return w.names[v]
}

// list returns the names of values.
func (w *writer) list(vs []*ir.Value) (out []string) {
	for _, v := range vs {
		out = append(out, w.name(v))
	}
	return out
}

// broadcasting returns the names of the operands of an elementwise operator, which repeats small
// ones itself as long as one of them has the full dimensions.
func (w *writer) broadcasting(vs []*ir.Value) []string {
	out, full := make([]string, len(vs)), false
	for i, v := range vs {
		if small, ok := w.small[v]; ok {
			out[i] = small
		} else {
			out[i], full = w.names[v], true
		}
	}
	if !full {
		out[0] = w.name(vs[0])
	}
	return out
}

func numbers(dims []dim) []int64 {
	out := make([]int64, len(dims))
	for i, d := range dims {
		out[i] = int64(d.n)
	}
	return out
}

func wide(xs []int) []int64 {
	out := make([]int64, len(xs))
	for i, x := range xs {
		out[i] = int64(x)
	}
	return out
}

// ones returns n dimensions of one element.
func ones(n int) []dim {
	out := make([]dim, n)
	for i := range out {
		out[i].n = 1
	}
	return out
}

// words splits one line of the table's text.
func words(line string) []string { return strings.Fields(line) }
