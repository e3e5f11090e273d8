package gym

import (
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// array is one array in shared memory: a row for each environment.
type array struct {
	Name   string       `json:"name"`
	Type   string       `json:"dtype"`
	Shape  []int        `json:"shape"` // of a row
	Offset int          `json:"offset"`
	dtype  dtypes.DType // nothing workers need to know
	size   int          // bytes of a row
}

// layout is where arrays lie.
type layout struct {
	arrays []array
	size   int
}

// align keeps rows of different arrays out of one cache line.
const align = 64

func (l *layout) add(name string, d dtypes.DType, shape []int) {
	size := d.Size()
	for _, n := range shape {
		size *= n
	}
	l.arrays = append(l.arrays, array{Name: name, Type: strings.ToLower(d.String()), Shape: append([]int{}, shape...), dtype: d, size: size})
}

// place gives every array its offset.
func (l *layout) place(rows int) {
	for i := range l.arrays {
		l.arrays[i].Offset = l.size
		l.size += (rows*l.arrays[i].size + align - 1) / align * align
	}
}

// layoutOf is the arrays of a batch: actions, observations as they are to be
// acted on and as they were before a reset, masks likewise, rewards and flags.
func layoutOf(spec env.Spec) *layout {
	l := &layout{}
	agents := func(shape []int) []int {
		if spec.Agents > 1 {
			return append([]int{spec.Agents}, shape...)
		}
		return shape
	}
	leaves := func(prefix string, s rl.Space) {
		for _, x := range s.Leaves() {
			shape := x.Space.Shape()
			l.add(prefix+x.Name, shape.DType, agents(shape.Dimensions))
		}
	}
	leaves("action/", spec.Action)
	leaves("obs/", spec.Obs)
	leaves("final/", spec.Obs)
	for _, x := range masks(spec) {
		shape := agents([]int{rl.Choices(x.Space)})
		l.add("mask/"+x.Name, dtypes.Bool, shape)
		l.add("final_mask/"+x.Name, dtypes.Bool, shape)
	}
	l.add("reward", dtypes.Float32, agents(nil))
	l.add("terminated", dtypes.Bool, agents(nil))
	l.add("truncated", dtypes.Bool, agents(nil))
	l.place(spec.Rows)
	return l
}

// masks are the leaves of the action that have masks.
func masks(spec env.Spec) (out []rl.SpaceLeaf) {
	for _, l := range spec.Action.Leaves() {
		if spec.Masked && rl.Choices(l.Space) > 0 {
			out = append(out, l)
		}
	}
	return out
}
