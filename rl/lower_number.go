package rl

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// CountAt does what Count does inside a device program.
func (system) CountAt(o *Opt) Tensor {
	if o.count.in.node == nil {
		failf("optimiser %q: its count inside a device program is asked for outside of one", o.name)
	}
	return o.count.in
}

// table adds a table, and returns what is in it for the iteration.
func (l *Lowering) table(h hostTable) Tensor {
	i := len(l.hosts)
	l.hosts = append(l.hosts, h)
	for len(l.tables) <= i { // tables are inputs: known from the second trace on
		l.tables = append(l.tables, nil)
	}
	if l.tables[i] == nil {
		return Wrap(graph.Zeros(l.c.graph, shapes.Make(h.dtype, h.dims...)))
	}
	start, size := []*graph.Node{l.at}, []int{1}
	for _, d := range h.dims {
		start, size = append(start, graph.ZerosLike(l.at)), append(size, d)
	}
	return Wrap(graph.Reshape(graph.DynamicSlice(l.tables[i], start, size), h.dims...))
}

// blank returns a table of zeros for so many iterations.
func (h hostTable) blank(size int) Tensor {
	shape := shapes.Make(h.dtype, append([]int{size}, h.dims...)...)
	return constantOf(shape, makeFlat(shape))
}

// hostTables returns the tables for n iterations from the run's on, of which calls have size.
// Counters of the run are as they were afterwards; steps is what an iteration adds to them.
func hostTables(r *Run, hosts []hostTable, n, size int, steps int64) []Tensor {
	iter, all, previous := r.iter, r.steps, r.previous
	defer func() { r.iter, r.steps, r.previous = iter, all, previous }()
	floats, out := make([][]float64, len(hosts)), make([]Tensor, len(hosts))
	for i, h := range hosts {
		if h.bring != nil {
			out[i] = h.blank(size)
		}
	}
	for at := range n {
		for i, h := range hosts {
			if h.bring == nil {
				floats[i] = append(floats[i], h.of(r))
				continue
			}
			x := dtypes.UnsafeByteSliceFromAny(Flat(h.bring(r)))
			copy(dtypes.UnsafeByteSliceFromAny(Flat(out[i]))[at*len(x):], x)
		}
		r.iter++
		r.previous, r.steps = r.steps, r.steps+steps
	}
	for i, h := range hosts {
		if h.bring == nil {
			out[i] = hostColumn(h.dtype, floats[i], size)
		}
	}
	return out
}

// Feed returns, inside a device program, what of returns on the host for the key of the iteration:
// values of a component that does not fit on the device. The host brings those of all iterations of
// a call before it. It fails if the key depends on more than the iteration, as inside of a loop
// that the device runs.
func Feed[V any](l *Lowering, k Key, of func(Key) V) V {
	at, ok := l.hostKey(k)
	if !ok {
		failf("a draw inside of a loop that the device runs cannot be made by the host: let the device have what is drawn from (on_device of a data set), or use another policy")
	}
	now := func(r *Run) V { return of(at(r.root().iter)) }
	var last []Tensor // of one iteration
	lastIter := int64(-1)
	like := onHost(l, func() V { return now(l.run) })
	leaves := Leaves(like)
	out := make([]Tensor, len(leaves))
	for i, t := range leaves {
		if !t.Ok() {
			continue
		}
		out[i] = l.table(hostTable{dtype: t.Shape().DType, dims: t.Shape().Dimensions, bring: func(r *Run) Tensor {
			if r.iter != lastIter {
				last, lastIter = Leaves(now(r)), r.iter
			}
			return last[i]
		}})
	}
	return Rebuild(like, out)
}

// onHost returns what f returns where no device program is being built.
func onHost[V any](l *Lowering, f func() V) V {
	scope, run := l.scope.lower, l.run.lower
	l.scope.lower, l.run.lower = nil, nil
	defer func() { l.scope.lower, l.run.lower = scope, run }()
	return f()
}

// hostKey returns a key of the program as the host has it in every iteration. ok is false if the
// key depends on more than that.
func (l *Lowering) hostKey(k Key) (at func(iter int64) Key, ok bool) {
	path := pathOf(k)
	if path == nil {
		return nil, false
	}
	for _, f := range path.folds {
		if f.round || f.count != nil || f.node != nil && f.node != l.iter {
			return nil, false
		}
	}
	return func(iter int64) Key {
		k := Key{w: path.words, row: path.row, own: k.own}
		for _, f := range path.folds {
			if f.node != nil {
				k = k.iteration(uint64(iter))
			} else {
				k = k.Fold(uint64(f.hi)<<32 | uint64(f.lo))
			}
		}
		return k
	}, true
}

// hostColumn returns a table's numbers, and zeros for the rest of the chunk.
func hostColumn(d dtypes.DType, x []float64, size int) Tensor {
	shape := shapes.Make(d, size)
	var flat any
	switch d {
	case dtypes.Int32:
		flat = filled[int32](x, size)
	case dtypes.Int64:
		flat = filled[int64](x, size)
	case dtypes.Float32:
		flat = filled[float32](x, size)
	case dtypes.Float64:
		flat = filled[float64](x, size)
	default:
		failf("%s", fmt.Sprintf("a table of %s", d))
	}
	return constantOf(shape, flat)
}

func filled[N int32 | int64 | float32 | float64](x []float64, size int) []N {
	flat := make([]N, size)
	for i, v := range x {
		flat[i] = N(v)
	}
	return flat
}
