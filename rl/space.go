package rl

import (
	"fmt"
	"math"
	"strings"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/internal/leaves"
)

// Space is the set of values that an observation or an action of one
// environment may take: Box, Discrete, MultiDiscrete, MultiBinary, or a Dict of
// these.
type Space interface {
	// Leaves are the simple spaces inside, in order: the leaves of the Tree that
	// holds a value. A simple space is its own single leaf, without a name.
	//
	//weft:pure
	Leaves() []SpaceLeaf
	// Shape of one environment's value; of a Dict, invalid.
	//
	//weft:pure
	Shape() shapes.Shape
	String() string
}

// SpaceLeaf is a simple space with its name in the Dict.
type SpaceLeaf struct {
	Name  string
	Space Space
}

// Box is a block of numbers with bounds. Low and High have one element for
// each number, or a single one for all.
type Box struct {
	Low, High []float64
	Dims      []int
	DType     dtypes.DType // Float32 if unset
	// Frames is how many observations are joined along the last axis, the oldest
	// first; 0 and 1 are one. A replay stores each of them once.
	Frames int
}

// Discrete is one of N whole numbers from Start.
type Discrete struct{ N, Start int }

// MultiDiscrete is several whole numbers, number i from 0 to N[i]-1.
type MultiDiscrete struct{ N []int }

// MultiBinary is N zeros or ones.
type MultiBinary struct{ N int }

// Dict is named spaces in a fixed order.
type Dict []SpaceLeaf

// Leaves of a Box: itself.
func (b Box) Leaves() []SpaceLeaf { return []SpaceLeaf{{"", b}} }

// Leaves of a Discrete: itself.
func (d Discrete) Leaves() []SpaceLeaf { return []SpaceLeaf{{"", d}} }

// Leaves of a MultiDiscrete: itself.
func (d MultiDiscrete) Leaves() []SpaceLeaf { return []SpaceLeaf{{"", d}} }

// Leaves of a MultiBinary: itself.
func (b MultiBinary) Leaves() []SpaceLeaf { return []SpaceLeaf{{"", b}} }

// Leaves of a Dict, those of nested ones with dotted names.
func (d Dict) Leaves() (out []SpaceLeaf) {
	for _, e := range d {
		for _, l := range e.Space.Leaves() {
			out = append(out, SpaceLeaf{leaves.Join(e.Name, l.Name), l.Space})
		}
	}
	return out
}

// Shape of a Box.
func (b Box) Shape() shapes.Shape {
	t := b.DType
	if t == dtypes.InvalidDType {
		t = dtypes.Float32
	}
	return shapes.Make(t, b.Dims...)
}

// Shape of a Discrete: an int32 scalar.
func (d Discrete) Shape() shapes.Shape { return shapes.Make(dtypes.Int32) }

// Shape of a MultiDiscrete: int32 numbers.
func (d MultiDiscrete) Shape() shapes.Shape { return shapes.Make(dtypes.Int32, len(d.N)) }

// Shape of a MultiBinary: int32 zeros and ones.
func (b MultiBinary) Shape() shapes.Shape { return shapes.Make(dtypes.Int32, b.N) }

// Shape of a Dict: it has none of its own.
func (d Dict) Shape() shapes.Shape { return shapes.Invalid() }

// Bounds of number i of a Box, as its type holds them: a float32 that was clipped
// to a bound must not lie outside because the bound has more digits.
func (b Box) Bounds(i int) (lo, hi float64) {
	pick := func(x []float64, none float64) float64 {
		if len(x) > 0 {
			none = x[min(i, len(x)-1)]
		}
		if b.Shape().DType == dtypes.Float32 {
			none = float64(float32(none))
		}
		return none
	}
	return pick(b.Low, math.Inf(-1)), pick(b.High, math.Inf(1))
}

// String shows the bounds as written; those of single elements only where all
// are alike.
func (b Box) String() string {
	lo, hi := b.Bounds(0)
	for i := range b.Shape().Size() {
		if l, h := b.Bounds(i); l != lo || h != hi {
			return fmt.Sprintf("Box(%v)", b.Dims)
		}
	}
	return fmt.Sprintf("Box(%v..%v, %v)", float32(lo), float32(hi), b.Dims)
}

