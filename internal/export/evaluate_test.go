package export_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/weft-rl/weft/rl"
)

// A small interpreter of ONNX, so that models are checked where there is no onnxruntime. It has the
// operators of policies without pictures, on numbers of one type.

// value is a tensor of numbers, whatever they are in the model.
type value struct {
	dims []int
	x    []float64
}

// message is a protocol buffer taken apart: by field, numbers or bytes.
type message map[protowire.Number][]any

func parse(b []byte) message {
	m := message{}
	for len(b) > 0 {
		field, kind, n := protowire.ConsumeTag(b)
		b = b[n:]
		if kind == protowire.VarintType {
			x, n := protowire.ConsumeVarint(b)
			m[field], b = append(m[field], int64(x)), b[n:]
			continue
		}
		x, n := protowire.ConsumeBytes(b)
		if n < 0 {
			panic("a model that is no protocol buffer")
		}
		m[field], b = append(m[field], x), b[n:]
	}
	return m
}

func (m message) texts(field protowire.Number) (out []string) {
	for _, x := range m[field] {
		out = append(out, string(x.([]byte)))
	}
	return out
}

func (m message) ints(field protowire.Number) (out []int) {
	for _, x := range m[field] {
		out = append(out, int(x.(int64)))
	}
	return out
}

func (m message) text(field protowire.Number) string { return strings.Join(m.texts(field), "") }

// constantOf reads a TensorProto.
func constantOf(m message) value {
	v := value{dims: m.ints(1)}
	data := m[9][0].([]byte)
	for len(data) > 0 {
		n, ok := map[int]int{1: 4, 2: 1, 6: 4, 7: 8, 9: 1, 11: 8}[m.ints(2)[0]]
		if !ok {
			panic(fmt.Sprintf("no constant has elements of type %d", m.ints(2)[0]))
		}
		x := 0.
		switch m.ints(2)[0] {
		case 1:
			x = float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
		case 11:
			x = math.Float64frombits(binary.LittleEndian.Uint64(data))
		case 6:
			x = float64(int32(binary.LittleEndian.Uint32(data)))
		case 7:
			x = float64(int64(binary.LittleEndian.Uint64(data)))
		default:
			x = float64(data[0])
		}
		v.x, data = append(v.x, x), data[n:]
	}
	return v
}

// errLacks is an operator that the interpreter does not have.
type errLacks string

func (e errLacks) Error() string { return "no operator " + string(e) }

// evaluate runs a model.
func evaluate(model []byte, in map[string]value) (out map[string]value, err error) {
	graph := parse(parse(model)[7][0].([]byte))
	known := map[string]value{}
	for name, v := range in {
		known[name] = v
	}
	for _, t := range graph[5] {
		m := parse(t.([]byte))
		known[m.text(8)] = constantOf(m)
	}
	for _, n := range graph[1] {
		m := parse(n.([]byte))
		var args []value
		for _, name := range m.texts(1) {
			v, ok := known[name]
			if !ok {
				return nil, fmt.Errorf("%s takes %q before anything makes it", m.text(4), name)
			}
			args = append(args, v)
		}
		attrs := map[string]message{}
		for _, a := range m[5] {
			x := parse(a.([]byte))
			attrs[x.text(1)] = x
		}
		v, err := operate(m.text(4), args, attrs)
		if err != nil {
			return nil, err
		}
		if _, twice := known[m.text(2)]; twice {
			return nil, fmt.Errorf("%q is made twice", m.text(2))
		}
		known[m.text(2)] = v
	}
	return known, nil
}

var unary = map[string]func(float64) float64{
	"Tanh": math.Tanh, "Sqrt": math.Sqrt, "Exp": math.Exp, "Log": math.Log, "Neg": func(x float64) float64 { return -x }, "Abs": math.Abs,
	"Sigmoid": func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }, "Not": func(x float64) float64 { return 1 - x },
	"Reciprocal": func(x float64) float64 { return 1 / x }, "Identity": func(x float64) float64 { return x },
}

