package engine

import (
	"unsafe"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/internal/loops"
	"github.com/weft-rl/weft/engine/ir"
)

func sortScratch(n *ir.Node) int {
	length := n.Outputs[0].Shape.Dimensions[n.Attr.(ir.Sort).Axis]
	return 2*length*4 + alignment + length*8
}

// sorting sorts lanes by an order of positions: a merge sort of indices, after which every operand
// is gathered. It is always stable.
type sorting struct {
	inputs, outs []ref
	sizes        []int
	inner        int // elements between neighbours of a lane
	scratch      ref
	length       int
	cmp          captures
	flag         ref
	key          int // the operand that decides, if the comparator is a plain one
	byKey        func(keys unsafe.Pointer, idx, tmp []int32, descending bool) []int32
	keys         ref
	descending   bool
}

func sortAlong(l *lowering, n *ir.Node) (func(fr *frame), error) {
	axis, dims := n.Attr.(ir.Sort).Axis, n.Outputs[0].Shape.Dimensions
	s := &sorting{inputs: l.refs(n.Operands()), outs: l.refs(n.Outputs), inner: rowMajor(dims)[axis],
		length: dims[axis], scratch: l.scratchRef()}
	for _, v := range n.Outputs {
		s.sizes = append(s.sizes, v.DType().Size())
	}
	s.flag = s.scratch
	s.flag.off += 2 * s.length * 4
	s.keys = s.flag
	s.keys.off = (s.flag.off + alignment - 1) &^ 7
	var err error
	if s.cmp, err = l.captures(n, 0, false); err != nil {
		return nil, err
	}
	s.plain(n.Funcs[0])
	lanes := 0
	if n.Outputs[0].Size() > 0 {
		lanes = n.Outputs[0].Size() / s.length
	}
	return func(fr *frame) {
		for i := range lanes {
			s.lane(fr, i/s.inner*s.inner*s.length+i%s.inner)
		}
	}, nil
}

// plain recognises comparators that compare one operand's elements and nothing else, which need no
// closure run.
func (s *sorting) plain(f *ir.Func) {
	r := f.Results[0].Node
	if r.Op != compute.OpTypeLessThan && r.Op != compute.OpTypeGreaterThan {
		return
	}
	t, ok := loops.Of(r.Inputs[0].DType())
	if !ok {
		return
	}
	for k := range len(f.Params) / 2 {
		lhs, rhs := f.Params[2*k], f.Params[2*k+1]
		forward := r.Inputs[0] == lhs && r.Inputs[1] == rhs
		backward := r.Inputs[0] == rhs && r.Inputs[1] == lhs
		if forward || backward {
			s.key, s.byKey = k, t.SortIndex
			s.descending = forward != (r.Op == compute.OpTypeLessThan)
		}
	}
}

// before reports whether the element at offset a comes before that at b, by the comparator.
func (s *sorting) before(fr, cmp *frame, a, b int) bool {
	for i, r := range s.inputs {
		cmp.setParam(2*i, unsafe.Add(fr.at(r), a*s.sizes[i]))
		cmp.setParam(2*i+1, unsafe.Add(fr.at(r), b*s.sizes[i]))
	}
	cmp.setOut(0, fr.at(s.flag))
	cmp.run()
	return *(*bool)(fr.at(s.flag))
}

func (s *sorting) lane(fr *frame, start int) {
	index := view[int32](fr, s.scratch, 2*s.length)
	var order []int32
	if s.byKey != nil {
		keys, size := fr.at(s.keys), s.sizes[s.key]
		strided(keys, unsafe.Add(fr.at(s.inputs[s.key]), start*size), s.length, s.inner, size)
		order = s.byKey(keys, index[:s.length], index[s.length:], s.descending)
	} else {
		order = s.compare(fr, index[:s.length], index[s.length:], start)
	}
	for i, r := range s.inputs {
		src, dst, size := fr.at(r), fr.at(s.outs[i]), s.sizes[i]
		for j, k := range order {
			copyElement(unsafe.Add(dst, (start+j*s.inner)*size), unsafe.Add(src, (start+int(k)*s.inner)*size), size)
		}
	}
}

// compare sorts positions with the comparator.
func (s *sorting) compare(fr *frame, a, b []int32, start int) []int32 {
	for i := range a {
		a[i] = int32(i)
	}
	cmp := s.cmp.frame(fr)
	for width := 1; width < s.length; width *= 2 {
		for lo := 0; lo < s.length; lo += 2 * width {
			mid, hi := min(lo+width, s.length), min(lo+2*width, s.length)
			s.merge(fr, cmp, b[lo:hi], a[lo:mid], a[mid:hi], start)
		}
		a, b = b, a
	}
	cmp.release()
	return a
}

// merge joins two sorted runs, taking from the first unless the second's element comes before.
func (s *sorting) merge(fr, cmp *frame, dst, x, y []int32, start int) {
	for i := range dst {
		if len(x) > 0 && (len(y) == 0 || !s.before(fr, cmp, start+int(y[0])*s.inner, start+int(x[0])*s.inner)) {
			dst[i], x = x[0], x[1:]
		} else {
			dst[i], y = y[0], y[1:]
		}
	}
}

func copyElement(dst, src unsafe.Pointer, size int) {
	switch size {
	case 1:
		*(*uint8)(dst) = *(*uint8)(src)
	case 2:
		*(*uint16)(dst) = *(*uint16)(src)
	case 4:
		*(*uint32)(dst) = *(*uint32)(src)
	default:
		*(*uint64)(dst) = *(*uint64)(src)
	}
}
