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

// whole is of a stream of which all items have to be there.
func whole(s streamBlocks) bool { return !s.of.partial }

// sides is what the two arms of a branch put into a stream whose items say
// themselves whether they are there.
type sides struct {
	of    *Stream
	items [2]int
	like  []Tensor // of one of them
}

func sidesOf(a, b []streamBlocks) (out []sides) {
	for arm, blocks := range [][]streamBlocks{a, b} {
		for _, s := range blocks {
			i := slices.IndexFunc(out, func(o sides) bool { return o.of == s.of })
			if i < 0 {
				i = len(out)
				out = append(out, sides{of: s.of, like: s.streamBlock.leaves})
			}
			out[i].items[arm] = s.items
		}
	}
	return out
}

// padded are the nodes of what an arm put, with room for what the other would have.
func padded(blocks []streamBlocks, logs []sides, arm int) (out []*graph.Node) {
	for _, s := range logs {
		i := slices.IndexFunc(blocks, func(b streamBlocks) bool { return b.of == s.of })
		for j, like := range s.like {
			g := like.Node().Graph()
			var parts []*graph.Node
			for side, n := range s.items {
				switch {
				case n == 0:
				case side == arm:
					parts = append(parts, blocks[i].streamBlock.leaves[j].Node())
				default:
					dims := append([]int{n}, like.Shape().Dimensions[1:]...)
					parts = append(parts, graph.Zeros(g, shapes.Make(like.Shape().DType, dims...)))
				}
			}
			out = append(out, graph.Identity(graph.Concatenate(parts, 0)))
		}
	}
	return out
}

// unpadded are the same behind the branch.
func unpadded(nodes []*graph.Node, logs []sides) (out []streamBlocks) {
	for _, s := range logs {
		b := streamBlock{items: s.items[0] + s.items[1]}
		for range s.like {
			b.leaves = append(b.leaves, Wrap(nodes[0]))
			nodes = nodes[1:]
		}
		out = append(out, streamBlocks{s.of, b})
	}
	return out
}
