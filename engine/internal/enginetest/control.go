package enginetest

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// Control is a graph with control flow, and what it gives.
type Control struct {
	Name string
	Args []any
	Fn   func(xs []*Node) []*Node
	Want []float32
}

// Loop does what While does with a counter: body gets and returns the state without it.
func Loop(g *Graph, n int, state []*Node, body func(i *Node, s []*Node) []*Node) []*Node {
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

// Controls nest control flow in every way that a training loop does.
func Controls() []Control {
	return []Control{
		{"while", []any{[]float32{1, 2}}, func(xs []*Node) []*Node {
			return Loop(xs[0].Graph(), 3, xs, func(_ *Node, s []*Node) []*Node { return []*Node{MulScalar(s[0], 2)} })
		}, []float32{8, 16}},
		{"no iterations", []any{[]float32{1, 2}}, func(xs []*Node) []*Node {
			return Loop(xs[0].Graph(), 0, xs, func(_ *Node, s []*Node) []*Node { return []*Node{MulScalar(s[0], 2)} })
		}, []float32{1, 2}},
		{"while in while", []any{[]float32{1}, []float32{3}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return Loop(g, 3, xs[:1], func(_ *Node, s []*Node) []*Node {
				return Loop(g, 2, s, func(_ *Node, s []*Node) []*Node {
					return []*Node{Add(s[0], xs[1])} // captured through two closures
				})
			})
		}, []float32{19}},
		{"three deep, with the middle's index", []any{[]float32{0}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return Loop(g, 2, xs, func(_ *Node, s []*Node) []*Node {
				return Loop(g, 3, s, func(j *Node, s []*Node) []*Node {
					return Loop(g, 4, s, func(k *Node, s []*Node) []*Node {
						return []*Node{Add(s[0], ConvertDType(Mul(j, k), dtypes.Float32))}
					})
				})
			})
		}, []float32{36}},
		{"if in while", []any{[]float32{0}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return Loop(g, 5, xs, func(i *Node, s []*Node) []*Node {
				odd := Equal(Mod(i, Const(g, int32(2))), Const(g, int32(1)))
				yes := NewClosure(g, func(g *Graph) []*Node { return []*Node{AddScalar(s[0], 10)} })
				no := NewClosure(g, func(g *Graph) []*Node { return []*Node{Add(s[0], ConvertDType(i, dtypes.Float32))} })
				return If(odd, yes, no)
			})
		}, []float32{26}},
		{"sort in while", []any{[]float32{3, 1, 2}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return Loop(g, 2, xs, func(i *Node, s []*Node) []*Node {
				return []*Node{MulScalar(Sort(s[0], 0, true), 2)}
			})
		}, []float32{4, 8, 12}},
		{"sort by what was captured", []any{[]float32{3, 1, 2}, float32(2)}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return Loop(g, 1, xs[:1], func(i *Node, s []*Node) []*Node {
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
			return Loop(g, 3, xs, func(_ *Node, s []*Node) []*Node {
				loss := ReduceAllSum(Square(s[0]))
				grad := Gradient(loss, s[0])[0]
				return []*Node{Sub(s[0], MulScalar(grad, 0.25))}
			})
		}, []float32{0.125, -0.25}},
		{"gradient of what was captured", []any{[]float32{1}, []float32{2}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return Loop(g, 2, xs[:1], func(_ *Node, s []*Node) []*Node {
				return []*Node{Gradient(ReduceAllSum(Mul(Square(s[0]), xs[1])), s[0])[0]}
			})
		}, []float32{16}},
		{"swap", []any{[]float32{1}, []float32{2}}, func(xs []*Node) []*Node {
			return Loop(xs[0].Graph(), 3, xs, func(_ *Node, s []*Node) []*Node { return []*Node{s[1], s[0]} })[:1]
		}, []float32{2}},
		{"state untouched", []any{[]float32{1}, []float32{5}}, func(xs []*Node) []*Node {
			s := Loop(xs[0].Graph(), 3, xs, func(_ *Node, s []*Node) []*Node { return []*Node{Add(s[0], s[1]), s[1]} })
			return []*Node{Add(s[0], s[1])}
		}, []float32{21}},
		{"update in place", []any{[]float32{0, 0, 0, 0}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return Loop(g, 4, xs, func(i *Node, s []*Node) []*Node {
				v := Reshape(ConvertDType(Add(i, Const(g, int32(1))), dtypes.Float32), 1)
				return []*Node{DynamicUpdateSlice(s[0], v, []*Node{i})}
			})
		}, []float32{1, 2, 3, 4}},
		{"state captured as well", []any{[]float32{1, 2}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			return Loop(g, 2, xs, func(_ *Node, s []*Node) []*Node {
				return Loop(g, 2, s, func(_ *Node, t []*Node) []*Node { return []*Node{Add(t[0], s[0])} })
			})
		}, []float32{9, 18}},
		{"in place, but the old value is needed", []any{[]float32{1, 1}, []float32{0, 0}}, func(xs []*Node) []*Node {
			g := xs[0].Graph()
			s := Loop(g, 2, xs, func(i *Node, s []*Node) []*Node {
				return []*Node{MulScalar(s[0], 3), Add(s[1], s[0])}
			})
			return []*Node{s[1]}
		}, []float32{4, 4}},
	}
}
