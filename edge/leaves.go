package edge

import (
	"reflect"

	"github.com/weft-rl/weft/rl"
)

// hasLeaves reports whether values of type T are made of tensors alone, so that rl.Leaves
// takes them.
func hasLeaves[T any]() bool { return rl.System.HasLeaves(reflect.TypeFor[T]()) }

// whole returns v with what comes part by part put together: for others than the goroutine
// that it comes to.
func whole[T any](v T) T {
	if !hasLeaves[T]() {
		return v
	}
	if leaves := rl.Leaves(v); rl.System.Whole(leaves) {
		return rl.Rebuild(v, leaves)
	}
	return v
}

// begin begins to bring what v has on a device of its own memory to another one, or to the
// host if to is nil.
func begin[T any](v T, to *rl.Device) {
	if hasLeaves[T]() {
		rl.System.Begin(rl.Leaves(v), to)
	}
}
