package edge

import "slices"

// stamp notes what an asynchronous receiver must know of a message.
func (x *X) stamp(m Message) Message {
	if x.top.Async == nil {
		return m
	}
	m.Versions, m.Iter, m.Steps = slices.Clone(x.versions), x.iter, x.uncounted()
	return m
}

// uncounted is the steps that the replica's own environments took and nobody was
// told of.
func (x *X) uncounted() int64 {
	n := x.scope.Steps() - x.counted
	x.counted += n
	if x.Of > 0 {
		n = n * int64(x.Hi-x.Lo) / int64(x.Of)
	}
	return n
}

// age is how many versions behind what a message was made with is.
func (x *X) age(m Message) (behind int64) {
	for e, v := range m.Versions {
		if e < len(x.top.Edges) && x.top.Edges[e].Kind == Copies && x.ends[e].from == x.group {
			behind = max(behind, x.versions[e]-v)
		}
	}
	return behind
}

// fresh notes the age of a message, and whether it may be used.
func (x *X) fresh(m Message) bool {
	s := &x.stats[m.Edge]
	behind := x.age(m)
	if behind > int64(x.top.Async.Staleness) {
		s.Dropped++
		return false
	}
	s.stale(behind)
	x.taken += m.Steps
	return true
}

// reduceAny is the next gradient of any replica.
func (x *X) reduceAny(edge, group int) Message {
	for {
		if m := x.any(edge, func(int) bool { return true }); x.fresh(m) {
			return m
		}
	}
}

// gatherAny is one item of each of the producers that were first, in rank order.
// All gathers of an iteration are of the same producers, and of one iteration of
// each.
func (x *X) gatherAny(edge, group int) []Message {
	if len(x.chosen) == 0 {
		return x.choose(edge, group)
	}
	out := make([]Message, len(x.chosen))
	for i, c := range x.chosen {
		out[i] = x.receive(edge, x.top.Number(group, c.rank))
		for out[i].Iter < c.iter { // its companion was dropped
			x.stats[edge].Dropped++
			out[i] = x.receive(edge, x.top.Number(group, c.rank))
		}
		x.taken += out[i].Steps
	}
	return out
}

func (x *X) choose(edge, group int) []Message {
	k := x.replicas(group)
	need := x.top.Async.Producers
	if need <= 0 || need > k {
		need = k
	}
	got := make([]*Message, k)
	base := x.top.Number(group, 0)
	for n := 0; n < need; {
		m := x.any(edge, func(from int) bool { return got[from-base] == nil })
		if x.fresh(m) {
			got[m.From-base] = &m
			n++
		}
	}
	var out []Message
	for r, m := range got {
		if m != nil {
			out = append(out, *m)
			x.chosen = append(x.chosen, chosen{r, m.Iter})
		}
	}
	return out
}
