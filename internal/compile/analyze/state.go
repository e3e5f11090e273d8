package analyze

import (
	"cmp"
	"go/types"
	"maps"
	"slices"
)

// variable is a Go variable in one call of its function.
type variable struct {
	obj  types.Object
	call string
}

// state is what is known at a point of the program.
type state struct {
	vars map[variable]*value
	// writers are who last wrote each resource; none is the constructor.
	writers map[int][]def
	handed  map[int]bool // slices that an operation was given
	dead    bool         // the point is never reached
}

func newState() *state {
	return &state{vars: map[variable]*value{}, writers: map[int][]def{}, handed: map[int]bool{}}
}

func (s *state) clone() *state {
	return &state{vars: maps.Clone(s.vars), writers: maps.Clone(s.writers), handed: maps.Clone(s.handed), dead: s.dead}
}

// merge is the state where two ways meet.
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
	for r, d := range b.writers {
		out.writers[r] = union(out.writers[r], d, compareDefs)
	}
	maps.Copy(out.handed, b.handed)
	return out
}

// equal reports whether two states know the same, so that another round of a
// loop brings nothing new.
func (s *state) equal(o *state) bool {
	return s.dead == o.dead && maps.Equal(s.handed, o.handed) &&
		maps.EqualFunc(s.writers, o.writers, func(a, b []def) bool { return slices.Equal(a, b) }) &&
		maps.EqualFunc(s.vars, o.vars, same)
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

// sortedObjects puts objects into the order in which they were made.
func sortedObjects(list []*object) []*object {
	slices.SortFunc(list, func(a, b *object) int { return cmp.Compare(a.id, b.id) })
	return slices.Compact(list)
}
