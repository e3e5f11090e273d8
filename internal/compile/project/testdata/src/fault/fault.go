// Package fault has what a wrong projector or runner might do to values; a test
// puts calls of it into generated programs.
package fault

import (
	"reflect"
	"sync"
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/env"
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

// Gathered is edge.Gathered in the wrong order.
func Gathered[T any](x *edge.X, e int) T { return Turn(edge.Gathered[T](x, e)) }

// Key is a draw that knows nothing of other replicas.
func Key(run *rl.Run, use string, at ...int) rl.Key { return Local(run.Key(use, at...)) }

// Publish and Fetch leave a copy out.
func Publish(*edge.X, int, rl.Component) {}

// Fetch is the other end.
func Fetch(*edge.X, int, rl.Component) {}

// AllReduce leaves a replica with its own gradients.
func AllReduce(_ *edge.X, _ int, g rl.Grads) rl.Grads { return g }

type copies struct {
	place
	of rl.Component
}

var turns = map[copies]int{}

// late is true every other time, at both ends.
func late(x *edge.X, e int, c rl.Component) bool {
	mu.Lock()
	defer mu.Unlock()
	k := copies{place{x, e}, c}
	turns[k]++
	return turns[k]%2 == 1
}

// PublishLate and FetchLate leave out every other copy.
func PublishLate(x *edge.X, e int, c rl.Component) {
	if !late(x, e, c) {
		edge.Publish(x, e, c)
	}
}

// FetchLate is the other end.
func FetchLate(x *edge.X, e int, c rl.Component) {
	if !late(x, e, c) {
		edge.Fetch(x, e, c)
	}
}

var buffers = map[env.Batch]rl.Obs{}

// Step puts all observations of an environment into the memory of the first one.
func Step(e env.Batch, action rl.Tree) rl.Step {
	out := e.Step(action)
	mu.Lock()
	defer mu.Unlock()
	first, ok := buffers[e]
	if !ok {
		buffers[e] = out.Obs
		return out
	}
	into := rl.Leaves(first)
	for i, t := range rl.Leaves(out.Obs) {
		if t.Ok() && t.Shape().DType == dtypes.Float32 {
			copy(rl.Read[float32](into[i]), rl.Read[float32](t))
		}
	}
	out.Obs = first
	return out
}

// Fused forgets the last variable that a graph leaves.
func Fused(run *rl.Run, name string, vars []rl.Carried, body func(), of ...int) bool {
	return edge.Fused(run, name, vars[:max(0, len(vars)-1)], body, of...)
}

// KeyAt is the key of the first position, whatever the position is.
func KeyAt(run *rl.Run, use string, at ...rl.Int) rl.Key {
	return edge.KeyAt(run, use, make([]rl.Int, len(at))...)
}

// One, added to the line of an if, makes Steer invert that one alone.
const One = 1 << 63

var flip uint64

// Steer chooses the branches whose conditions Way inverts from now on: none for 0, that
// of one line, or otherwise one in three, others for every number.
func Steer(by uint64) { flip = by }

// Way returns the condition of the branch at a line of the source, or its opposite.
// All programs of a loop are steered alike, so that they still have to agree.
func Way[T ~bool](line uint64, cond T) T {
	inverted := false
	switch {
	case flip >= One:
		inverted = line == flip-One
	case flip > 0:
		inverted = (line*0x9e3779b97f4a7c15^flip*0xd1342543de82ef95)>>40%3 == 0
	}
	return cond != T(inverted)
}
