package gym

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// array is one array in shared memory: a row for each environment.
type array struct {
	Name   string       `json:"name"`
	Type   string       `json:"dtype"`
	Shape  []int        `json:"shape"` // shape of a row
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

// row returns how many bytes an environment shows and is shown.
func (l *layout) row() (n int) {
	for _, a := range l.arrays {
		n += a.size
	}
	return n
}

// The two times at which an environment is looked at: when it is to be acted on,
// and before a reset.
var times = []string{"obs", "final"}

// layoutOf returns the arrays of a batch. Those of agents begin with the number of
// their kind: actions, what they see, rewards and flags.
func layoutOf(specs []env.Spec) *layout {
	l := &layout{}
	for k, spec := range specs {
		l.addKind(fmt.Sprint(k, "/"), spec)
	}
	if n := specs[0].State; n > 0 {
		for _, when := range times {
			l.add(when+"/state", dtypes.Float32, []int{n})
		}
	}
	l.add("over", dtypes.Bool, nil)
	l.place(specs[0].Rows)
	return l
}

func (l *layout) addKind(prefix string, spec env.Spec) {
	add := func(name string, d dtypes.DType, shape []int) {
		if spec.Agents > 1 {
			shape = append([]int{spec.Agents}, shape...)
		}
		l.add(prefix+name, d, shape)
	}
	leaves := func(prefix string, s rl.Space) {
		for _, x := range s.Leaves() {
			add(prefix+x.Name, x.Space.Shape().DType, x.Space.Shape().Dimensions)
		}
	}
	leaves("action/", spec.Action)
	for _, when := range times {
		leaves(when+"/x/", spec.Obs)
		for _, x := range masks(spec) {
			add(when+"/legal/"+x.Name, dtypes.Bool, []int{rl.Choices(x.Space)})
		}
		if spec.Mortal {
			add(when+"/alive", dtypes.Bool, nil)
		}
		if spec.Turns {
			add(when+"/turn", dtypes.Bool, nil)
		}
	}
	add("reward", dtypes.Float32, nil)
	add("terminated", dtypes.Bool, nil)
	add("truncated", dtypes.Bool, nil)
}

// masks returns the leaves of the action that have masks.
func masks(spec env.Spec) (out []rl.SpaceLeaf) {
	for _, l := range spec.Action.Leaves() {
		if spec.Masked && rl.Choices(l.Space) > 0 {
			out = append(out, l)
		}
	}
	return out
}
