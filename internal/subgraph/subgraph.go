// Package subgraph builds functions inside of GoMLX graphs: the bodies of loops and branches.
package subgraph

import (
	"reflect"
	"unsafe"

	"github.com/gomlx/gomlx/core/graph"
)

// Closure does what graph.NewClosure does for bodies that compute with scalars, as nearly all
// do. GoMLX v0.28.1 keeps one cache of scalar constants for a whole graph, so that
// a constant first asked for inside a closure is used outside of it as well, where
// it does not exist. Each closure gets a cache of its own here.
func Closure(g *graph.Graph, f func(*graph.Graph) []*graph.Node) *graph.Function {
	cache, ok := scalarCache(g)
	if !ok {
		return graph.NewClosure(g, f)
	}
	outer := reflect.ValueOf(cache.Interface())
	defer func() { cache.Set(outer) }()
	cache.Set(reflect.MakeMap(cache.Type()))
	return graph.NewClosure(g, f)
}

// scalarCache returns the graph's field of that meaning, which GoMLX does not export; ok
// is false where a version of it has none.
func scalarCache(g *graph.Graph) (field reflect.Value, ok bool) {
	f := reflect.ValueOf(g).Elem().FieldByName("scalars")
	if !f.IsValid() || f.Kind() != reflect.Map {
		return f, false
	}
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem(), true
}

// Repeat returns n rounds of step as a loop of the graph, from state on: what is there
// after the last. i is the number of the round, an int32 scalar.
func Repeat(g *graph.Graph, n int, state []*graph.Node, step func(i *graph.Node, state []*graph.Node) []*graph.Node) []*graph.Node {
	counted := append([]*graph.Node{graph.Const(g, int32(0))}, state...)
	return While(g, counted,
		func(now []*graph.Node) *graph.Node {
			return graph.LessThan(now[0], graph.Const(now[0].Graph(), int32(n)))
		},
		func(now []*graph.Node) []*graph.Node {
			return append([]*graph.Node{graph.AddScalar(now[0], 1)}, step(now[0], now[1:])...)
		})[1:]
}

// While returns what rounds of step make of state, as a loop of the graph that goes on while cond,
// a bool scalar, is true of it.
func While(g *graph.Graph, state []*graph.Node, cond func(state []*graph.Node) *graph.Node, step func(state []*graph.Node) []*graph.Node) []*graph.Node {
	parameters := func(g *graph.Graph) (now []*graph.Node) {
		for _, x := range state {
			now = append(now, graph.Parameter(g, "", x.Shape()))
		}
		return now
	}
	goesOn := Closure(g, func(g *graph.Graph) []*graph.Node { return []*graph.Node{cond(parameters(g))} })
	body := Closure(g, func(g *graph.Graph) []*graph.Node { return step(parameters(g)) })
	return graph.While(goesOn, body, state...)
}