var binary2 = map[string]func(a, b float64) float64{
	"Add": func(a, b float64) float64 { return a + b }, "Sub": func(a, b float64) float64 { return a - b },
	"Mul": func(a, b float64) float64 { return a * b }, "Div": func(a, b float64) float64 { return a / b },
	"Max": math.Max, "Min": math.Min, "And": math.Min, "Or": math.Max, "Pow": math.Pow,
	"Equal": func(a, b float64) float64 { return truth(a == b) }, "Less": func(a, b float64) float64 { return truth(a < b) },
	"Greater": func(a, b float64) float64 { return truth(a > b) }, "GreaterOrEqual": func(a, b float64) float64 { return truth(a >= b) },
	"LessOrEqual": func(a, b float64) float64 { return truth(a <= b) },
}

func truth(b bool) float64 { return float64(flag(b)) }

func operate(op string, in []value, attrs map[string]message) (value, error) {
	integer := func(name string) int { return attrs[name].ints(3)[0] }
	if f, ok := unary[op]; ok {
		return elementwise(func(x []float64) float64 { return f(x[0]) }, in...), nil
	}
	if f, ok := binary2[op]; ok {
		return elementwise(func(x []float64) float64 { return f(x[0], x[1]) }, in...), nil
	}
	switch op {
	case "Where":
		return elementwise(func(x []float64) float64 {
			if x[0] != 0 {
				return x[1]
			}
			return x[2]
		}, in...), nil
	case "Cast":
		return elementwise(func(x []float64) float64 {
			if t := integer("to"); t == 6 || t == 7 {
				return math.Trunc(x[0])
			}
			return x[0]
		}, in...), nil
	case "Shape":
		return value{[]int{1}, []float64{float64(in[0].dims[0])}}, nil
	case "Reshape":
		return reshaped(in[0], in[1].x), nil
	case "Expand":
		shape := value{x: slices.Repeat([]float64{0}, product(in[1].x))}
		for _, d := range in[1].x {
			shape.dims = append(shape.dims, int(d))
		}
		return elementwise(func(x []float64) float64 { return x[0] }, in[0], shape), nil
	case "MatMul":
		return matmul(in[0], in[1]), nil
	case "Concat":
		return concat(in, integer("axis")), nil
	case "Slice":
		return sliced(in[0], in[1].x, in[2].x, in[4].x)
	case "ReduceSum":
		return reduce(in[0], in[1].x, func(xs []float64) (s float64) {
			for _, x := range xs {
				s += x
			}
			return s
		}), nil
	case "ReduceMax":
		return reduce(in[0], in[1].x, slices.Max[[]float64]), nil
	case "ReduceMin":
		return reduce(in[0], in[1].x, slices.Min[[]float64]), nil
	case "ArgMax":
		return reduce(in[0], []float64{float64(integer("axis"))}, func(xs []float64) float64 { return float64(slices.Index(xs, slices.Max(xs))) }), nil
	}
	return value{}, errLacks(op)
}

func product(x []float64) int {
	n := 1
	for _, d := range x {
		n *= int(d)
	}
	return n
}

// each calls do with every index of an array of some dimensions, in order.
func each(dims []int, do func(index []int)) {
	index := make([]int, len(dims))
	n := 1
	for _, d := range dims {
		n *= d
	}
	for range n {
		do(index)
		for a := len(dims) - 1; a >= 0; a-- {
			if index[a]++; index[a] < dims[a] {
				break
			}
			index[a] = 0
		}
	}
}

// at returns the element at an index, broadcast from the right.
func (v value) at(index []int) float64 {
	k := 0
	for i, d := range v.dims {
		j := index[len(index)-len(v.dims)+i]
		if d == 1 {
			j = 0
		}
		k = k*d + j
	}
	return v.x[k]
}

func elementwise(f func([]float64) float64, in ...value) (out value) {
	for _, v := range in {
		for len(out.dims) < len(v.dims) {
			out.dims = append([]int{1}, out.dims...)
		}
		for i, d := range v.dims {
			j := len(out.dims) - len(v.dims) + i
			out.dims[j] = max(out.dims[j], d)
		}
	}
	args := make([]float64, len(in))
	each(out.dims, func(index []int) {
		for i, v := range in {
			args[i] = v.at(index)
		}
		out.x = append(out.x, f(args))
	})
	return out
}

