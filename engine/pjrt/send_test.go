//go:build xla

package pjrt

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
)

// mixed are inputs of every size of element, of which the third is not read.
var mixed = []struct {
	shape shapes.Shape
	flat  any
}{
	{shapes.Make(dtypes.Float32, 3, 2), []float32{1, 2, 3, 4, 5, -6.5}},
	{shapes.Make(dtypes.Bool, 5), []bool{true, false, false, true, true}},
	{shapes.Make(dtypes.Float32, 2), []float32{7, 8}},
	{shapes.Make(dtypes.Int64, 2), []int64{-1, 1 << 40}},
	{shapes.Make(dtypes.Float64), []float64{.1}},
	{shapes.Make(dtypes.Uint8, 3), []uint8{1, 200, 3}},
	{shapes.Make(dtypes.Int8, 2, 1), []int8{-1, 100}},
	{shapes.Make(dtypes.Int32, 1), []int32{-5}},
	{shapes.Make(dtypes.Uint32, 2), []uint32{5, 1 << 31}},
	{shapes.Make(dtypes.Uint64, 1), []uint64{1 << 63}},
	{shapes.Make(dtypes.Int16, 3), []int16{-300, 2, 3}},
}

// asItIs returns a function that gives its inputs back, all but the third.
func asItIs(t *testing.T, b *Backend) *Executable {
	var in []shapes.Shape
	for _, m := range mixed {
		in = append(in, m.shape)
	}
	return compiled(t, b, in, func(xs []*Node) []*Node {
		var out []*Node
		for i, x := range xs {
			switch {
			case i == 2:
			case x.DType() == dtypes.Bool:
				out = append(out, LogicalNot(LogicalNot(x)))
			default:
				out = append(out, Add(x, ZerosLike(x)))
			}
		}
		return out
	})
}

// TestExecuteFrom: inputs arrive as they are, whichever of them are sent together.
func TestExecuteFrom(t *testing.T) {
	b := backend(t)
	e := asItIs(t, b)
	if e.Reads(2) || !e.Reads(1) {
		t.Error("the third input alone is not read")
	}
	for name, sent := range map[string]func(i int) bool{
		"none": func(i int) bool { return i == 2 }, "all": func(int) bool { return true },
		"even": func(i int) bool { return i%2 == 0 }, "odd": func(i int) bool { return i%2 == 1 },
	} {
		t.Run(name, func(t *testing.T) {
			var list []int
			bufs, host := make([]compute.Buffer, len(mixed)), make([]any, len(mixed))
			for i, m := range mixed {
				if sent(i) {
					host[i] = m.flat
					list = append(list, i)
					continue
				}
				var err error
				if bufs[i], err = b.BufferFromFlatData(0, m.flat, m.shape); err != nil {
					t.Fatal(err)
				}
			}
			if host[2] != nil {
				host[2] = struct{}{} // anything will do
			}
			if err := e.Prepare(list); err != nil {
				t.Fatal(err)
			}
			for range 2 { // with memory that is used again
				outs, err := e.ExecuteFrom(bufs, host, 0)
				if err != nil {
					t.Fatal(err)
				}
				for i, m := range slices.Delete(slices.Clone(mixed), 2, 3) {
					got := dtypes.MakeAnySlice(m.shape.DType, m.shape.Size())
					if err := outs[i].ToFlatData(got); err != nil {
						t.Fatal(err)
					}
					if !reflect.DeepEqual(got, m.flat) {
						t.Errorf("%s came as %v, not %v", m.shape, got, m.flat)
					}
				}
			}
		})
	}
}

func TestExecuteFromRefuses(t *testing.T) {
	b := backend(t)
	e := compiled(t, b, []shapes.Shape{vector, vector}, func(xs []*Node) []*Node { return []*Node{Add(xs[0], xs[1])} })
	x := put(t, b, vector, 1, 2, 3, 4)
	for _, c := range []struct {
		bufs []compute.Buffer
		host []any
	}{
		{[]compute.Buffer{x}, []any{nil}},
		{[]compute.Buffer{x, nil}, []any{nil, nil}},
		{[]compute.Buffer{x, nil}, []any{nil, []float32{1}}},
		{[]compute.Buffer{x, nil}, []any{nil, []int32{1, 2, 3, 4}}},
	} {
		if _, err := e.ExecuteFrom(c.bufs, c.host, 0); err == nil {
			t.Errorf("it took %v and %v", c.bufs, c.host)
		}
	}
}

