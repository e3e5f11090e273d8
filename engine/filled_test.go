package engine

import (
	"bytes"
	"testing"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// TestNewFilled: a filled buffer is like any other, also when its memory comes back.
func TestNewFilled(t *testing.T) {
	b, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	backend := b.(*Backend)
	defer backend.Finalize()
	for _, n := range []int{0, 1, 100, 100_000} {
		want := bytes.Repeat([]byte{7}, n)
		for range 2 {
			buf, err := backend.NewFilled(shapes.Make(dtypes.Uint8, n), func(to []byte) {
				if len(to) != n || n > 0 && uintptr(unsafe.Pointer(&to[0]))%alignment != 0 {
					t.Errorf("%d bytes at %p, want %d", len(to), to, n)
				}
				copy(to, want)
			})
			if err != nil {
				t.Fatal(err)
			}
			if got := buf.(*Buffer).Bytes(); !bytes.Equal(got, want) {
				t.Errorf("%d bytes are others", n)
			}
			if err := buf.Finalize(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := backend.NewFilled(shapes.Make(dtypes.InvalidDType), nil); err == nil {
		t.Error("a buffer of no type was made")
	}
}
