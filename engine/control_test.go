package engine

import (
	"slices"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// run executes a graph function through GoMLX and returns its outputs.
func run(t testing.TB, b *Backend, fn func(xs []*Node) []*Node, args ...any) []*tensors.Tensor {
	t.Helper()
	exec, err := NewExec(b, fn)
	if err != nil {
		t.Fatal(err)
	}
	outs, err := exec.Call(args...)
	if err != nil {
		t.Fatalf("%+v", err)
	}
	exec.Finalize()
	return outs
}

func f32(t testing.TB, x *tensors.Tensor) []float32 {
	t.Helper()
	return slices.Clone(tensors.MustCopyFlatData[float32](x))
}

// loop is While with a counter: body gets and returns the state without it.
func loop(g *Graph, n int, state []*Node, body func(i *Node, s []*Node) []*Node) []*Node {
	params := func() (i *Node, s []*Node) {
		i = Parameter(g, "i", shapes.Make(dtypes.Int32))
		for k, v := range state {
			s = append(s, Parameter(g, string(rune('a'+k)), v.Shape()))
		}
		return i, s
	}
	cond := NewClosure(g, func(g *Graph) []*Node {
		i, _ := params()
		return []*Node{LessThan(i, Const(g, int32(n)))}
	})
	next := NewClosure(g, func(g *Graph) []*Node {
		i, s := params()
		return append([]*Node{AddScalar(i, 1)}, body(i, s)...)
	})
	return While(cond, next, append([]*Node{Const(g, int32(0))}, state...)...)[1:]
}

func TestControl(t *testing.T) {
	tests := []struct {
		name string
		args []any
		fn   func(xs []*Node) []*Node
		want []float32
	}{
		{"while", []any{[]float32{1, 2}}, func(xs []*Node) []*Node {
			return loop(xs[0].Graph(), 3, xs, func(_ *Node, s []*Node) []*Node { return []*Node{MulScalar(s[0], 2)} })
		}, []float32{8, 16}},
		{"no iterations", []any{[]float32{1, 2}}, func(xs []*Node) []*Node {
			return loop(xs[0].Graph(), 0, xs, func(_ *Node, s []*Node) []*Node { return []*Node{MulScalar(s[0], 2)} })
		}, []float32{1, 2}},
		{"while in while", []any{[]float32{1}, []float32{3}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return loop(g, 3, xs[:1], func(_ *Node, s []*Node) []*Node {
				return loop(g, 2, s, func(_ *Node, s []*Node) []*Node {
					return []*Node{Add(s[0], xs[1])} // captured through two closures
				})
			})
		}, []float32{19}},
		{"three deep, with the middle's index", []any{[]float32{0}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return loop(g, 2, xs, func(_ *Node, s []*Node) []*Node {
				return loop(g, 3, s, func(j *Node, s []*Node) []*Node {
					return loop(g, 4, s, func(k *Node, s []*Node) []*Node {
						return []*Node{Add(s[0], ConvertDType(Mul(j, k), dtypes.Float32))}
					})
				})
			})
		}, []float32{36}},
		{"if in while", []any{[]float32{0}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return loop(g, 5, xs, func(i *Node, s []*Node) []*Node {
				odd := Equal(Mod(i, Const(g, int32(2))), Const(g, int32(1)))
				yes := NewClosure(g, func(g *Graph) []*Node { return []*Node{AddScalar(s[0], 10)} })
				no := NewClosure(g, func(g *Graph) []*Node { return []*Node{Add(s[0], ConvertDType(i, dtypes.Float32))} })
				return If(odd, yes, no)
			})
		}, []float32{26}},
		{"sort in while", []any{[]float32{3, 1, 2}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return loop(g, 2, xs, func(i *Node, s []*Node) []*Node {
				return []*Node{MulScalar(Sort(s[0], 0, true), 2)}
			})
		}, []float32{4, 8, 12}},
		{"sort by what was captured", []any{[]float32{3, 1, 2}, float32(2)}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return loop(g, 1, xs[:1], func(i *Node, s []*Node) []*Node {
				nearer := NewClosure(g, func(g *Graph) []*Node {
					a := Parameter(g, "a", shapes.Make(dtypes.Float32))
					b := Parameter(g, "b", shapes.Make(dtypes.Float32))
					return []*Node{LessThan(Abs(Sub(a, xs[1])), Abs(Sub(b, xs[1])))}
				})
				return SortFunc(nearer, 0, true, s[0])
			})
		}, []float32{2, 3, 1}},
		{"gradient in while", []any{[]float32{1, -2}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return loop(g, 3, xs, func(_ *Node, s []*Node) []*Node {
				loss := ReduceAllSum(Square(s[0]))
				grad := Gradient(loss, s[0])[0]
				return []*Node{Sub(s[0], MulScalar(grad, 0.25))}
			})
		}, []float32{0.125, -0.25}},
		{"gradient of what was captured", []any{[]float32{1}, []float32{2}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return loop(g, 2, xs[:1], func(_ *Node, s []*Node) []*Node {
				return []*Node{Gradient(ReduceAllSum(Mul(Square(s[0]), xs[1])), s[0])[0]}
			})
		}, []float32{16}},
		{"swap", []any{[]float32{1}, []float32{2}}, func(xs []*Node) []*Node {
			return loop(xs[0].Graph(), 3, xs, func(_ *Node, s []*Node) []*Node { return []*Node{s[1], s[0]} })[:1]
		}, []float32{2}},
		{"state untouched", []any{[]float32{1}, []float32{5}}, func(xs []*Node) []*Node {
			s := loop(xs[0].Graph(), 3, xs, func(_ *Node, s []*Node) []*Node { return []*Node{Add(s[0], s[1]), s[1]} })
			return []*Node{Add(s[0], s[1])}
		}, []float32{21}},
		{"update in place", []any{[]float32{0, 0, 0, 0}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return loop(g, 4, xs, func(i *Node, s []*Node) []*Node {
				v := Reshape(ConvertDType(Add(i, Const(g, int32(1))), dtypes.Float32), 1)
				return []*Node{DynamicUpdateSlice(s[0], v, []*Node{i})}
			})
		}, []float32{1, 2, 3, 4}},
		{"state captured as well", []any{[]float32{1, 2}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return loop(g, 2, xs, func(_ *Node, s []*Node) []*Node {
				return loop(g, 2, s, func(_ *Node, t []*Node) []*Node { return []*Node{Add(t[0], s[0])} })
			})
		}, []float32{9, 18}},
		{"in place, but the old value is needed", []any{[]float32{1, 1}, []float32{0, 0}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			s := loop(g, 2, xs, func(i *Node, s []*Node) []*Node {
				return []*Node{MulScalar(s[0], 3), Add(s[1], s[0])}
			})
			return []*Node{s[1]}
		}, []float32{4, 4}},
	}
	for _, config := range []string{"", "off=all", "threads=1,off=inplace"} {
		b := newBackend(t, config)
		for _, tt := range tests {
			t.Run(config+"/"+tt.name, func(t *testing.T) {
				out := run(t, b, tt.fn, tt.args...)[0]
				if got := f32(t, out); !slices.Equal(got, tt.want) {
					t.Errorf("got %v, want %v", got, tt.want)
				}
			})
		}
	}
}

