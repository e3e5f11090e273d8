package replay

import (
	"fmt"
	"math/bits"
	"slices"

	"github.com/weft-rl/weft/rl"
)

// Reservoir keeps a uniform sample of all rows that it was ever given, and lends out
// rows of it: what an average over a whole run is learned from, as in neural
// fictitious self-play (Heinrich and Silver, 2016). E is a struct of tensors
// [env, ...], one row for each environment.
//
// It is Vitter's algorithm R ("Random sampling with a reservoir", 1985). Rows are
// numbered for life, in (step, environment) order. The first ones fill the reservoir;
// row r after that takes the place of one of the rows that are kept with probability
// capacity/(r+1), and is dropped otherwise. The draw is keyed by r, so neither how
// environments are spread over workers nor where the reservoir lives can change what
// is kept.
//
// A reservoir does not implement rl.Resident: a loop with one cannot be a device
// program.
//
//weft:component table axis=none home=replay large
type Reservoir[E any] struct {
	columns[E]
	capacity int
	key      rl.Key
	count    int64   // rows given, ever
	number   []int64 // number of the row in each slot
	slots    []int   // scratch of Sample
	rows     []int64
}

// NewReservoir returns an empty reservoir of capacity rows.
//
//weft:makes name=1
func NewReservoir[E any](s *rl.Scope, name string, capacity int) *Reservoir[E] {
	if capacity < 1 {
		rl.Failf("reservoir %q: capacity %d: it must be at least 1 row", name, capacity)
	}
	r := &Reservoir[E]{columns: columns[E]{scope: s}, capacity: capacity, key: s.Key("reservoir").Use(name)}
	s.Register(name, r)
	return r
}

// Insert gives the reservoir a row of every environment, or only of those where keep,
// [env] bool, is true. An absent keep stands for all.
//
//weft:op insert writes fills whole
func (r *Reservoir[E]) Insert(e E, keep rl.Tensor) {
	leaves := rl.Leaves(e)
	rows := rowsIn(e, leaves)
	if r.rings == nil {
		r.begin(e, leaves, rows, r.slotsOf, nil)
	}
	if !r.fit(leaves) || keep.Ok() && keep.Rows() != rows {
		rl.Failf("the reservoir is given other tensors (%v, keep %v) than before: rows must always have the same fields and shapes", leaves, keep)
	}
	var wanted []bool
	if keep.Ok() {
		wanted = rl.Read[bool](keep)
	}
	for i := range rows {
		if wanted == nil || wanted[i] {
			r.add(leaves, i)
		}
	}
}

// rowsIn returns the number of rows of an element's first tensor.
func rowsIn[E any](e E, leaves []rl.Tensor) int {
	i := slices.IndexFunc(leaves, rl.Tensor.Ok)
	if i < 0 {
		rl.Failf("%T has no tensor to keep rows of", e)
	}
	return leaves[i].Rows()
}

// slotsOf returns the number of slots in a tensor's ring.
func (r *Reservoir[E]) slotsOf(int) int { return r.capacity }

// add offers row i of some tensors.
func (r *Reservoir[E]) add(leaves []rl.Tensor, i int) {
	slot, ok := r.place(r.count)
	if ok {
		for j, x := range leaves {
			if x.Ok() {
				r.rings[j].PutRow(slot, x, i)
			}
		}
		if slot == len(r.number) {
			r.number = append(r.number, 0)
		}
		r.number[slot] = r.count
	}
	r.count++
}

// place returns the slot that a row takes; ok is false if the row is dropped.
func (r *Reservoir[E]) place(row int64) (slot int, ok bool) {
	if row < int64(r.capacity) {
		return int(row), true
	}
	w := r.key.Bits(int(uint32(row)), int(row>>32))
	// Uniform over 0..row, up to a bias of row/2^64.
	at, _ := bits.Mul64(uint64(w[0])|uint64(w[1])<<32, uint64(row)+1)
	return int(at), at < uint64(r.capacity)
}

// Ready reports whether there are n rows to draw from.
//
//weft:op read reads shape=one
func (r *Reservoir[E]) Ready(n int) bool { return len(r.number) >= n }

// Sample draws n of the rows that are kept, with replacement: each of them is as
// likely to be any row that was ever given.
//
//weft:op sample reads whole shape=rows
func (r *Reservoir[E]) Sample(k rl.Key, n int) Sample[E] {
	held := len(r.number)
	if held == 0 {
		rl.Failf("the reservoir is sampled before it has a row: call Ready first, or begin to learn later")
	}
	r.slots, r.rows = slices.Grow(r.slots[:0], n)[:n], slices.Grow(r.rows[:0], n)[:n]
	prob := make([]float32, n)
	for i := range n {
		r.slots[i] = k.IntN(i, 0, held)
		r.rows[i], prob[i] = r.number[r.slots[i]], float32(1/float64(held))
	}
	out := make([]rl.Tensor, len(r.rings))
	for i, ring := range r.rings {
		if ring != nil {
			out[i] = ring.Gather(r.scope, r.slots)
		}
	}
	return Sample[E]{
		Data:  rl.Rebuild(r.like, out),
		Index: rl.FromFlat(r.scope, r.rows, n),
		Prob:  rl.FromFlat(r.scope, prob, n),
	}
}

// InPart returns nil: rows may come from one part of the environments at a time.
func (r *Reservoir[E]) InPart([]rl.Span) error { return nil }

// Axis returns that a reservoir cannot be split: a sample is drawn from all of it.
func (r *Reservoir[E]) Axis() rl.Axis { return rl.None }

// Save puts the rows that are kept, their numbers and the count of all.
func (r *Reservoir[E]) Save(s *rl.State) {
	rl.PutSlice(s, "counters", []int64{r.count, int64(r.capacity)})
	if r.count == 0 {
		return
	}
	rl.PutSlice(s, "number", r.number)
	r.save(s, func(int) int { return len(r.number) })
}

// Load takes back what Save put.
func (r *Reservoir[E]) Load(s *rl.State) error {
	c := rl.GetSliceN[int64](s, "counters", 2)
	if s.Err() != nil {
		return s.Err()
	}
	if int(c[1]) != r.capacity {
		return fmt.Errorf("the state is of a reservoir of %d rows, this one has %d", c[1], r.capacity)
	}
	r.count, r.rings, r.number = c[0], nil, nil
	if r.count == 0 {
		return nil
	}
	r.number = rl.GetSliceN[int64](s, "number", int(min(r.count, int64(r.capacity))))
	if err := r.loadForm(s); err != nil {
		return err
	}
	r.load(s, r.slotsOf)
	return s.Err()
}
