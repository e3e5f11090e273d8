package edge

import (
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/rl"
)

// Gather sends this replica's rows; the other end is Gathered.
func Gather[T any](x *X, edge int, v T) {
	defer x.pass(edge).done()
	v = whole(v)
	count(x, edge, v)
	if v = hand(x, edge, v); x.batched(edge) {
		keep(x, edge, v)
		return
	}
	toAll(x, edge, x.stamp(edge, Message{}), v)
}

// Gathered returns the rows of all replicas. Of what has no rows, such as scalars and
// Go numbers, it is the first replica's.
func Gathered[T any](x *X, edge int) T {
	defer x.pass(edge).done()
	if x.batched(edge) {
		return concat(x, edge, unpacked(x, edge, func() [][]T { return all[[]T](x, edge) }))
	}
	if !x.loose(edge) && x.inTurns(x.ends[edge].from) && hasLeaves[T]() && !x.byMember(edge) {
		return gatheredInTurns[T](x, edge)
	}
	return concat(x, edge, all[T](x, edge))
}

// all returns what all replicas of the sending group sent, or those that an asynchronous iteration
// is for.
func all[T any](x *X, edge int) []T {
	if x.loose(edge) {
		return values[T](x.serve(edge))
	}
	return ranks[T](x, edge, 0, x.replicas(x.ends[edge].from))
}

// ranks returns what the replicas from lo to hi of the sending group sent.
func ranks[T any](x *X, edge, lo, hi int) []T {
	parts := make([]T, hi-lo)
	for i := range parts {
		parts[i] = valueOf[T](x.receive(edge, x.top.Number(x.ends[edge].from, lo+i)))
	}
	return parts
}

// Scatter sends every replica of the other group its rows: those of its
// environments, or an even share of a learner's batch. The other end is Scattered.
func Scatter[T any](x *X, edge int, v T) {
	if !x.First() {
		return
	}
	defer x.pass(edge).done()
	to := x.ends[edge].to
	for r, own := range x.top.Groups[to].Own {
		part, cut := v, rl.System.Part
		on := x.top.Groups[to].On
		if on != nil { // it is on its way before it is read there
			cut = func(t rl.Tensor, lo, hi int) rl.Tensor { return rl.System.PartFor(t, lo, hi, on[r]) }
		}
		switch k := x.replicas(to); {
		case k > 1 && x.top.Edges[edge].Axis == fdg.Rows: // of a learner's batch: an even share
			n := length(v)
			part = rows(x, edge, v, r*n/k, (r+1)*n/k, -1, cut)
		case own.Len() < own.Of:
			part = rows(x, edge, v, own.Lo, own.Hi, own.Of, cut)
		}
		count(x, edge, part)
		if on != nil {
			begin(part, on[r])
		}
		x.send(edge, x.top.Number(to, r), Message{Value: detach(part)})
	}
}

// Scattered returns this replica's rows.
func Scattered[T any](x *X, edge int) T {
	defer x.pass(edge).done()
	return first[T](x, edge)
}

// Send sends a value, a batch or a Go number, to every replica of the other group;
// of several senders the first one's counts, all having the same.
func Send[T any](x *X, edge int, v T) {
	defer x.pass(edge).done()
	to := x.ends[edge].to
	v = whole(v)
	switch {
	case !x.First() && !(x.loose(edge) && x.Of > 0):
		return
	case x.batched(edge):
		count(x, edge, v)
		keep(x, edge, v)
		return
	case x.loose(edge) && x.Of > 0: // every producer's own session has it
		count(x, edge, v)
		toAll(x, edge, x.stamp(edge, Message{}), v)
		return
	case !x.loose(edge):
		count(x, edge, v)
		toAll(x, edge, Message{}, v)
		return
	}
	// Nobody may wait for a consumer that is at another point of the loop.
	for r := range x.replicas(to) {
		x.link.Post(x.top.Number(to, r), Message{Edge: edge, Value: detach(v)})
	}
	x.stats[edge].Messages += int64(x.replicas(to))
}

