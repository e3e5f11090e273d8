package engine

import (
	"bytes"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
)

// TestNewOver: a buffer over given memory is that memory where it is aligned, and a
// copy elsewhere.
func TestNewOver(t *testing.T) {
	made, err := New("")
	if err != nil {
		t.Fatal(err)
	}
	b := made.(*Backend)
	defer b.Finalize()
	data, _ := aligned(256)
	for i := range data {
		data[i] = byte(i)
	}
	for _, c := range []struct {
		from, to int
		same     bool
	}{{0, 256, true}, {64, 65, true}, {1, 100, false}, {64, 64, false}} {
		part := data[c.from:c.to]
		buf, err := b.NewOver(shapes.Make(dtypes.Uint8, len(part)), part)
		if err != nil {
			t.Fatal(err)
		}
		got := buf.(*Buffer).Bytes()
		if !bytes.Equal(got, part) || c.same != (len(got) > 0 && &got[0] == &part[0]) {
			t.Errorf("bytes %d to %d: the same is not %v", c.from, c.to, c.same)
		}
		if err := buf.Finalize(); err != nil {
			t.Error(err)
		}
	}
	if _, err := b.NewOver(shapes.Make(dtypes.Int32, 2), data[:7]); err == nil {
		t.Error("7 bytes were two numbers")
	}
	if _, err := b.NewOver(shapes.Make(dtypes.InvalidDType), nil); err == nil {
		t.Error("a buffer of no type was made")
	}
}
