package gym

import (
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// view is an array of shared memory as Go sees it.
type view struct {
	name  string // of the leaf
	bytes []byte
	flat  any // the same as a slice of its type
	shape shapes.Shape
	row   int // bytes of one environment
}

// views are all of them.
type views struct {
	action, obs, final, mask, finalMask []view
	reward, terminated, truncated       view
}

func viewsOf(spec env.Spec, l *layout, memory []byte) views {
	all := map[string]view{}
	for _, a := range l.arrays {
		v := view{bytes: memory[a.Offset : a.Offset+a.size*spec.Rows], row: a.size}
		v.shape = shapes.Make(a.dtype, append([]int{spec.Rows}, a.Shape...)...)
		v.flat = typed(v.bytes, a.dtype)
		all[a.Name] = v
	}
	pick := func(prefix string, leaves []rl.SpaceLeaf) (out []view) {
		for _, l := range leaves {
			v := all[prefix+l.Name]
			v.name = l.Name
			out = append(out, v)
		}
		return out
	}
	return views{
		action: pick("action/", spec.Action.Leaves()), obs: pick("obs/", spec.Obs.Leaves()), final: pick("final/", spec.Obs.Leaves()),
		mask: pick("mask/", masks(spec)), finalMask: pick("final_mask/", masks(spec)),
		reward: all["reward"], terminated: all["terminated"], truncated: all["truncated"],
	}
}

// typed is bytes as a slice of a type.
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

// bytesOf is a tensor's data, for reading only.
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

// tensor is a copy of the array on the device.
func (v view) tensor(s *rl.Scope) rl.Tensor { return s.Device().Tensor(v.flat, v.shape) }

// at is environment i's part.
func (v view) at(i int) []byte { return v.bytes[i*v.row : (i+1)*v.row] }

// tree is views as a tree of tensors.
func tree(s *rl.Scope, all []view) rl.Tree {
	names, leaves := make([]string, len(all)), make([]rl.Tensor, len(all))
	for i, v := range all {
		names[i], leaves[i] = v.name, v.tensor(s)
	}
	return rl.NewTree(names, leaves)
}

// write puts actions where workers read them.
func (v *views) write(action rl.Tree) {
	for i, a := range v.action {
		copy(a.bytes, bytesOf(action.At(i)))
	}
}

// fill makes the final observation of environment i the one that is to be acted
// on, where no episode ended.
func (v *views) fill(i int) {
	for j := range v.final {
		copy(v.final[j].at(i), v.obs[j].at(i))
	}
	for j := range v.finalMask {
		copy(v.finalMask[j].at(i), v.mask[j].at(i))
	}
}

// observation is what shared memory shows as tensors; over says where an episode
// begins.
func (b *batch) observation() rl.Obs {
	o := rl.Obs{X: tree(b.scope, b.views.obs), First: rl.FromFlat(b.scope, b.over, len(b.over))}
	if b.spec.Masked {
		o.Legal = tree(b.scope, b.views.mask)
	}
	return o
}

// result is a step as shared memory has it.
func (b *batch) result() rl.Step {
	v, any := &b.views, false
	te, tr := v.terminated.bytes, v.truncated.bytes
	for i := range b.over {
		b.over[i] = te[i]|tr[i] != 0
		any = any || b.over[i]
	}
	out := rl.Step{
		Obs: b.observation(), Reward: v.reward.tensor(b.scope),
		Terminated: v.terminated.tensor(b.scope), Truncated: v.truncated.tensor(b.scope),
	}
	out.Over, out.Final = out.Obs.First, out.Obs
	if any {
		out.Final = b.final()
	}
	return out
}

// final is the observations as they were before any reset.
func (b *batch) final() rl.Obs {
	for i, over := range b.over {
		if !over {
			b.views.fill(i)
		}
	}
	o := rl.Obs{X: tree(b.scope, b.views.final), First: rl.FromFlat(b.scope, make([]bool, len(b.over)), len(b.over))}
	if b.spec.Masked {
		o.Legal = tree(b.scope, b.views.finalMask)
	}
	return o
}
