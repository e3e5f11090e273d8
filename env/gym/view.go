package gym

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// view is an array of shared memory as Go sees it.
type view struct {
	name  string // name of the leaf
	bytes []byte
	flat  any // the same as a slice of its type
	shape shapes.Shape
	row   int // bytes of one environment
}

// sight holds what agents of a kind see at one of the times; what they do not have
// is an empty view.
type sight struct {
	x, legal           []view
	alive, turn, state view
}

// all returns the views that are there, in the order of parts.
func (s sight) all() []view {
	out := slices.Concat(s.x, s.legal, []view{s.alive, s.turn, s.state})
	return slices.DeleteFunc(out, func(v view) bool { return v.flat == nil })
}

// parts returns the tensors of an observation that are there.
func parts(o rl.Obs) []rl.Tensor {
	out := slices.Concat(rl.Leaves(o.X), rl.Leaves(o.Legal), []rl.Tensor{o.Alive, o.Turn, o.State})
	return slices.DeleteFunc(out, func(t rl.Tensor) bool { return !t.Ok() })
}

// kindViews are the arrays of one kind of agents.
type kindViews struct {
	action                        []view
	obs, final                    sight
	now, last                     []view // all of obs and of final
	reward, terminated, truncated view
}

// views holds the views of all kinds of agents, and of the flag that an episode is over.
type views struct {
	kinds []kindViews
	over  view
}

func viewsOf(specs []env.Spec, l *layout, memory []byte) views {
	all, rows := map[string]view{}, specs[0].Rows
	for _, a := range l.arrays {
		v := view{bytes: memory[a.Offset : a.Offset+a.size*rows], row: a.size}
		v.shape = shapes.Make(a.dtype, append([]int{rows}, a.Shape...)...)
		v.flat = typed(v.bytes, a.dtype)
		all[a.Name] = v
	}
	out := views{over: all["over"]}
	for k, spec := range specs {
		out.kinds = append(out.kinds, kindViewsOf(spec, fmt.Sprint(k, "/"), all))
	}
	return out
}

func kindViewsOf(spec env.Spec, prefix string, all map[string]view) kindViews {
	pick := func(name string, leaves []rl.SpaceLeaf) (out []view) {
		for _, l := range leaves {
			v := all[prefix+name+l.Name]
			v.name = l.Name
			out = append(out, v)
		}
		return out
	}
	see := func(when string) sight {
		return sight{
			x: pick(when+"/x/", spec.Obs.Leaves()), legal: pick(when+"/legal/", masks(spec)),
			alive: all[prefix+when+"/alive"], turn: all[prefix+when+"/turn"], state: all[when+"/state"],
		}
	}
	obs, final := see("obs"), see("final")
	return kindViews{
		action: pick("action/", spec.Action.Leaves()), obs: obs, final: final, now: obs.all(), last: final.all(),
		reward: all[prefix+"reward"], terminated: all[prefix+"terminated"], truncated: all[prefix+"truncated"],
	}
}

// typed returns bytes as a slice of a type.
func typed(b []byte, d dtypes.DType) any {
	if len(b) == 0 {
		return dtypes.MakeAnySlice(d, 0)
	}
	p, n := unsafe.Pointer(&b[0]), len(b)/d.Size()
	switch d {
	case dtypes.Float32:
		return unsafe.Slice((*float32)(p), n)
	case dtypes.Int32:
		return unsafe.Slice((*int32)(p), n)
	case dtypes.Int64:
		return unsafe.Slice((*int64)(p), n)
	case dtypes.Bool:
		return unsafe.Slice((*bool)(p), n)
	}
	return b
}

// bytesOf returns a tensor's data, for reading only.
func bytesOf(t rl.Tensor) []byte {
	switch t.Shape().DType {
	case dtypes.Float32:
		return dtypes.UnsafeByteSlice(rl.Read[float32](t))
	case dtypes.Int32:
		return dtypes.UnsafeByteSlice(rl.Read[int32](t))
	case dtypes.Int64:
		return dtypes.UnsafeByteSlice(rl.Read[int64](t))
	case dtypes.Bool:
		return dtypes.UnsafeByteSlice(rl.Read[bool](t))
	}
	return dtypes.UnsafeByteSlice(rl.Read[uint8](t))
}

// tensor returns a copy of the array on the device; none of an empty view.
func (v view) tensor(s *rl.Scope) rl.Tensor {
	if v.flat == nil {
		return rl.Tensor{}
	}
	return s.Device().Tensor(v.flat, v.shape)
}

// at returns environment i's part.
func (v view) at(i int) []byte { return v.bytes[i*v.row : (i+1)*v.row] }

// tree returns views as a tree of tensors.
func tree(s *rl.Scope, all []view) rl.Tree {
	if len(all) == 0 {
		return rl.Tree{}
	}
	names, leaves := make([]string, len(all)), make([]rl.Tensor, len(all))
	for i, v := range all {
		names[i], leaves[i] = v.name, v.tensor(s)
	}
	return rl.NewTree(names, leaves)
}

// obs returns a copy of what is seen.
func (s sight) obs(scope *rl.Scope, first rl.Tensor) rl.Obs {
	return rl.Obs{
		X: tree(scope, s.x), Legal: tree(scope, s.legal),
		State: s.state.tensor(scope), Turn: s.turn.tensor(scope), Alive: s.alive.tensor(scope), First: first,
	}
}

// write puts actions where workers read them.
func (v *views) write(action []rl.Tree) {
	for k := range v.kinds {
		for i, a := range v.kinds[k].action {
			copy(a.bytes, bytesOf(action[k].At(i)))
		}
	}
}

// fill makes the final observation of environment i the one that is to be acted
// on, where no episode ended.
func (v *views) fill(i int) {
	for _, kind := range v.kinds {
		for j, last := range kind.last {
			copy(last.at(i), kind.now[j].at(i))
		}
	}
}

// observation returns what shared memory shows as tensors; over says where an episode
// begins.
func (b *batch) observation() []rl.Obs {
	first := rl.FromFlat(b.scope, b.over, len(b.over))
	out := make([]rl.Obs, len(b.specs))
	for k := range out {
		out[k] = b.views.kinds[k].obs.obs(b.scope, first)
	}
	return out
}

// result returns a step as shared memory has it.
func (b *batch) result() []rl.Step {
	any := false
	for i, x := range b.views.over.bytes {
		b.over[i] = x != 0
		any = any || b.over[i]
	}
	obs := b.observation()
	final := obs
	if any {
		final = b.final()
	}
	out := make([]rl.Step, len(obs))
	for k := range out {
		v := &b.views.kinds[k]
		out[k] = rl.Step{
			Obs: obs[k], Final: final[k], Reward: v.reward.tensor(b.scope),
			Terminated: v.terminated.tensor(b.scope), Truncated: v.truncated.tensor(b.scope), Over: obs[k].First,
		}
	}
	return out
}

// final returns the observations as they were before any reset.
func (b *batch) final() []rl.Obs {
	for i, over := range b.over {
		if !over {
			b.views.fill(i)
		}
	}
	first := rl.FromFlat(b.scope, make([]bool, len(b.over)), len(b.over))
	out := make([]rl.Obs, len(b.specs))
	for k := range out {
		out[k] = b.views.kinds[k].final.obs(b.scope, first)
	}
	return out
}
