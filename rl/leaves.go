package rl

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/weft-rl/weft/internal/leaves"
)

// structs are the codecs of structs of tensors.
var structs = leaves.NewSet[Tensor, Tree]()

// mustCodec returns the codec of T. It fails if values of T cannot cross an operation.
func mustCodec[T any]() *leaves.Codec[Tensor] {
	c, err := structs.Of(reflect.TypeFor[T]())
	check(err)
	return c
}

// Leaves returns the tensors of a struct of tensors, in declaration order, absent
// ones included.
//
//weft:moves
func Leaves[T any](v T) []Tensor {
	c := mustCodec[T]()
	out := make([]Tensor, 0, c.Size)
	return c.Read(borrowed(unsafe.Pointer(&v)), out)
}

// borrowed returns p for a callee that keeps no pointer to what p points to: a codec.
// The compiler cannot see that through a function value, and would put every
// struct that crosses an operation on the heap. While the pointer is a number the
// stack must not move, so nothing may be called before it is handed on, by what
// checks races and pointers neither.
//
//go:nosplit
//go:norace
//go:nocheckptr
func borrowed(p unsafe.Pointer) unsafe.Pointer {
	x := uintptr(p)
	return *(*unsafe.Pointer)(unsafe.Pointer(&x))
}

// LeafNames returns the paths of the tensors that Leaves gives.
//
//weft:pure
func LeafNames[T any](v T) []string {
	return mustCodec[T]().Names(unsafe.Pointer(&v), "", nil)
}

// Rebuild returns like with its tensors replaced by leaves, in the order of Leaves.
//
//weft:moves
func Rebuild[T any](like T, leaves []Tensor) T {
	rest, ok := mustCodec[T]().Write(borrowed(unsafe.Pointer(&like)), leaves)
	if !ok {
		failf("fewer tensors than the struct has fields")
	}
	if len(rest) != 0 {
		failf("%d tensors too many for %T", len(rest), like)
	}
	return like
}

// Map applies f to every present tensor of a struct of tensors.
//
//weft:refuse compute in a graph function
func Map[T any](v T, f func(Tensor) Tensor) T {
	leaves := Leaves(v)
	for i, t := range leaves {
		if t.Ok() {
			leaves[i] = f(t)
		}
	}
	return Rebuild(v, leaves)
}

// FormOf returns how v is put together, apart from its tensors, as text.
func FormOf[T any](v T) string {
	text, err := mustCodec[T]().Form(unsafe.Pointer(&v))
	check(err)
	return text
}

// OfForm returns a T of a form that FormOf gave, its tensors absent.
func OfForm[T any](text string) (v T, err error) {
	if err := mustCodec[T]().Take(unsafe.Pointer(&v), text); err != nil {
		return v, fmt.Errorf("the form of %T: %w", v, err)
	}
	return v, nil
}
