package rl

import (
	"slices"
	"sync"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/engine"
)

// farther is a device that says it has memory of its own, and counts what is read of it.
type farther struct {
	compute.Backend
	reads, begun, waited int
}

func (f *farther) Begin(buf compute.Buffer) func(any) error {
	f.begun++
	return func(flat any) error {
		f.waited++
		return buf.ToFlatData(flat)
	}
}

func (*farther) HasSharedBuffers() bool { return false }

func (f *farther) ReadAll(bufs []compute.Buffer, flats []any) error {
	f.reads++
	for i, b := range bufs {
		if err := b.ToFlatData(flats[i]); err != nil {
			return err
		}
	}
	return nil
}

func farDevice(t *testing.T) (*Device, *farther) {
	t.Helper()
	b, err := engine.New("threads=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	f := &farther{Backend: b}
	return NewDevice(f), f
}

// doubled returns a tensor that is on the device alone.
func doubled(d *Device, x ...float32) Tensor {
	in := d.from(x, shapes.Make(dtypes.Float32, len(x)))
	return op("double", []Tensor{in}, func(_ *Ctx, in []Tensor) []Tensor {
		return []Tensor{Wrap(graph.MulScalar(in[0].Node(), 2))}
	})[0]
}

// What is on a device alone stays there when it is selected from or stacked; what is
// on the host as well is moved there.
func TestFar(t *testing.T) {
	d, _ := farDevice(t)
	x, zero := doubled(d, 1, 2), d.both([]float32{0, 0}, shapes.Make(dtypes.Float32, 2))
	if !x.val.away() || zero.val.away() {
		t.Fatal("what was computed is on the device alone, zero is on the host too")
	}
	mask := d.from([]bool{true, false}, shapes.Make(dtypes.Bool, 2))
	picked := Select(mask, x, zero)
	stacked := Stack([]Tensor{picked, zero, x})
	for name, got := range map[string]Tensor{"selected": picked, "stacked": stacked} {
		if !got.val.away() {
			t.Errorf("%s it came to the host", name)
		}
	}
	if got := Read[float32](stacked); !slices.Equal(got, []float32{2, 0, 2, 0, 0, 4}) {
		t.Errorf("stacked %v", got)
	}
	if got := Stack([]Tensor{zero, zero}); got.val.buf != nil {
		t.Error("what is on the host was stacked on the device")
	}
}

// Results are fetched in one go: those asked for, and counts.
func TestFetch(t *testing.T) {
	d, f := farDevice(t)
	out := []Tensor{doubled(d, 1), {}, doubled(d, 2, 3), doubled(d, 4, 5)}
	scalar := op("sum", []Tensor{out[3]}, func(_ *Ctx, in []Tensor) []Tensor {
		return []Tensor{Wrap(graph.ReduceAllSum(in[0].Node()))}
	})[0]
	d.fetch(append(out, scalar), 3)
	if f.reads != 1 {
		t.Errorf("%d reads", f.reads)
	}
	for i, want := range []bool{false, false, false, true} {
		if i != 1 && out[i].val.away() != want {
			t.Errorf("result %d is away: %v", i, !want)
		}
	}
	if scalar.val.away() || Read[float32](scalar)[0] != 18 {
		t.Error("the scalar was not fetched")
	}
}

// What is handed to somebody elsewhere is begun to be read, once, and waited for by the
// first who reads it; what stays on its device or is on the host is not.
func TestBegin(t *testing.T) {
	d, f := farDevice(t)
	other, _ := farDevice(t)
	x, here := doubled(d, 1, 2), d.from([]float32{1}, shapes.Make(dtypes.Float32, 1))
	System.Begin([]Tensor{x, here, {}, Scalar(1)}, d)
	if f.begun != 0 {
		t.Error("what stays on its device is read")
	}
	System.Begin([]Tensor{x, here}, other)
	System.Begin([]Tensor{x}, nil)
	if f.begun != 1 || f.waited != 0 || !x.val.away() {
		t.Errorf("%d reads were begun and %d waited for", f.begun, f.waited)
	}
	buf := x.val.on(other)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if got := Read[float32](x); !slices.Equal(got, []float32{2, 4}) {
				t.Errorf("%v was read", got)
			}
		})
	}
	wg.Wait()
	if f.waited != 1 || x.val.away() || x.val.on(other) != buf {
		t.Errorf("it was waited for %d times", f.waited)
	}
	System.Begin([]Tensor{x}, nil)
	if f.begun != 1 {
		t.Error("what is on the host is read again")
	}
}

// A part of what is on its way is not waited for before somebody reads it.
func TestPartFor(t *testing.T) {
	d, f := farDevice(t)
	other, _ := farDevice(t)
	x := doubled(d, 1, 2, 3, 4)
	parts := []Tensor{System.PartFor(x, 0, 1, other), System.PartFor(x, 1, 4, other)}
	halves := inPartsOf([]Tensor{x}, []int{0, 4, 8}, func(i int) []Tensor { return []Tensor{doubled(d, 5, 6, 7, 8)} })[0]
	parts = append(parts, System.PartFor(halves, 4, 8, nil), System.PartFor(halves, 5, 7, nil), System.PartFor(halves, 3, 5, nil))
	if f.begun != 2 || f.waited != 0 { // the last needs both halves, which are put together on the device
		t.Errorf("%d reads were begun and %d waited for", f.begun, f.waited)
	}
	for i, want := range [][]float32{{2}, {4, 6, 8}, {10, 12, 14, 16}, {12, 14}, {16, 10}} {
		if parts[i].Rows() != len(want) {
			t.Errorf("part %d has %d rows", i, parts[i].Rows())
		}
		for range 2 {
			if got := Read[float32](parts[i]); !slices.Equal(got, want) {
				t.Errorf("part %d is %v, not %v", i, got, want)
			}
		}
	}
	if got := Read[float32](System.PartFor(x, 2, 4, d)); !slices.Equal(got, []float32{6, 8}) {
		t.Errorf("for its own device a part is %v", got)
	}
	if err := Catch(func() error { System.PartFor(doubled(d, 1, 2), 1, 3, other); return nil }); err == nil {
		t.Error("rows that are not there")
	}
}
