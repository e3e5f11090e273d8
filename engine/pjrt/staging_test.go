//go:build xla

package pjrt

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// TestSlots: a slot that was given back is taken again, others are made while there is room, and
// what is too large has none.
func TestSlots(t *testing.T) {
	s := &reopened(t, true).staging
	a, b := s.take(1), s.take(pageSize)
	if a == nil || b == nil || a == b || len(a.data) != pageSize {
		t.Fatalf("slots %v and %v", a, b)
	}
	if c := s.take(pageSize + 1); c == nil || len(c.data) != 2*pageSize {
		t.Errorf("of %d bytes %v was taken", pageSize+1, c)
	}
	b.give()
	a.give()
	if c := s.take(5); c != b {
		t.Error("the slot that was free for the longest was not taken")
	}
	if s.take(pageSize<<(slotClasses-1)+1) != nil {
		t.Error("there is a slot for what is too large")
	}
	n := 0
	for s.take(1<<20) != nil {
		n++
	}
	if n != stagingSize>>20-1 {
		t.Errorf("%d slots of a mebibyte", n)
	}
	if a.of.pinned() {
		t.Error("unpinned memory is pinned")
	}
	s.close()
	a.give()
	if s.take(1) != nil {
		t.Error("there is a slot of memory that is gone")
	}
}

// TestTransfers: uploads, calls and reads that share few slots, or find none, give what they
// should, by many goroutines at once and with reads that nobody waits for.
func TestTransfers(t *testing.T) {
	for name, used := range map[string]int{"room": 0, "little": stagingSize - 4*pageSize, "none": stagingSize} {
		t.Run(name, func(t *testing.T) {
			b := reopened(t, name == "little")
			b.staging.pinned()
			b.staging.used = used
			s := shapes.Make(dtypes.Float32, 500)
			e := compiled(t, b, []shapes.Shape{s, s}, func(xs []*Node) []*Node { return []*Node{Add(xs[0], xs[1]), Neg(xs[0])} })
			var wg sync.WaitGroup
			for g := range 4 {
				wg.Go(func() {
					for i := range 100 {
						x, y := slices.Repeat([]float32{float32(g)}, 500), slices.Repeat([]float32{float32(i)}, 500)
						if err := b.oneCall(e, x, y, i%3 == 0); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			runtime.GC() // what nobody waited for gives its slot back
		})
	}
}

// oneCall returns a call with one input that was uploaded and one that is sent, and sees that the
// sum is right.
func (b *Backend) oneCall(e *Executable, x, y []float32, forget bool) error {
	buf, err := b.BufferFromFlatData(0, x, e.ins[0])
	if err != nil {
		return err
	}
	outs, err := e.ExecuteFrom([]compute.Buffer{buf, nil}, []any{nil, y}, 0)
	if err != nil {
		return err
	}
	want := x[0] + y[0]
	clear(x) // they are ours again
	clear(y)
	if forget {
		b.Begin(outs[1])
	}
	for _, x := range []compute.Buffer{buf, outs[1]} { // while they are read
		if err := x.Finalize(); err != nil {
			return err
		}
	}
	defer outs[0].Finalize()
	got := make([]float32, len(x))
	if wait := b.Begin(outs[0]); wait != nil {
		err = wait(got)
	} else {
		err = outs[0].ToFlatData(got)
	}
	if err == nil && (slices.Min(got) != want || slices.Max(got) != want) {
		return fmt.Errorf("%v to %v, not %v", slices.Min(got), slices.Max(got), want)
	}
	return err
}

// TestBegin: what cannot be begun is not, and reads under way when the backend is closed are waited
// for.
func TestBegin(t *testing.T) {
	b := reopened(t, false)
	x := put(t, b, vector, 1, 2, 3, 4)
	if backend(t).Begin(x) != nil {
		t.Error("a read of another backend's buffer was begun")
	}
	if wait := b.Begin(x); wait == nil || wait([]int32{1, 2, 3, 4}) == nil {
		t.Error("numbers were read as others")
	}
	wait := b.Begin(x)
	got := make([]float32, 4)
	if err := wait(got); err != nil || !slices.Equal(got, []float32{1, 2, 3, 4}) {
		t.Errorf("%v was read (%v)", got, err)
	}
	if err := x.Finalize(); err != nil {
		t.Fatal(err)
	}
	if b.Begin(x) != nil {
		t.Error("a buffer that is gone is read")
	}
	y := put(t, b, vector, 5, 6, 7, 8)
	late := b.Begin(y)
	if err := y.Finalize(); err != nil {
		t.Fatal(err)
	}
	b.Finalize()
	if late(got) == nil {
		t.Error("what was read came out of memory that is gone")
	}
	if b.Pinned() {
		t.Error("memory that is gone is pinned")
	}
}
