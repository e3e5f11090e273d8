package rl

import (
	"slices"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/blocks"
)

// Stream is a sequence of items that a device program stores: the steps of a rollout, or the
// rewards by which the host follows episodes. The rounds of a loop append theirs in order.
type Stream struct {
	blocks  []blocks.Block
	land    func(item []Tensor) // takes what a part of an iteration leaves in it
	partial bool                // items say themselves whether they are there: their loop may end early
}

// NewStream returns an empty stream of the program.
func (l *Lowering) NewStream() *Stream {
	s := &Stream{}
	l.streams = append(l.streams, s)
	return s
}

// Land calls f with each item left in the stream at the end of a part of an iteration, as values.
func (s *Stream) Land(f func(item []Tensor)) { s.land = f }

// Put adds an item; absent tensors stay absent.
func (s *Stream) Put(item []Tensor) {
	nodes := make([]*graph.Node, len(item))
	for i, t := range item {
		if t.Ok() {
			nodes[i] = t.Node()
		}
	}
	s.blocks = append(s.blocks, blocks.One(nodes))
}

// Take empties the stream: all items, as tensors [items, ...].
func (s *Stream) Take() (items int, leaves []Tensor) {
	if len(s.blocks) == 0 {
		return 0, nil
	}
	b := blocks.Join(s.blocks)
	s.blocks = nil
	return b.Items, wrapped(b.Leaves)
}

// wrapped returns nodes as tensors, absent ones of nil.
func wrapped(nodes []*graph.Node) []Tensor {
	out := make([]Tensor, len(nodes))
	for i, n := range nodes {
		out[i].node = n
	}
	return out
}

// given holds the items that a body gave to one stream.
type given struct {
	of *Stream
	blocks.Block
}

// takeStreams empties all streams: what they were given since, each as one block.
func (l *Lowering) takeStreams() (out []given) {
	for _, s := range l.streams {
		if len(s.blocks) > 0 {
			out = append(out, given{s, blocks.Join(s.blocks)})
			s.blocks = nil
		}
	}
	return out
}

// putStreams gives streams back what was taken.
func (l *Lowering) putStreams(taken []given) {
	for _, t := range taken {
		t.of.blocks = slices.Insert(t.of.blocks, 0, t.Block)
	}
}

// mergeStreams leaves what was there before a loop, and then what the loop gave.
func (l *Lowering) mergeStreams(before, after []given) {
	for _, t := range slices.Concat(before, after) {
		t.of.blocks = append(t.of.blocks, t.Block)
	}
}

// whole reports whether it is a stream of which all items have to be there.
func whole(s given) bool { return !s.of.partial }

// sides holds what the two arms of a branch put into a stream whose items say
// themselves whether they are there.
type sides struct {
	of *Stream
	blocks.Sides
}

func sidesOf(a, b []given) (out []sides) {
	for arm, list := range [][]given{a, b} {
		for _, s := range list {
			i := slices.IndexFunc(out, func(o sides) bool { return o.of == s.of })
			if i < 0 {
				i = len(out)
				out = append(out, sides{s.of, blocks.Sides{Like: s.Leaves}})
			}
			out[i].Items[arm] = s.Items
		}
	}
	return out
}

// padded returns the nodes of what an arm put, with room for what the other would have.
func padded(list []given, logs []sides, arm int) (out []*graph.Node) {
	for _, s := range logs {
		var mine blocks.Block
		if i := slices.IndexFunc(list, func(b given) bool { return b.of == s.of }); i >= 0 {
			mine = list[i].Block
		}
		out = append(out, s.Pad(arm, mine)...)
	}
	return out
}

// unpadded returns what the arms of a branch put, from the results of the branch.
func unpadded(nodes []*graph.Node, logs []sides) (out []given) {
	for _, s := range logs {
		var b blocks.Block
		b, nodes = s.Sides.Take(nodes)
		out = append(out, given{s.of, b})
	}
	return out
}
