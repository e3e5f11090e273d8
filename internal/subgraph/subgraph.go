// Package subgraph builds functions inside of GoMLX graphs: the bodies of loops and branches.
package subgraph

import (
	"reflect"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
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
	index := shapes.Make(dtypes.Int32)
	parameters := func(g *graph.Graph) (i *graph.Node, now []*graph.Node) {
		i = graph.Parameter(g, "i", index)
		for _, x := range state {
			now = append(now, graph.Parameter(g, "", x.Shape()))
		}
		return i, now
	}
	cond := Closure(g, func(g *graph.Graph) []*graph.Node {
		i, _ := parameters(g)
		return []*graph.Node{graph.LessThan(i, graph.Const(g, int32(n)))}
	})
	body := Closure(g, func(g *graph.Graph) []*graph.Node {
		i, now := parameters(g)
		return append([]*graph.Node{graph.AddScalar(i, 1)}, step(i, now)...)
	})
	return graph.While(cond, body, append([]*graph.Node{graph.Const(g, int32(0))}, state...)...)[1:]
}
