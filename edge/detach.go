package edge

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"

	"github.com/weft-rl/weft/rl"
)

// Between goroutines a value must not share memory that either side may write: a
// loop that reuses a buffer would race with whoever received it. Processes copy
// when they encode; inside a process detach does. Tensors and trees are immutable and
// stay shared.

// detach returns v with copies of its slices, maps and pointers, nested ones too, so
// that it shares no mutable memory with v. A type without any costs a lookup and no
// allocation.
func detach[T any](v T) T {
	f := copierOf(reflect.TypeFor[T]())
	if f == nil {
		return v
	}
	return copied(v, f)
}

// copied stands apart from detach so that only values that are copied move to the heap.
func copied[T any](v T, f copier) T {
	f(unsafe.Pointer(&v))
	return v
}

// copier replaces the mutable memory that the value at an address refers to by a
// copy. It is nil for types that refer to none.
type copier func(at unsafe.Pointer)

var copiers sync.Map // reflect.Type -> copier, worked out once for each type

func copierOf(t reflect.Type) copier {
	if f, ok := copiers.Load(t); ok {
		return f.(copier)
	}
	var f copier
	if data(t, nil) {
		f = makeCopier(t)
	}
	copiers.Store(t, f)
	return f
}

// data reports whether t, part of the types inside, is plain data. Functions,
// channels, interfaces and types that contain themselves are not: their values are
// passed on as they are.
func data(t reflect.Type, inside []reflect.Type) bool {
	if immutable(t) {
		return true
	}
	if slices.Contains(inside, t) {
		return false
	}
	inside = append(inside, t)
	switch t.Kind() {
	case reflect.Slice, reflect.Array, reflect.Pointer:
		return data(t.Elem(), inside)
	case reflect.Map:
		return data(t.Key(), inside) && data(t.Elem(), inside)
	case reflect.Struct:
		for i := range t.NumField() {
			if !data(t.Field(i).Type, inside) {
				return false
			}
		}
		return true
	}
	return false
}

// immutable reports whether values of t hold nothing that can be written.
func immutable(t reflect.Type) bool {
	return t == reflect.TypeFor[rl.Tensor]() || t == reflect.TypeFor[rl.Tree]() ||
		t.Kind() >= reflect.Bool && t.Kind() <= reflect.Complex128 || t.Kind() == reflect.String
}

// makeCopier makes the copier of plain data.
func makeCopier(t reflect.Type) copier {
	if immutable(t) {
		return nil
	}
	switch t.Kind() {
	case reflect.Slice:
		return sliceCopier(t)
	case reflect.Array:
		return arrayCopier(t)
	case reflect.Pointer:
		return pointerCopier(t)
	case reflect.Map:
		return mapCopier(t)
	}
	return structCopier(t)
}

func sliceCopier(t reflect.Type) copier {
	elem, size := makeCopier(t.Elem()), t.Elem().Size()
	return func(at unsafe.Pointer) {
		v := reflect.NewAt(t, at).Elem()
		if v.IsNil() {
			return
		}
		clone := reflect.MakeSlice(t, v.Len(), v.Len())
		reflect.Copy(clone, v)
		v.Set(clone)
		if elem != nil {
			each(clone.UnsafePointer(), clone.Len(), size, elem)
		}
	}
}

func arrayCopier(t reflect.Type) copier {
	elem, n, size := makeCopier(t.Elem()), t.Len(), t.Elem().Size()
	if elem == nil {
		return nil
	}
	return func(at unsafe.Pointer) { each(at, n, size, elem) }
}

// each copies n elements that lie one after another.
func each(at unsafe.Pointer, n int, size uintptr, elem copier) {
	for i := range n {
		elem(unsafe.Add(at, uintptr(i)*size))
	}
}

func pointerCopier(t reflect.Type) copier {
	elem := makeCopier(t.Elem())
	return func(at unsafe.Pointer) {
		v := reflect.NewAt(t, at).Elem()
		if v.IsNil() {
			return
		}
		clone := reflect.New(t.Elem())
		clone.Elem().Set(v.Elem())
		if elem != nil {
			elem(clone.UnsafePointer())
		}
		v.Set(clone)
	}
}

func mapCopier(t reflect.Type) copier {
	elem := makeCopier(t.Elem())
	return func(at unsafe.Pointer) {
		v := reflect.NewAt(t, at).Elem()
		if v.IsNil() {
			return
		}
		clone := reflect.MakeMapWithSize(t, v.Len())
		for k, x := range v.Seq2() {
			held := reflect.New(t.Elem())
			held.Elem().Set(x)
			if elem != nil {
				elem(held.UnsafePointer())
			}
			clone.SetMapIndex(k, held.Elem())
		}
		v.Set(clone)
	}
}

func structCopier(t reflect.Type) copier {
	type field struct {
		copier
		offset uintptr
	}
	var fields []field
	for i := range t.NumField() {
		if f := makeCopier(t.Field(i).Type); f != nil {
			fields = append(fields, field{f, t.Field(i).Offset})
		}
	}
	if fields == nil {
		return nil
	}
	return func(at unsafe.Pointer) {
		for _, f := range fields {
			f.copier(unsafe.Add(at, f.offset))
		}
	}
}
