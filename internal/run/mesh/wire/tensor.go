package wire

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/rl"
)

// known are the dtypes that cross, by their number there; 0 is an absent tensor.
var known = []dtypes.DType{
	dtypes.InvalidDType, dtypes.Bool, dtypes.Uint8, dtypes.Int8, dtypes.Uint16, dtypes.Int16, dtypes.Uint32, dtypes.Int32,
	dtypes.Uint64, dtypes.Int64, dtypes.Float16, dtypes.BFloat16, dtypes.Float32, dtypes.Float64,
}

const (
	mostAxes = 32
	mostRows = math.MaxInt32 // most rows of an axis of a tensor without elements
)

// bulk writes a shape, and puts bytes behind the head.
func (e *Encoder) bulk(s shapes.Shape, bytes []byte, owner any) {
	code := slices.Index(known[1:], s.DType) + 1
	if code == 0 || s.Rank() > mostAxes {
		e.err = fmt.Errorf("a tensor %s cannot cross processes", s)
		return
	}
	e.head = append(e.head, byte(code), byte(s.Rank()))
	for _, n := range s.Dimensions {
		e.uint(uint64(n))
	}
	if len(bytes) > 0 {
		e.data = append(e.data, Piece{bytes, owner})
	}
}

// shape reads one, and sees that its data are there; ok is false if it is absent.
func (d *decoder) shape() (s shapes.Shape, size int, ok bool) {
	code := d.byte()
	if d.err != nil || code == 0 {
		return s, 0, false
	}
	rank := int(d.byte())
	if int(code) >= len(known) || rank > mostAxes {
		d.fail("a tensor of unknown kind")
		return s, 0, false
	}
	dims, empty := make([]int, rank), false
	for i := range dims {
		n := d.uint()
		if n > mostRows {
			d.fail("an axis of %d", n)
			return s, 0, false
		}
		dims[i], empty = int(n), empty || n == 0
	}
	if size = known[code].Size(); empty {
		size = 0
	}
	for _, n := range dims {
		if size > 0 && n > d.left()/size {
			d.fail("a tensor of more than the %d bytes that there are", d.left())
			return s, 0, false
		}
		size *= n
	}
	if size > d.left() {
		d.fail("a tensor of %d bytes where there are %d", size, d.left())
	}
	return shapes.Shape{DType: known[code], Dimensions: dims}, size, d.err == nil
}

func tensorCodec() *codec {
	return &codec{
		form: "T", least: 1,
		put:  func(e *Encoder, p unsafe.Pointer) { e.tensor(*(*rl.Tensor)(p)) },
		take: func(d *decoder, p unsafe.Pointer) { *(*rl.Tensor)(p) = d.tensor() },
	}
}

func (e *Encoder) tensor(t rl.Tensor) {
	if !t.Ok() {
		e.head = append(e.head, 0)
		return
	}
	b := rl.System.Bytes(t)
	if len(b) < small { // it is copied before Encode returns
		e.bulk(t.Shape(), b, nil)
		return
	}
	e.bulk(t.Shape(), b, t)
}

func (d *decoder) tensor() rl.Tensor {
	s, size, ok := d.shape()
	if !ok {
		return rl.Tensor{}
	}
	return rl.System.Adopt(d.dev, s, d.data(size))
}

func treeCodec() *codec {
	return &codec{
		form: "tree", least: 1,
		put: func(e *Encoder, p unsafe.Pointer) {
			t := (*rl.Tree)(p)
			e.uint(uint64(t.Len()))
			for i, name := range t.Names() {
				e.text(name)
				e.tensor(t.At(i))
			}
		},
		take: func(d *decoder, p unsafe.Pointer) {
			n := d.count(2)
			if n == 0 {
				return
			}
			names, leaves := make([]string, n), make([]rl.Tensor, n)
			for i := 0; i < n && d.err == nil; i++ {
				names[i], leaves[i] = d.text(), d.tensor()
			}
			*(*rl.Tree)(p) = rl.NewTree(names, leaves)
		},
	}
}

func arrayCodec() *codec {
	return &codec{
		form: "array", least: 4,
		put: func(e *Encoder, p unsafe.Pointer) {
			a := (*rl.Array)(p)
			e.text(a.Name)
			e.head = append(e.head, flagsOf(a))
			if a.Framing != nil {
				e.framing(a)
				return
			}
			flat, err := rl.System.Flat(*a)
			if err != nil {
				e.err = err
				return
			}
			var bytes []byte
			if a.Shape.Size() > 0 {
				bytes = dtypes.UnsafeByteSliceFromAny(flat)
			}
			e.bulk(a.Shape, bytes, flat)
		},
		take: func(d *decoder, p unsafe.Pointer) {
			a := rl.Array{Name: d.text()}
			flags := d.byte()
			a.Rows, a.Part = flags&isRows != 0, flags&isPart != 0
			if flags&isFraming != 0 {
				d.framing(&a)
				*(*rl.Array)(p) = a
				return
			}
			s, size, ok := d.shape()
			if !ok {
				d.fail("an array without data")
				return
			}
			a.Shape, a.Flat = s, dtypes.MakeAnySlice(s.DType, s.Size())
			if size > 0 {
				copy(dtypes.UnsafeByteSliceFromAny(a.Flat), d.data(size))
			}
			*(*rl.Array)(p) = a
		},
	}
}

// What is said of an array beside its data.
const (
	isRows = 1 << iota
	isPart
	isFraming
)

func flagsOf(a *rl.Array) (out byte) {
	for i, on := range []bool{a.Rows, a.Part, a.Framing != nil} {
		if on {
			out |= 1 << i
		}
	}
	return out
}

// framed is an array that is put together from others, as text.
type framed struct {
	DType   dtypes.DType
	Dims    []int
	Framing rl.Framing
}

func (e *Encoder) framing(a *rl.Array) {
	text, err := json.Marshal(framed{a.Shape.DType, a.Shape.Dimensions, *a.Framing})
	if err != nil {
		e.err = err
	}
	e.text(string(text))
}

func (d *decoder) framing(a *rl.Array) {
	var x framed
	err := json.Unmarshal([]byte(d.text()), &x)
	if d.err != nil {
		return
	}
	if err != nil || !slices.Contains(known[1:], x.DType) || len(x.Dims) > mostAxes || slices.ContainsFunc(x.Dims, func(n int) bool { return n < 0 || n > mostRows }) {
		d.fail("an array that is put together from none")
		return
	}
	a.Shape, a.Framing = shapes.Make(x.DType, x.Dims...), &x.Framing
}
