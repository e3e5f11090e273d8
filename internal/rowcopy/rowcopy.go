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

// Split copies a row of n frames, which take turns in it by inner bytes, frame by frame.
func Split(out, row []byte, n, inner int) {
	size := len(row) / n
	if n == 1 {
		copy(out, row)
		return
	}
	if inner == 1 {
		for j := range n {
			frame, src := out[j*size:(j+1)*size], row[j:]
			for i := range frame {
				frame[i] = src[i*n]
			}
		}
		return
	}
	for i := 0; i < size/inner; i++ {
		for j := range n {
			copy(out[j*size+i*inner:j*size+(i+1)*inner], row[(i*n+j)*inner:])
		}
	}
}

// Join undoes Split: out is a row of frames. Four frames of single bytes, which is what
// learners see of games, are written by words.
func Join(out []byte, frames [][]byte, inner int) {
	n := len(frames)
	if n == 4 && inner == 1 && len(out) > 0 {
		to := unsafe.Slice((*[4]byte)(unsafe.Pointer(&out[0])), len(out)/4)
		a, b, c, d := frames[0], frames[1][:len(frames[0])], frames[2][:len(frames[0])], frames[3][:len(frames[0])]
		for i := range a {
			to[i] = [4]byte{a[i], b[i], c[i], d[i]}
		}
		return
	}
	for j, frame := range frames {
		for i := 0; i < len(frame)/inner; i++ {
			copy(out[(i*n+j)*inner:(i*n+j+1)*inner], frame[i*inner:])
		}
	}
}
