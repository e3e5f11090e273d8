package kit

import (
	"strconv"

	"github.com/weft-rl/weft/rl"
)

// Table keeps the last steps of every environment: an author's own component.
//
//weft:fragment replay
type Table[E any] struct {
	steps    []E
	capacity int
}

// NewTable is an empty table.
func NewTable[E any](s *rl.Scope, name string, capacity int) *Table[E] {
	t := &Table[E]{capacity: capacity}
	s.Register(name, t)
	return t
}

// Axis of a table: sampling needs all of it.
func (t *Table[E]) Axis() rl.Axis { return rl.None }

// Save puts every step.
func (t *Table[E]) Save(s *rl.State) {
	for j, e := range t.steps {
		for i, l := range rl.Leaves(e) {
			s.At(strconv.Itoa(j)).Put(rl.LeafNames(e)[i], l)
		}
	}
}

// Load empties the table.
func (t *Table[E]) Load(*rl.State) error {
	t.steps = nil
	return nil
}

// Insert adds a step.
//
//weft:op writes
func (t *Table[E]) Insert(e E) {
	t.steps = append(t.steps, e)
	t.steps = t.steps[max(0, len(t.steps)-t.capacity):]
}

// Ready reports whether n steps are there.
//
//weft:op reads
func (t *Table[E]) Ready(n int) bool { return len(t.steps) >= n }

// Sample is n rows, drawn with replacement.
//
//weft:op reads
//weft:axis rows
func (t *Table[E]) Sample(k rl.Key, n int) E {
	like := t.steps[0]
	leaves := rl.Leaves(like)
	rows := rl.Leaves(like)[0].Rows() * len(t.steps)
	for i := range leaves {
		if !leaves[i].Ok() {
			continue
		}
		var over []rl.Tensor
		for _, s := range t.steps {
			over = append(over, rl.Leaves(s)[i])
		}
		index := make([]int, n)
		for j := range index {
			index[j] = k.IntN(j, 0, rows)
		}
		leaves[i] = rl.Gather(rl.Stack(over), 2, index)
	}
	return rl.Rebuild(like, leaves)
}

// Prioritise says how much the rows of a sample matter.
//
//weft:op writes
func (t *Table[E]) Prioritise(priority rl.Tensor) {}
