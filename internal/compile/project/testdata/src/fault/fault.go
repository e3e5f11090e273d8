// Package fault has what a wrong projector or runner might do to values; a test
// puts calls of it into generated programs.
package fault

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
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

var (
	turned map[uint64]bool
	taken  = map[string]bool{}
)

// Steer makes Way invert the conditions at some lines of the source from now on, and
// forgets the ways that were taken.
func Steer(lines []uint64) {
	mu.Lock()
	defer mu.Unlock()
	turned, taken = map[uint64]bool{}, map[string]bool{}
	for _, l := range lines {
		turned[l] = true
	}
}

// Way returns the condition of the branch at a line of the source, or its opposite,
// and notes what it returns. All programs of a loop are steered alike, so that they
// still have to agree.
func Way[T ~bool](line uint64, cond T) T {
	cond = cond != T(turned[line])
	note(fmt.Sprint(line, " ", cond))
	return cond
}

// Case notes that the case at a line of the source was taken.
func Case(line uint64) { note(fmt.Sprint(line, " case")) }

func note(way string) {
	mu.Lock()
	defer mu.Unlock()
	taken[way] = true
}

// Taken returns the ways that were taken since Steer: lines with what their condition
// was, or with the word case.
func Taken() []string {
	mu.Lock()
	defer mu.Unlock()
	return slices.Sorted(maps.Keys(taken))
}
