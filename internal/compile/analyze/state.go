package analyze

import (
	"go/types"
	"maps"
	"slices"
)

// state is what is known at a point of the program.
type state struct {
	vars map[*types.Var]*value
	// heap holds the fields of what constructors made.
	heap map[place]*value
	// writers are who last wrote each resource; none is the constructor.
	writers map[int][]def
	handed  map[int]bool // memory that an operation was given, by where it was made
	used    map[int]bool // keys that an operation was given, by where they were made
	dead    bool         // the point is never reached
}

// place is a field of an object.
type place struct {
	o     *object
	field string
}

func newState() *state {
	return &state{
		vars: map[*types.Var]*value{}, heap: map[place]*value{}, writers: map[int][]def{}, handed: map[int]bool{}, used: map[int]bool{},
	}
}

func (s *state) clone() *state {
	return &state{maps.Clone(s.vars), maps.Clone(s.heap), maps.Clone(s.writers), maps.Clone(s.handed), maps.Clone(s.used), s.dead}
}

// merge returns the state where two ways meet.
func merge(a, b *state) *state {
	if a == nil || a.dead {
		if b == nil {
			return a
		}
		return b
	}
	if b == nil || b.dead {
		return a
	}
	out := a.clone()
	for k, v := range b.vars {
		out.vars[k] = join(out.vars[k], v)
	}
	for k, v := range b.heap {
		out.heap[k] = join(out.heap[k], v)
	}
	for r, d := range b.writers {
		out.writers[r] = union(out.writers[r], d, compareDefs)
	}
	maps.Copy(out.handed, b.handed)
	maps.Copy(out.used, b.used)
	return out
}

// equal reports whether two states know the same, so that another round of a
// loop brings nothing new.
func (s *state) equal(o *state) bool {
	return s.dead == o.dead && maps.Equal(s.handed, o.handed) && maps.Equal(s.used, o.used) &&
		maps.EqualFunc(s.writers, o.writers, func(a, b []def) bool { return slices.Equal(a, b) }) &&
		maps.EqualFunc(s.vars, o.vars, same) && maps.EqualFunc(s.heap, o.heap, same)
}

// every applies f to all definitions in a state.
func (s *state) every(f func(def) def) *state {
	out := s.clone()
	for k, v := range out.vars {
		out.vars[k] = v.every(f)
	}
	for r, list := range out.writers {
		now := make([]def, len(list))
		for i, d := range list {
			now[i] = f(d)
		}
		slices.SortFunc(now, compareDefs)
		out.writers[r] = slices.Compact(now)
	}
	return out
}