// TestAhead: results are right although nobody waits for a call before the next, inputs are freed
// while they are read, and several goroutines do so at once.
func TestAhead(t *testing.T) {
	b := backend(t)
	s := shapes.Make(dtypes.Float32, 300, 300)
	e := compiled(t, b, []shapes.Shape{s, shapes.Make(dtypes.Float32)}, func(xs []*Node) []*Node {
		return []*Node{Add(xs[0], BroadcastToShape(xs[1], s))}
	})
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			want := float32(g)
			x, err := b.BufferFromFlatData(0, slices.Repeat([]float32{want}, s.Size()), s)
			for i := range 50 {
				if err != nil {
					break
				}
				var outs []compute.Buffer
				if outs, err = e.ExecuteFrom([]compute.Buffer{x, nil}, []any{nil, []float32{float32(i)}}, 0); err == nil {
					err = x.Finalize()
					x = outs[0]
				}
				want += float32(i)
			}
			got := make([]float32, s.Size())
			if err == nil {
				err = x.ToFlatData(got)
			}
			if err != nil || slices.Min(got) != want || slices.Max(got) != want {
				t.Errorf("%v to %v, not %v (%v)", slices.Min(got), slices.Max(got), want, err)
			}
		})
	}
	wg.Wait()
}

// policy returns a network of 2 x 64 units that acts on so many rows, and what it is called with.
func policy(b *testing.B, on *Backend, rows int) (e *Executable, bufs []compute.Buffer, host []any) {
	const units = 64
	shape := func(dims ...int) shapes.Shape { return shapes.Make(dtypes.Float32, dims...) }
	inputs := []shapes.Shape{shape(rows, 4), shape(rows, 2), shape(4, units), shape(units, units), shape(units, 2)}
	bufs, host = make([]compute.Buffer, len(inputs)), make([]any, len(inputs))
	for i, s := range inputs {
		if flat := make([]float32, s.Size()); i < 2 {
			host[i] = flat
		} else {
			bufs[i] = put(b, on, s, flat...)
		}
	}
	return compiled(b, on, inputs, func(xs []*Node) []*Node {
		h := Tanh(Dot(Tanh(Dot(xs[0], xs[2]).Product()), xs[3]).Product())
		return []*Node{ArgMax(Add(Dot(h, xs[4]).Product(), xs[1]), -1)}
	}), bufs, host
}

// BenchmarkStep measures a call of a policy at every step of environments: one transfer there, the
// call, and one back.
func BenchmarkStep(b *testing.B) {
	for _, pinned := range []bool{true, false} {
		b.Run(fmt.Sprint("pinned=", pinned), func(b *testing.B) { steps(b, reopened(b, !pinned)) })
	}
}

// reopened returns the backend once more, with memory of its own for transfers.
func reopened(t testing.TB, unpinned bool) *Backend {
	o := backend(t).options
	o.Unpinned = unpinned
	b, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	return b
}