func reshaped(v value, shape []float64) value {
	out := value{x: v.x}
	open, n := -1, 1
	for i, d := range shape {
		if d < 0 {
			open, d = i, 1
		}
		out.dims, n = append(out.dims, int(d)), n*int(d)
	}
	if open >= 0 {
		out.dims[open] = len(v.x) / n
	}
	return out
}

func matmul(a, b value) (out value) {
	k, n := b.dims[0], b.dims[1]
	out.dims = append(slices.Clone(a.dims[:len(a.dims)-1]), n)
	for i := 0; i < len(a.x); i += k {
		for j := range n {
			s := 0.
			for l := range k {
				s += a.x[i+l] * b.x[l*n+j]
			}
			out.x = append(out.x, s)
		}
	}
	return out
}

func concat(in []value, axis int) value {
	out := value{dims: slices.Clone(in[0].dims)}
	out.dims[axis] = 0
	for _, v := range in {
		out.dims[axis] += v.dims[axis]
	}
	each(out.dims, func(index []int) {
		at := slices.Clone(index)
		for _, v := range in {
			if at[axis] < v.dims[axis] {
				out.x = append(out.x, v.at(at))
				return
			}
			at[axis] -= v.dims[axis]
		}
	})
	return out
}

func sliced(v value, starts, ends, steps []float64) (out value, err error) {
	for i, d := range v.dims {
		if steps[i] < 1 {
			return out, errLacks("Slice backwards")
		}
		out.dims = append(out.dims, int(math.Ceil((math.Min(ends[i], float64(d))-starts[i])/steps[i])))
	}
	each(out.dims, func(index []int) {
		at := slices.Clone(index)
		for i := range at {
			at[i] = int(starts[i]) + at[i]*int(steps[i])
		}
		out.x = append(out.x, v.at(at))
	})
	return out, nil
}

func reduce(v value, axes []float64, f func([]float64) float64) (out value) {
	var over []int
	for i, d := range v.dims {
		if slices.Contains(axes, float64(i)) {
			over = append(over, d)
		} else {
			out.dims = append(out.dims, d)
		}
	}
	each(out.dims, func(kept []int) {
		var xs []float64
		each(over, func(gone []int) {
			var at []int
			k, g := 0, 0
			for i := range v.dims {
				if slices.Contains(axes, float64(i)) {
					at, g = append(at, gone[g]), g+1
				} else {
					at, k = append(at, kept[k]), k+1
				}
			}
			xs = append(xs, v.at(at))
		})
		out.x = append(out.x, f(xs))
	})
	return out
}

// TestModels: models do what the agents do, as far as the interpreter has their operators, which it
// has for almost all.
func TestModels(t *testing.T) {
	ran, all := 0, 0
	for _, s := range subjects(t) {
		t.Run(s.String(), func(t *testing.T) {
			p, _ := trained(t, s)
			model, err := os.ReadFile(written(t, s, p))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Contains(model, []byte("weft.algorithm")) {
				t.Error("the model does not say where it comes from")
			}
			g, err := p.Graph(3)
			if err != nil {
				t.Fatal(err)
			}
			in := map[string]value{}
			for _, x := range g.In {
				if x.Fresh.Ok() {
					in[x.Name] = value{append([]int{3}, x.Fresh.Shape().Dimensions[1:]...), slices.Repeat(rl.Floats(x.Fresh), 3)}
				}
			}
			seen, arrays := look(cpu(t), rand.New(rand.NewPCG(3, 4)), p.Specs(), 3)
			for _, a := range arrays {
				in[a.Name] = value{a.Shape, rl.Floats(a.tensor(cpu(t)))}
			}
			for _, spec := range p.Specs() {
				in[prefix(p, spec)+"first"] = value{[]int{3}, []float64{1, 1, 1}}
			}
			all++
			out, err := evaluate(model, in)
			if _, lacks := err.(errLacks); lacks {
				t.Logf("left to onnxruntime: %v", err)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			ran++
			for name, x := range acted(t, p, seen) {
				for j, y := range slices.Repeat(x, 3) {
					if !(math.Abs(out[name].x[j]-y) <= near) {
						t.Fatalf("%s: number %d is %v, the agent's %v", name, j, out[name].x[j], y)
					}
				}
			}
		})
	}
	if ran < all*3/4 {
		t.Errorf("the interpreter ran %d of %d models only", ran, all)
	}
}