// Sent returns what Send sent. In an asynchronous run a producer gets the newest value,
// which may be one that it used before.
func Sent[T any](x *X, edge int) T {
	defer x.pass(edge).done()
	e := &x.ends[edge]
	switch {
	case x.batched(edge):
		return unpacked(x, edge, func() [][]T { return [][]T{one[[]T](x, edge)} })[0]
	case !x.loose(edge) || x.top.Groups[e.from].Own[0].Of > 0:
		return one[T](x, edge)
	}
	from := x.top.Number(e.from, 0)
	x.poll()
	if e.copy.last == nil || len(e.waiting[from]) > 0 {
		m := x.receive(edge, from)
		for len(e.waiting[from]) > 0 {
			m = x.pop(edge, from)
		}
		e.copy.last = valueOf[T](m)
	}
	return detach(e.copy.last.(T)) // it may be given out again
}

// one returns what the first replica of the sending group sent, or the first of those that an
// asynchronous iteration is for.
func one[T any](x *X, edge int) T {
	if x.loose(edge) {
		return valueOf[T](x.serve(edge)[0])
	}
	return first[T](x, edge)
}

// AllGather returns the rows of all replicas, for all of them. In an asynchronous run
// every replica is on its own.
func AllGather[T any](x *X, edge int, v T) T {
	defer x.pass(edge).done()
	k := x.replicas(x.group)
	v = whole(v)
	if k == 1 || x.top.Async != nil {
		x.ends[edge].mine = [2]int{0, -1}
		return v
	}
	count(x, edge, v)
	parts := make([]T, k)
	for r := range k {
		if r != x.rank {
			x.send(edge, x.top.Number(x.group, r), Message{Value: detach(v)})
		}
	}
	for r := range k {
		if r == x.rank {
			parts[r] = detach(v)
		} else {
			parts[r] = valueOf[T](x.receive(edge, x.top.Number(x.group, r)))
		}
	}
	lo := 0
	for _, p := range parts[:x.rank] {
		lo += length(p)
	}
	x.ends[edge].mine = [2]int{lo, lo + length(v)}
	return concat(x, edge, parts)
}

// OwnRows returns this replica's part of what was computed from an AllGather: the rows
// that it gave to it.
func OwnRows[T any](x *X, edge int, v T) T {
	defer x.pass(edge).done()
	own := x.ends[edge].mine
	if own[1] < 0 {
		return v
	}
	return rows(x, edge, v, own[0], own[1], -1, rl.System.Part)
}

// Part returns this replica's even share of a batch that all replicas have. In an asynchronous run
// every replica has a batch of its own, and all of it is its share.
func Part[T any](x *X, v T) T {
	n, k := length(v), x.replicas(x.group)
	if k == 1 {
		return v
	}
	lo, hi := x.rank*n/k, (x.rank+1)*n/k
	if x.top.Async != nil {
		lo, hi = 0, n
	}
	return rows(x, 0, v, lo, hi, -1, rl.System.Share)
}

// toAll sends v to every replica of the receiving group, which may each write what
// they receive.
func toAll[T any](x *X, edge int, m Message, v T) {
	to := x.ends[edge].to
	for r := range x.replicas(to) {
		m.Value = detach(v)
		x.send(edge, x.top.Number(to, r), m)
	}
}

// first returns what the first replica of the sending group sent.
func first[T any](x *X, edge int) T {
	return valueOf[T](x.receive(edge, x.top.Number(x.ends[edge].from, 0)))
}

func valueOf[T any](m Message) T { return As[T](m.Value) }

// As returns a message's value, whether it is here as it was sent or still in the form
// that it crossed processes in; the zero T if there was none.
func As[T any](value any) T {
	v, ok := value.(T)
	if ok || value == nil {
		return v
	}
	e, ok := value.(Encoded)
	if !ok {
		rl.Failf("an edge of %T carried %T: the generated programs do not fit each other", v, value)
	}
	if err := e.Decode(&v); err != nil {
		rl.Failf("an edge of %T: %w", v, err)
	}
	return v
}

func values[T any](m []Message) []T {
	out := make([]T, len(m))
	for i := range m {
		out[i] = valueOf[T](m[i])
	}
	return out
}
