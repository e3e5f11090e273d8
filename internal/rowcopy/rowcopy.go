// Package rowcopy moves rows of tensors as bytes, in row-major order: what an operation does that
// only moves data.
package rowcopy

import "unsafe"

// Gather copies the rows of src that index names, of size bytes each. Rows of one number, and of an
// observation of four, are most of what a minibatch is made of: there a call of copy would cost
// more than the copying.
func Gather(out, src []byte, index []int, size int) {
	switch size {
	case 4:
		gatherAs[uint32](out, src, index)
	case 16:
		gatherAs[[4]uint32](out, src, index)
	default:
		for j, i := range index {
			copy(out[j*size:(j+1)*size], src[i*size:(i+1)*size])
		}
	}
}

func gatherAs[T uint32 | [4]uint32](out, src []byte, index []int) {
	if len(out) == 0 {
		return
	}
	size := unsafe.Sizeof(*new(T))
	to := unsafe.Slice((*T)(unsafe.Pointer(&out[0])), uintptr(len(out))/size)
	from := unsafe.Slice((*T)(unsafe.Pointer(&src[0])), uintptr(len(src))/size)
	for j, i := range index {
		to[j] = from[i]
	}
}

// Scatter copies rows of size bytes to places that are step bytes apart; by words
// where a row is one, for the reason that Gather gives.
func Scatter(out, src []byte, rows, step, size int) {
	if size == 4 && rows > 0 {
		to, from := unsafe.Pointer(&out[0]), unsafe.Slice((*uint32)(unsafe.Pointer(&src[0])), rows)
		_ = out[(rows-1)*step+3]
		for i, x := range from {
			*(*uint32)(unsafe.Add(to, i*step)) = x
		}
		return
	}
	for i := range rows {
		copy(out[i*step:i*step+size], src[i*size:])
	}
}

// Select copies each row from a where mask is true, and from b elsewhere.
func Select(out []byte, mask []bool, a, b []byte) {
	size := len(a) / max(len(mask), 1)
	for i, yes := range mask {
		src := b
		if yes {
			src = a
		}
		copy(out[i*size:(i+1)*size], src[i*size:(i+1)*size])
	}
}

// Shift copies rows of several steps each, moved one step to the left, with the row's step of last
// at the end.
func Shift(out, src, last []byte, rows int) {
	row := len(src) / max(rows, 1)
	step := min(row, len(last)/max(rows, 1)) // of no steps nothing is moved
	for i := range rows {
		copy(out[i*row:], src[i*row+step:(i+1)*row])
		copy(out[(i+1)*row-step:(i+1)*row], last[i*step:])
	}
}

// Pad copies rows, and fills the rest of out with the first of them; with zeros if there is none.
func Pad(out, src []byte, rows int) {
	n := copy(out, src)
	if rows == 0 {
		clear(out)
		return
	}
	for size := len(src) / rows; n < len(out); n += size {
		copy(out[n:], src[:size])
	}
}