func steps(b *testing.B, on *Backend) {
	const rows = 128
	e, bufs, host := policy(b, on, rows)
	step := func(b *testing.B, call func() ([]compute.Buffer, error)) {
		action := make([]int32, rows)
		for b.Loop() {
			outs, err := call()
			if err == nil {
				err = outs[0].ToFlatData(action)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.Run("together", func(b *testing.B) {
		step(b, func() ([]compute.Buffer, error) { return e.ExecuteFrom(bufs, host, 0) })
	})
	b.Run("apart", func(b *testing.B) {
		step(b, func() ([]compute.Buffer, error) { return e.Execute(brought(b, on, e, bufs, host), nil, 0) })
	})
	b.Run("waiting", func(b *testing.B) {
		step(b, func() ([]compute.Buffer, error) {
			outs, err := e.run(asBuffers(brought(b, on, e, bufs, host)), nil, 0, atOnce)
			if err != nil {
				return nil, fmt.Errorf("waiting: %w", err)
			}
			return []compute.Buffer{outs[0]}, nil
		})
	})
	b.Run("begun", func(b *testing.B) { begun(b, on, rows, 1, false) })
	b.Run("halves", func(b *testing.B) { begun(b, on, rows/2, 2, false) })
	b.Run("halves,others wait", func(b *testing.B) { begun(b, on, rows/2, 2, true) })
	b.Run("two at once", func(b *testing.B) { twoAtOnce(b, on, rows/2) })
}

// brought returns a policy's inputs, each transferred by itself.
func brought(b *testing.B, on *Backend, e *Executable, bufs []compute.Buffer, host []any) []compute.Buffer {
	all := slices.Clone(bufs)
	for i := range 2 {
		all[i] = put(b, on, e.ins[i], host[i].([]float32)...)
	}
	return all
}

// begun takes steps of parts that take turns: the calls of all are made before the first result is
// waited for, here or by a goroutine for each part, as where environments stand apart. It says what
// the calls, the beginnings of the reads and the waits take.
func begun(b *testing.B, on *Backend, rows, parts int, others bool) {
	e, bufs, host := policy(b, on, rows)
	waits, done := make([]chan func(any) error, parts), make([]chan time.Duration, parts)
	read := func(action []int32, wait func(any) error) time.Duration {
		begin := time.Now()
		if err := wait(action); err != nil {
			b.Error(err)
		}
		return time.Since(begin)
	}
	var wg sync.WaitGroup
	for i := range parts {
		waits[i], done[i] = make(chan func(any) error, 1), make(chan time.Duration, 1)
		if others {
			wg.Go(func() {
				for wait := range waits[i] {
					done[i] <- read(make([]int32, rows), wait)
				}
			})
		}
	}
	var called, began, waited time.Duration
	action := make([]int32, rows)
	for first := true; b.Loop(); first = false {
		for i := range parts {
			if others && !first {
				waited += <-done[i]
			}
			t0 := time.Now()
			outs, err := e.ExecuteFrom(bufs, host, 0)
			if err != nil {
				b.Fatal(err)
			}
			t1 := time.Now()
			waits[i] <- on.Begin(outs[0])
			called, began = called+t1.Sub(t0), began+time.Since(t1)
		}
		for i := range parts {
			if !others {
				waited += read(action, <-waits[i])
			}
		}
	}
	for i := range parts {
		close(waits[i])
	}
	wg.Wait()
	for name, d := range map[string]time.Duration{"call": called, "begin": began, "wait": waited} {
		b.ReportMetric(float64(d.Microseconds())/float64(b.N*parts), "us/"+name)
	}
}

// twoAtOnce has two goroutines that make steps of half of the rows, each for itself: whether calls
// get into each other's way.
func twoAtOnce(b *testing.B, on *Backend, rows int) {
	e, bufs, host := policy(b, on, rows)
	var wg sync.WaitGroup
	b.ResetTimer()
	for range 2 {
		wg.Go(func() {
			action := make([]int32, rows)
			for range b.N {
				outs, err := e.ExecuteFrom(bufs, host, 0)
				if err == nil {
					err = outs[0].ToFlatData(action)
				}
				if err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

func asBuffers(in []compute.Buffer) []*Buffer {
	out := make([]*Buffer, len(in))
	for i, b := range in {
		out[i] = b.(*Buffer)
	}
	return out
}

// TestReadAll: what is read together is what each holds, although its computation has just begun.
func TestReadAll(t *testing.T) {
	b := backend(t)
	s := shapes.Make(dtypes.Float32, 200, 200)
	e := compiled(t, b, []shapes.Shape{s}, func(xs []*Node) []*Node {
		var out []*Node
		for i := range 150 { // more than are waited for together
			out = append(out, AddScalar(Slice(xs[0], AxisElem(i)), i))
		}
		return append(out, ReduceAllSum(Dot(xs[0], xs[0]).Product()))
	})
	outs, err := e.ExecuteFrom([]compute.Buffer{nil}, []any{slices.Repeat([]float32{1}, s.Size())}, 0)
	if err != nil {
		t.Fatal(err)
	}
	flats := make([]any, len(outs))
	for i, o := range outs {
		shape, err := o.Shape()
		if err != nil {
			t.Fatal(err)
		}
		flats[i] = make([]float32, shape.Size())
	}
	if err := b.ReadAll(outs, flats); err != nil {
		t.Fatal(err)
	}
	for i, flat := range flats {
		want := float32(1 + i)
		if i == 150 {
			want = 200 * 200 * 200
		}
		if got := flat.([]float32); slices.Min(got) != want || slices.Max(got) != want {
			t.Errorf("output %d is %v, not %v", i, got[0], want)
		}
	}
	if err := outs[1].Finalize(); err != nil {
		t.Fatal(err)
	}
	if err := b.ReadAll(outs, flats); err == nil {
		t.Error("a buffer that is gone was read")
	}
	if err := b.ReadAll(outs[2:4], flats[2:4]); err != nil {
		t.Error("after a failure:", err)
	}
}
