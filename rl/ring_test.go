package rl_test

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/weft-rl/weft/rl"
)

// pictures returns n rows of size bytes, each of which is one number from lo on.
func pictures(s *rl.Scope, lo, n, size int) rl.Tensor {
	flat := make([]uint8, 0, n*size)
	for i := range n {
		flat = append(flat, bytes.Repeat([]byte{byte(lo + i)}, size)...)
	}
	return rl.FromFlat(s, flat, n, size)
}

// viewed saves a ring without copying it.
func viewed(s *rl.Scope, r *rl.Ring, rows int) *rl.View {
	st := rl.System.Viewing(rl.NewState(s))
	r.Save(st, "x", rows)
	return st.Arrays()[0].Source.(*rl.View)
}

func readAll(t *testing.T, v io.ReaderAt, n int) []byte {
	t.Helper()
	out := make([]byte, n)
	if _, err := io.ReadFull(io.NewSectionReader(v, 0, int64(n)), out); err != nil {
		t.Fatal(err)
	}
	return out
}

// TestView: a view is what the ring held when it was taken, whatever is written after,
// and only blocks that were written have been copied for it.
func TestView(t *testing.T) {
	s := scope(t)
	const size, slots = 100_000, 40
	r := rl.NewRing(slots, pictures(s, 0, 1, size))
	r.Put(0, pictures(s, 1, slots, size))
	v := viewed(s, r, slots)
	want := readAll(t, v, slots*size)
	if v.Kept() != 0 {
		t.Errorf("%d bytes were copied before anything was written", v.Kept())
	}
	before := v.Stamp(0, size)
	r.Put(3, pictures(s, 100, 2, size))
	r.Put(slots-1, pictures(s, 200, 2, size)) // goes on at slot 0
	if got := readAll(t, v, slots*size); !bytes.Equal(got, want) {
		t.Error("a view has changed")
	}
	if n := v.Kept(); n == 0 || n > 2_000_000 {
		t.Errorf("%d bytes were copied for 400,000 that were written", n)
	}
	now := viewed(s, r, slots)
	if got := readAll(t, now, slots*size); bytes.Equal(got, want) || got[0] != 201 || got[3*size] != 100 {
		t.Error("a new view is not what was written")
	}
	for i := int64(0); i < slots; i++ {
		changed := v.Stamp(i*size, (i+1)*size) != now.Stamp(i*size, (i+1)*size)
		if wrote := i < 10 || i > 35; changed && !wrote {
			t.Errorf("slot %d was not written, and its stamp has changed", i)
		} else if must := i == 0 || i == 3 || i == 4 || i == slots-1; must && !changed {
			t.Errorf("slot %d was written, and its stamp is as before", i)
		}
	}
	if before == now.Stamp(0, size) {
		t.Error("the stamp of what was written is as before")
	}
	v.Release()
	r.Put(20, pictures(s, 7, 1, size))
	if v.Kept() != 0 {
		t.Error("a view that was given up still costs memory")
	}
}

// TestStacksAsTensor: rows that share frames go to a device and come back as they are.
func TestStacksAsTensor(t *testing.T) {
	s := scope(t)
	flat := make([]uint8, 0, 5*6)
	for i := range 5 {
		for range 2 {
			flat = append(flat, byte(i), byte(i+1), byte(i+2))
		}
	}
	x := rl.FromFlat(s, flat, 5, 2, 3)
	f := rl.NewFrames(s, "frames", 7, x, 3)
	r := f.Ring(7)
	r.Put(5, x) // in slots 5, 6, 0, 1, 2
	got := rl.Read[uint8](r.Tensor(s))
	want := slices.Concat(flat[12:], make([]uint8, 12), flat[:12])
	if !slices.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	again := f.Ring(7)
	again.Take(r.Tensor(s))
	if back := rl.Read[uint8](again.Tensor(s)); !slices.Equal(back, want) {
		t.Errorf("%v, want %v", back, want)
	}
	again.PutRow(3, x, 4)
	if row := rl.Read[uint8](again.Gather(s, []int{3})); !slices.Equal(row, flat[24:]) {
		t.Errorf("%v, want %v", row, flat[24:])
	}
	st := rl.System.Viewing(rl.NewState(s))
	r.Save(st, "x", 7)
	whole := rl.System.Expanded(st.Arrays())
	if len(whole) != 1 || !bytes.Equal(readAll(t, whole[0].Source, len(want)), want) {
		t.Errorf("the state as the plain one has it is %v", fmt.Sprint(whole))
	}
}
