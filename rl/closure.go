package rl

import (
	"reflect"
	"unsafe"

	"github.com/gomlx/gomlx/core/graph"
)

// Closure is graph.NewClosure for bodies that compute with scalars, as nearly all
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

// scalarCache is the graph's field of that meaning, which GoMLX does not export; ok
// is false where a version of it has none.
func scalarCache(g *graph.Graph) (field reflect.Value, ok bool) {
	f := reflect.ValueOf(g).Elem().FieldByName("scalars")
	if !f.IsValid() || f.Kind() != reflect.Map {
		return f, false
	}
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem(), true
}
