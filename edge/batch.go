package edge

import "github.com/weft-rl/weft/rl"

// What the rounds of a loop send on an edge may cross in one message behind the loop, where the
// receiver sends nothing back inside it (plan.Edge's Batched). Gather and Send then keep their
// values, Flush sends them, and Gathered and Sent give them out one by one.

// outbox holds the values that were given to one edge since the last Flush.
type outbox interface{ flush(x *X, edge int) }

type batch[T any] struct{ values []T }

// keep adds a value to the edge's batch. The caller may change it afterwards.
func keep[T any](x *X, edge int, v T) {
	e := &x.ends[edge]
	b, ok := e.out.(*batch[T])
	if !ok {
		b = &batch[T]{}
		e.out = b
	}
	b.values = append(b.values, detach(v))
}

func (b *batch[T]) flush(x *X, edge int) {
	toAll(x, edge, x.stamp(edge, Message{}), b.values)
}

// Flush sends what was given to each of the edges since the last Flush, in one message an edge. It
// sends nothing on an edge that was given nothing: the receiver asks for nothing either.
func Flush(x *X, edges ...int) {
	for _, edge := range edges {
		if out := x.ends[edge].out; out != nil {
			x.ends[edge].out = nil
			p := x.pass(edge)
			out.flush(x, edge)
			p.done()
		}
	}
}

// batched reports whether an edge's values wait for a Flush. In an asynchronous run those for
// producers do not: a producer takes the newest.
func (x *X) batched(edge int) bool {
	return x.top.Edges[edge].Batched && (!x.loose(edge) || x.top.Groups[x.ends[edge].from].Own[0].Of > 0)
}

// inbox holds what came in batches and was not asked for yet: by sender, its values in order.
type inbox[T any] struct{ by [][]T }

// unpacked returns the next value of every sender of an edge. Where none are left, receive returns
// the next batch of each.
func unpacked[T any](x *X, edge int, receive func() [][]T) []T {
	e := &x.ends[edge]
	in, ok := e.in.(*inbox[T])
	if !ok {
		in = &inbox[T]{receive()}
		e.in = in
	}
	next, left := make([]T, len(in.by)), len(in.by[0])
	for i, list := range in.by {
		if len(list) != left || left == 0 {
			rl.Failf("%s: replicas sent batches of %d and %d values: the generated programs do not fit each other", x.top.Edges[edge].Name, left, len(list))
		}
		next[i], in.by[i] = list[0], list[1:]
	}
	if left == 1 {
		e.in = nil
	}
	return next
}