func (d Discrete) String() string {
	if d.Start != 0 {
		return fmt.Sprintf("Discrete(%d from %d)", d.N, d.Start)
	}
	return fmt.Sprintf("Discrete(%d)", d.N)
}
func (d MultiDiscrete) String() string { return fmt.Sprintf("MultiDiscrete(%v)", d.N) }
func (b MultiBinary) String() string   { return fmt.Sprintf("MultiBinary(%d)", b.N) }
func (d Dict) String() string {
	parts := make([]string, len(d))
	for i, e := range d {
		parts[i] = fmt.Sprintf("%s: %s", e.Name, e.Space)
	}
	return "Dict(" + strings.Join(parts, ", ") + ")"
}

// IsImage reports whether a space holds pictures: blocks of height, width and channels.
//
//weft:pure
func IsImage(s Space) bool {
	box, ok := s.(Box)
	return ok && len(box.Dims) == 3
}

// Choices returns the number of entries that a mask of legal actions has for a simple
// space: the options of each number, one after another. 0 means that masks do
// not apply.
//
//weft:pure
func Choices(s Space) int {
	switch s := s.(type) {
	case Discrete:
		return s.N
	case MultiDiscrete:
		n := 0
		for _, k := range s.N {
			n += k
		}
		return n
	case MultiBinary:
		return 2 * s.N
	}
	return 0
}

// Bounds are the limits of a simple space, worked out once: every step of every
// environment is held against them.
type Bounds struct {
	lo, hi []float64 // one for all numbers, or one for each
	size   int
}

// NewBounds returns the bounds of a simple space.
func NewBounds(s Space) Bounds {
	lo, hi := limits(s)
	return Bounds{lo, hi, max(1, s.Shape().Size())}
}

// Outside finds the first element of a batch that is not in a simple space: row
// is the environment, at the position in its value.
//
//weft:op batch whole host
func Outside(s Space, batch Tensor) (row, at int, x float64, bad bool) {
	return NewBounds(s).Outside(batch)
}

// Outside returns the function of that name for bounds that are known.
func (b Bounds) Outside(batch Tensor) (row, at int, x float64, bad bool) {
	switch batch.Shape().DType {
	case dtypes.Float32, dtypes.Float64, dtypes.Int32, dtypes.Int64, dtypes.Uint8:
		return b.OutsideFlat(batch.host())
	}
	return outside(b, Floats(batch)) // types that are seldom used
}

// OutsideFlat does what Outside does of rows in a slice: of float32, float64, int32, int64 or
// uint8. Numbers of other types are not looked at.
func (b Bounds) OutsideFlat(flat any) (row, at int, x float64, bad bool) {
	switch flat := flat.(type) {
	case []float32:
		return outside(b, flat)
	case []float64:
		return outside(b, flat)
	case []int32:
		return outside(b, flat)
	case []int64:
		return outside(b, flat)
	case []uint8:
		if len(b.lo) != 1 || b.lo[0] > 0 || b.hi[0] < math.MaxUint8 { // else no byte of a large image lies outside
			return outside(b, flat)
		}
	}
	return 0, 0, 0, false
}

func outside[T int32 | int64 | uint8 | float32 | float64](b Bounds, data []T) (row, at int, x float64, bad bool) {
	if len(b.lo) == 1 { // the same for all: the usual case, and the inner loop
		l, h := b.lo[0], b.hi[0]
		for i, v := range data {
			if x := float64(v); !(x >= l && x <= h) {
				return i / b.size, i % b.size, x, true
			}
		}
		return 0, 0, 0, false
	}
	for i, v := range data {
		if x := float64(v); !(x >= b.lo[i%b.size] && x <= b.hi[i%b.size]) {
			return i / b.size, i % b.size, x, true
		}
	}
	return 0, 0, 0, false
}

// limits returns the bounds of a simple space, one for all numbers or one for each.
func limits(s Space) (lo, hi []float64) {
	switch s := s.(type) {
	case Box:
		if len(s.Low) <= 1 && len(s.High) <= 1 {
			l, h := s.Bounds(0)
			return []float64{l}, []float64{h}
		}
		for i := range s.Shape().Size() {
			l, h := s.Bounds(i)
			lo, hi = append(lo, l), append(hi, h)
		}
		return lo, hi
	case Discrete:
		return []float64{float64(s.Start)}, []float64{float64(s.Start + s.N - 1)}
	case MultiDiscrete:
		for _, n := range s.N {
			lo, hi = append(lo, 0), append(hi, float64(n-1))
		}
		return lo, hi
	case MultiBinary:
		return []float64{0}, []float64{1}
	}
	return []float64{math.Inf(-1)}, []float64{math.Inf(1)}
}
