// Package fault has what a wrong projector or runner might do to values; a test
// puts calls of it into generated programs.
package fault

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/rl"
)

// Turn reverses rows, as a gather in the wrong order would.
func Turn[T any](v T) T {
	return rl.Map(v, func(t rl.Tensor) rl.Tensor {
		if t.Shape().Rank() == 0 {
			return t
		}
		index := make([]int, t.Rows())
		for i := range index {
			index[i] = len(index) - 1 - i
		}
		return rl.Gather(t, 1, index)
	})
}

// Local is a key that counts rows from the replica's first one, not from the first
// of all.
func Local(k rl.Key) rl.Key {
	own := reflect.ValueOf(&k).Elem().FieldByName("own")
	reflect.NewAt(own.Type(), unsafe.Pointer(own.UnsafeAddr())).Elem().SetZero()
	return k
}

type place struct {
	x    *edge.X
	edge int
}

var (
	mu   sync.Mutex
	last = map[place]any{}
)

// Reused puts a value into the memory of the one that was sent before it.
func Reused[T any](x *edge.X, edge int, v T) T {
	mu.Lock()
	defer mu.Unlock()
	old, ok := last[place{x, edge}].(T)
	if !ok {
		last[place{x, edge}] = v
		return v
	}
	before := rl.Leaves(old)
	for i, t := range rl.Leaves(v) {
		if t.Ok() && t.Shape().DType == dtypes.Float32 {
			copy(rl.Read[float32](before[i]), rl.Read[float32](t))
		}
	}
	return old
}
