package verify

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// calls are the operations of a reference run, in program order, with what its
// replicas and those of another run did.
type calls struct {
	src  *sources
	list []*call
	by   map[ident][]*call
	bags bool // the order of rows does not count
}

// call is one operation of the loop.
type call struct {
	*record
	path []string
	time int // how often the place was reached in the iteration, from 1
	want []*record
	got  map[string][]*record // results, by group
	open bool                 // some group did it or another in its line, and which is not known
}

// at returns the call as a place.
func (c *call) at() Place {
	p := Place{Operation: c.kind, Name: c.name, Pos: c.pos(), Iteration: c.iter + 1, Time: c.time}
	if len(c.path) > 1 {
		p.From = c.path[1]
	}
	return p
}

// pos returns the line of the operation, or "" if it is not known.
func (c *call) pos() string {
	if len(c.path) == 0 {
		return ""
	}
	return c.path[0]
}

// newCalls lists the operations of the reference's replicas. All of them run the
// whole loop, so that the first one's order is the program's.
func newCalls(reference []*trace, src *sources) *calls {
	cs := &calls{src: src, by: map[ident][]*call{}}
	type spot struct {
		ident
		pos string
	}
	times := map[spot]int{}
	for _, r := range reference[0].records {
		c := &call{record: r, path: src.path(r), got: map[string][]*record{}}
		at := spot{r.ident, c.pos()}
		times[at]++
		c.time = times[at]
		cs.list, cs.by[r.ident] = append(cs.list, c), append(cs.by[r.ident], c)
	}
	for _, t := range reference {
		cs.match(t, func(c *call, r *record) { c.want = append(c.want, r) })
	}
	return cs
}

// add finds the operations of a replica of the other run among the calls.
func (cs *calls) add(t *trace) {
	cs.match(t, func(c *call, r *record) { c.got[t.group] = append(c.got[t.group], r) })
}

// match finds the call of each of a replica's operations, and tells found. Operations
// that cannot be told apart for certain are left out.
func (cs *calls) match(t *trace, found func(*call, *record)) {
	by := map[ident][]*record{}
	for _, r := range t.records {
		by[r.ident] = append(by[r.ident], r)
	}
	for id, records := range by {
		for i, c := range cs.paired(records, cs.by[id]) {
			if c != nil {
				found(c, records[i])
			}
		}
	}
}

// paired returns the calls of operations that have one ident, nil for an operation whose
// call is not certain. It pairs them by path and by time on that path, or, if paths are
// not known and there are equally many, in order. Of several calls in one line a program may have
// but some: it pairs them if there are equally many.
func (cs *calls) paired(records []*record, list []*call) []*call {
	out := make([]*call, len(records))
	from := map[string][]int{} // records by path
	paths := map[string][]string{}
	for i, r := range records {
		path := cs.src.path(r)
		key := strings.Join(path, " ")
		from[key], paths[key] = append(from[key], i), path
	}
	for key, at := range from {
		fit := fitting(list, paths[key])
		switch {
		case len(fit) == 0 && len(records) == len(list):
			return list
		case alike(fit) || len(fit) == len(at):
			for j, i := range at[:min(len(at), len(fit))] {
				out[i] = fit[j]
			}
		case oneLine(fit):
			for _, c := range fit {
				c.open = true
			}
		}
	}
	return out
}

// fitting returns the calls whose path begins with path, none if path is empty.
func fitting(list []*call, path []string) (out []*call) {
	for _, c := range list {
		if n := len(path); n > 0 && len(c.path) >= n && slices.Equal(c.path[:n], path) {
			out = append(out, c)
		}
	}
	return out
}

// alike reports whether all are one call of the source, done several times.
func alike(list []*call) bool {
	return !slices.ContainsFunc(list, func(c *call) bool { return !slices.Equal(c.callers, list[0].callers) })
}

// oneLine reports whether all calls have one path.
func oneLine(list []*call) bool {
	return !slices.ContainsFunc(list, func(c *call) bool { return !slices.Equal(c.path, list[0].path) })
}

// Difference is the first operation that a distributed run does otherwise than its
// reference.
type Difference struct {
	Place *Place `json:"place,omitempty"` // nil if no operation was seen to differ
	Group string `json:"group,omitempty"` // group of the programs that differ there
	What  string `json:"what"`

	writer string // writer of the array of the state that differs
	made   bool   // its results differ, and not its arguments
}

func (d *Difference) String() string {
	if d.Place == nil {
		return d.What
	}
	text := d.Place.String()
	if d.Group != "" {
		text += ", in " + d.Group
	}
	return text + ": " + d.What
}

// first returns the first call in program order that differs, or nil. skip reports
// whether the arguments and the results of a call are left out.
func (cs *calls) first(skip func(c *call) (in, out bool), than string) *Difference {
	for _, c := range cs.list {
		noIn, noOut := skip(c)
		for _, group := range slices.Sorted(maps.Keys(c.got)) {
			what, made := "", false
			if name, ok := cs.differs(c.want, c.got[group], func(r *record) []digest { return r.in }); ok && !noIn {
				what = "it is given another " + cmp.Or(name, "argument") + " than in " + than
			} else if name, ok := cs.differs(c.want, c.got[group], func(r *record) []digest { return r.out }); ok && !noOut {
				what, made = cmp.Or(name, "its result")+" differs from that of "+than, true
			}
			if what != "" {
				at := c.at()
				return &Difference{Place: &at, Group: group, What: what, made: made}
			}
		}
	}
	return nil
}

// missing returns the first call that no replica made, or nil. The operation must have
// been made at that place at another time, or nowhere.
func (cs *calls) missing(than string) *Difference {
	type spot struct{ kind, name, pos string }
	made, done := map[spot]bool{}, map[string]bool{}
	for _, c := range cs.list {
		if len(c.got) > 0 {
			made[spot{c.kind, c.name, c.pos()}] = true
			done[c.kind+" "+c.name] = true
		}
	}
	for _, c := range cs.list {
		if len(c.got) == 0 && !c.open && (made[spot{c.kind, c.name, c.pos()}] || !done[c.kind+" "+c.name]) {
			at := c.at()
			return &Difference{Place: &at, What: "it is not done, unlike in " + than}
		}
	}
	return nil
}

// differs returns the name of the first tensor in which two sets of replicas differ;
// ok is false if there is none. A tensor that one of them does not have is left out: only what
// is used crosses.
func (cs *calls) differs(want, got []*record, of func(*record) []digest) (name string, ok bool) {
	for i, d := range of(got[0]) {
		a, b := named(want, d.name, i, of), named(got, d.name, i, of)
		if len(a) == 0 || len(b) < len(got) {
			continue
		}
		if equal, known := same(a, b, cs.bags); known && !equal {
			return d.name, true
		}
	}
	return "", false
}

// named returns the tensors of a name. A tensor without a name is found by its number.
func named(list []*record, name string, i int, of func(*record) []digest) (out []digest) {
	for _, r := range list {
		for j, d := range of(r) {
			if d.name == name && (name != "" || i == j) {
				out = append(out, d)
				break
			}
		}
	}
	return out
}
