package rl

import (
	"slices"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Stream is what a device program puts aside, item after item: the steps of a
// rollout, the rewards that the host follows episodes by. A loop's rounds put
// theirs one after another.
type Stream struct {
	blocks  []streamBlock
	land    func(item []Tensor) // takes what a part of an iteration leaves in it
	partial bool                // items say themselves whether they are there: their loop may end early
}

// streamBlock is items in order, as tensors [items, ...].
type streamBlock struct {
	items  int
	leaves []Tensor
}

// NewStream is an empty stream of the program.
func (l *Lowering) NewStream() *Stream {
	s := &Stream{}
	l.streams = append(l.streams, s)
	return s
}

// Land lets f have what is left in the stream where a part of an iteration ends,
// item after item, as values.
func (s *Stream) Land(f func(item []Tensor)) { s.land = f }

// Put adds an item; absent tensors stay absent.
func (s *Stream) Put(item []Tensor) {
	b := streamBlock{items: 1, leaves: make([]Tensor, len(item))}
	for i, t := range item {
		if t.Ok() {
			b.leaves[i] = Wrap(graph.ExpandAxes(t.Node(), 0))
		}
	}
	s.blocks = append(s.blocks, b)
}

// Take empties the stream: all items, as tensors [items, ...].
func (s *Stream) Take() (items int, leaves []Tensor) {
	if len(s.blocks) == 0 {
		return 0, nil
	}
	b := joined(s.blocks)
	s.blocks = nil
	return b.items, b.leaves
}

// joined puts blocks one after another.
func joined(blocks []streamBlock) streamBlock {
	if len(blocks) == 1 {
		return blocks[0]
	}
	out := streamBlock{leaves: make([]Tensor, len(blocks[0].leaves))}
	for _, b := range blocks {
		out.items += b.items
	}
	for i, t := range blocks[0].leaves {
		if !t.Ok() {
			continue
		}
		parts := make([]*graph.Node, len(blocks))
		for j, b := range blocks {
			parts[j] = b.leaves[i].Node()
		}
		out.leaves[i] = Wrap(graph.Concatenate(parts, 0))
	}
	return out
}

// streamBlocks is what one stream was given in a body.
type streamBlocks struct {
	of *Stream
	streamBlock
}

// leaves are the tensors that are there.
func (s streamBlocks) leaves() (out []Tensor) {
	for _, t := range s.streamBlock.leaves {
		if t.Ok() {
			out = append(out, t)
		}
	}
	return out
}

// gathered takes over what a loop of n rounds left: [round, items, ...] tensors,
// which become [round*items, ...].
func (s *streamBlocks) gathered(n int, from []*graph.Node) (rest []*graph.Node) {
	for i, t := range s.streamBlock.leaves {
		if t.Ok() {
			dims := append([]int{n * s.items}, t.Shape().Dimensions[1:]...)
			s.streamBlock.leaves[i] = Wrap(graph.Reshape(from[0], dims...))
			from = from[1:]
		}
	}
	s.items *= n
	return from
}

// grown is the shape of a loop's n rounds of x.
func grown(n int, x shapes.Shape) shapes.Shape {
	return shapes.Make(x.DType, append([]int{n}, x.Dimensions...)...)
}

// takeStreams empties all streams: what they were given since, each as one block.
func (l *Lowering) takeStreams() (out []streamBlocks) {
	for _, s := range l.streams {
		if len(s.blocks) > 0 {
			out = append(out, streamBlocks{s, joined(s.blocks)})
			s.blocks = nil
		}
	}
	return out
}

// putStreams gives streams back what was taken.
func (l *Lowering) putStreams(taken []streamBlocks) {
	for _, t := range taken {
		t.of.blocks = slices.Insert(t.of.blocks, 0, t.streamBlock)
	}
}

// mergeStreams leaves what was there before a loop, and then what the loop gave.
func (l *Lowering) mergeStreams(before, after []streamBlocks) {
	for _, t := range slices.Concat(before, after) {
		t.of.blocks = append(t.of.blocks, t.streamBlock)
	}
}
