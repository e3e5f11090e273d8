package env

import (
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/weft-rl/weft/rl"
)

// Number lists the element types of rows: any of them in a Box, int32 in spaces of whole numbers.
type Number interface {
	bool | int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64 | float32 | float64
}

// Row is one environment's part of a tree: its numbers in row-major order, to
// be read (actions) or written (observations).
type Row struct {
	t *table
	i int
}

// Leaf returns the numbers of a leaf of a row; "" names the only one.
func Leaf[T Number](r Row, name string) []T {
	j := slices.Index(r.t.names, name)
	if j < 0 {
		rl.Failf("no leaf %q among %q", name, r.t.names)
	}
	x, ok := r.t.flat[j].([]T)
	if !ok {
		rl.Failf("leaf %q holds %T", name, r.t.flat[j])
	}
	n := r.t.size[j]
	return x[r.i*n : (r.i+1)*n : (r.i+1)*n]
}

// Float32 returns the numbers of a float32 leaf.
func (r Row) Float32(name string) []float32 { return Leaf[float32](r, name) }

// Int32 returns the numbers of an int32 leaf: discrete actions and observations.
func (r Row) Int32(name string) []int32 { return Leaf[int32](r, name) }

// Uint8 returns the numbers of a uint8 leaf: images.
func (r Row) Uint8(name string) []uint8 { return Leaf[uint8](r, name) }

// Legal returns the mask of legal actions for a leaf of the action, to be written
// with every observation of a masked environment.
func (r Row) Legal(name string) []bool {
	if r.t.masks == nil || !slices.Contains(r.t.masks.names, name) {
		rl.Failf("the environment's spec has no mask for action %q: set Masked", name)
	}
	return Leaf[bool](Row{r.t.masks, r.i}, name)
}

// table is the rows of all environments of a batch.
type table struct {
	names []string
	flat  []any          // slices of all environments' numbers
	one   []shapes.Shape // shapes of one environment
	size  []int          // numbers of one environment
	masks *table         // masks of legal actions, beside observations; nil without
}

func (t *table) add(name string, flat any, one shapes.Shape) {
	t.names, t.flat = append(t.names, name), append(t.flat, flat)
	t.one, t.size = append(t.one, one), append(t.size, one.Size())
}

// newTable returns zeros for the observations of a batch.
func newTable(spec Spec) *table {
	t := &table{}
	for _, l := range spec.Obs.Leaves() {
		one := l.Space.Shape()
		t.add(l.Name, dtypes.MakeAnySlice(one.DType, spec.Rows*one.Size()), one)
	}
	if !spec.Masked {
		return t
	}
	t.masks = &table{}
	for _, l := range spec.Action.Leaves() {
		if n := rl.Choices(l.Space); n > 0 {
			t.masks.add(l.Name, make([]bool, spec.Rows*n), shapes.Make(dtypes.Bool, n))
		}
	}
	return t
}

// copy takes environment i's row over from another table of the same kind.
func (t *table) copy(from *table, i int) {
	for j, one := range t.one {
		n := int(one.ByteSize())
		a, b := dtypes.UnsafeByteSliceFromAny(t.flat[j]), dtypes.UnsafeByteSliceFromAny(from.flat[j])
		copy(a[i*n:(i+1)*n], b[i*n:])
	}
	if t.masks != nil {
		t.masks.copy(from.masks, i)
	}
}

// tree makes tensors of the table.
func (t *table) tree(s *rl.Scope, rows int) rl.Tree {
	leaves := make([]rl.Tensor, len(t.flat))
	for j, x := range t.flat {
		leaves[j] = s.Device().Tensor(x, shapes.Make(t.one[j].DType, append([]int{rows}, t.one[j].Dimensions...)...))
	}
	return rl.NewTree(t.names, leaves)
}

// obs makes an observation of the table.
func (t *table) obs(s *rl.Scope, first []bool) rl.Obs {
	o := rl.Obs{X: t.tree(s, len(first)), First: rl.FromFlat(s, first, len(first))}
	if t.masks != nil {
		o.Legal = t.masks.tree(s, len(first))
	}
	return o
}

// read returns a tree on the host, read from the device once for all environments.
func read(tree rl.Tree) *table {
	t := &table{}
	for j, name := range tree.Names() {
		x := tree.At(j)
		one := shapes.Make(x.Shape().DType, x.Shape().Dimensions[1:]...)
		t.add(name, rl.Flat(x), one)
	}
	return t
}
