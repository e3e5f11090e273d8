package rowcopy

import (
	"bytes"
	"testing"
)

// numbered returns n bytes that are all different.
func numbered(n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = byte(i + 1)
	}
	return out
}

// TestGatherScatter: rows of all sizes go where they are to, those that are copied by words too.
func TestGatherScatter(t *testing.T) {
	index := []int{2, 0, 2, 1}
	for _, size := range []int{1, 4, 5, 16} {
		src := numbered(3 * size)
		got, apart := make([]byte, len(index)*size), make([]byte, 3*2*size)
		Gather(got, src, index, size)
		Scatter(apart, src, 3, 2*size, size)
		for j, i := range index {
			if !bytes.Equal(got[j*size:(j+1)*size], src[i*size:(i+1)*size]) {
				t.Errorf("size %d: row %d is not row %d", size, j, i)
			}
		}
		for i := range 3 {
			if at := 2 * i * size; !bytes.Equal(apart[at:at+size], src[i*size:(i+1)*size]) || !bytes.Equal(apart[at+size:at+2*size], make([]byte, size)) {
				t.Errorf("size %d: row %d is not where it should be: %v", size, i, apart)
			}
		}
		Gather(nil, src, nil, size)
		Scatter(nil, nil, 0, 2*size, size)
	}
}

func TestSelectShiftPad(t *testing.T) {
	src := numbered(6)
	equal := func(what string, got []byte, want ...byte) {
		t.Helper()
		if !bytes.Equal(got, want) {
			t.Errorf("%s gives %v, want %v", what, got, want)
		}
	}
	out := make([]byte, 6)
	Select(out, []bool{true, false, true}, src, make([]byte, 6))
	equal("select", out, 1, 2, 0, 0, 5, 6)
	Shift(out, src, []byte{91, 92}, 2)
	equal("shift", out, 2, 3, 91, 5, 6, 92)
	Shift(nil, nil, []byte{91, 92}, 2) // of no steps
	padded := make([]byte, 8)
	Pad(padded, src[:4], 2)
	equal("pad", padded, 1, 2, 3, 4, 1, 2, 1, 2)
	Pad(padded, nil, 0)
	equal("pad of nothing", padded, make([]byte, 8)...)
}

// TestSplitJoin: frames that are joined and split are as before, bytes of four too.
func TestSplitJoin(t *testing.T) {
	for _, c := range []struct{ frames, inner, parts int }{{1, 3, 4}, {4, 1, 6}, {4, 3, 2}, {3, 1, 5}, {2, 8, 3}} {
		size := c.inner * c.parts
		all := numbered(c.frames * size)
		frames := make([][]byte, c.frames)
		for j := range frames {
			frames[j] = all[j*size : (j+1)*size]
		}
		row, back := make([]byte, len(all)), make([]byte, len(all))
		Join(row, frames, c.inner)
		for i := range c.parts {
			for j, f := range frames {
				at := (i*c.frames + j) * c.inner
				if !bytes.Equal(row[at:at+c.inner], f[i*c.inner:(i+1)*c.inner]) {
					t.Fatalf("%+v: part %d of frame %d is %v", c, i, j, row[at:at+c.inner])
				}
			}
		}
		if Split(back, row, c.frames, c.inner); !bytes.Equal(back, all) {
			t.Errorf("%+v: %v, want %v", c, back, all)
		}
	}
}