func TestCall(t *testing.T) {
	b := newBackend(t, "")
	out := run(t, b, func(xs []*Node) []*Node {
		g := xs[0].Graph()
		square := NewFunction(g, "square", func(g *Graph) []*Node {
			x := Parameter(g, "x", shapes.Make(dtypes.Float32, 2))
			return []*Node{Mul(x, x)}
		})
		twice := NewFunction(g, "twice", func(g *Graph) []*Node {
			x := Parameter(g, "x", shapes.Make(dtypes.Float32, 2))
			return square.Call(square.Call(x)[0])
		})
		return []*Node{Add(twice.Call(xs[0])[0], square.Call(xs[0])[0])}
	}, []float32{2, 3})[0]
	if got, want := f32(t, out), []float32{20, 90}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSort(t *testing.T) {
	b := newBackend(t, "")
	in := [][]float32{{3, 1, 2}, {9, 8, 7}}
	out := run(t, b, func(xs []*Node) []*Node {
		return []*Node{Sort(xs[0], 1, true), Sort(xs[0], 0, false)}
	}, in)
	top := run(t, b, func(xs []*Node) []*Node {
		v, i := TopK(xs[0], 2, -1)
		return []*Node{v, ConvertDType(i, dtypes.Float32)}
	}, in)
	for i, want := range [][]float32{{3, 2, 9, 8}, {0, 2, 0, 1}} {
		if got := f32(t, top[i]); !slices.Equal(got, want) {
			t.Errorf("top %d: got %v, want %v", i, got, want)
		}
	}
	for i, want := range [][]float32{{1, 2, 3, 7, 8, 9}, {9, 8, 7, 3, 1, 2}} {
		if got := f32(t, out[i]); !slices.Equal(got, want) {
			t.Errorf("sort %d: got %v, want %v", i, got, want)
		}
	}
}
