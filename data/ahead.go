package data

import (
	"slices"
	"sync"

	"github.com/weft-rl/weft/rl"
)

// A draw is a function of its key, and a key knows the one that the same line of the loop has in
// the next iteration. So the rows of the next batch can be read while the loop computes with this
// one. What was read is used only if the rows that are then drawn are the same, so that reading
// ahead changes no number: a loop that draws otherwise in the next iteration reads again.

// most is the number of batches that are read ahead. A loop that draws more in one iteration reads
// the first of them when it draws them.
const most = 64

// ahead holds batches that are read for the next iteration.
type ahead struct {
	batches []*batch
	running sync.WaitGroup
}

// batch is the rows of a sample and what is in them.
type batch struct {
	rows     []int64
	left     []int // steps of each row
	discount []float32
	flat     []any // numbers, by leaf of the element
	err      error
	done     chan struct{} // closed when the numbers are there
}

// read returns the batch of a key, and begins to read the one of the next iteration.
func (d *Set[E]) read(k rl.Key, n int) *batch {
	b := d.drawn(k, n)
	if early := d.ahead.take(b.rows); early != nil {
		<-early.done
		b = early
	} else {
		d.fetch(b)
	}
	if b.err != nil {
		rl.Fail(b.err)
	}
	if s, ok := d.src.(Distant); ok && s.Distant() {
		if next, ok := k.Ahead(); ok {
			d.begin(next, n)
		}
	}
	return b
}

// take returns the batch of some rows, and forgets it; nil if none was read.
func (a *ahead) take(rows []int64) *batch {
	at := slices.IndexFunc(a.batches, func(b *batch) bool { return slices.Equal(b.rows, rows) })
	if at < 0 {
		return nil
	}
	b := a.batches[at]
	a.batches = slices.Delete(a.batches, at, at+1)
	return b
}

// begin reads the batch of a key beside the loop. Batches that nobody asked for make room.
func (d *Set[E]) begin(k rl.Key, n int) {
	b := d.drawn(k, n)
	b.done = make(chan struct{})
	if len(d.ahead.batches) == most {
		d.ahead.batches = slices.Delete(d.ahead.batches, 0, 1)
	}
	d.ahead.batches = append(d.ahead.batches, b)
	d.ahead.running.Go(func() {
		defer close(b.done)
		d.fetch(b)
	})
}

// drawn returns the rows of the batch of a key, not yet read.
func (d *Set[E]) drawn(k rl.Key, n int) *batch {
	b := &batch{discount: make([]float32, n)}
	b.rows, b.left = d.draw(k, n)
	for i := range b.left {
		b.left[i] = min(b.left[i], d.span())
		b.discount[i] = d.powers[b.left[i]]
	}
	return b
}

// fetch reads the numbers of a batch.
func (d *Set[E]) fetch(b *batch) {
	b.flat = make([]any, len(d.reads))
	for i, at := range d.reads {
		if at.column < 0 {
			continue
		}
		if b.flat[i], b.err = d.copied(at.column, d.places(b, at.at)); b.err != nil {
			return
		}
	}
}

// places returns the rows in which a leaf is read.
func (d *Set[E]) places(b *batch, at place) []int64 {
	if at == first || at == all && d.span() == 1 {
		return b.rows
	}
	if at == all {
		return d.spanned(b)
	}
	out := make([]int64, len(b.rows))
	for i, r := range b.rows {
		out[i] = r + int64(b.left[i])
		if at == last {
			out[i]--
		}
	}
	return out
}

// spanned returns the rows of all steps that each row stands for, the last one repeated.
func (d *Set[E]) spanned(b *batch) (out []int64) {
	for i, r := range b.rows {
		for t := range d.span() {
			out = append(out, r+int64(min(t, b.left[i]-1)))
		}
	}
	return out
}
