// Package blocks puts together what the rounds of a loop, and the arms of a branch, put aside
// inside a graph: the steps of a rollout, the rewards that the host follows episodes by. Items come
// one after another, in blocks of tensors [items, ...].
package blocks

import (
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// Block is items in order. Its leaves are nodes [items, ...], nil where an item's is absent.
type Block struct {
	Items  int
	Leaves []*graph.Node
}

// One returns a block of one item.
func One(item []*graph.Node) Block {
	b := Block{Items: 1, Leaves: make([]*graph.Node, len(item))}
	for i, x := range item {
		if x != nil {
			b.Leaves[i] = graph.ExpandAxes(x, 0)
		}
	}
	return b
}

// Join puts blocks one after another.
func Join(blocks []Block) Block {
	if len(blocks) == 1 {
		return blocks[0]
	}
	out := Block{Leaves: make([]*graph.Node, len(blocks[0].Leaves))}
	for _, b := range blocks {
		out.Items += b.Items
	}
	for i, x := range blocks[0].Leaves {
		if x == nil {
			continue
		}
		parts := make([]*graph.Node, len(blocks))
		for j, b := range blocks {
			parts[j] = b.Leaves[i]
		}
		out.Leaves[i] = graph.Concatenate(parts, 0)
	}
	return out
}

// Present returns the leaves that are there.
func (b Block) Present() (out []*graph.Node) {
	for _, x := range b.Leaves {
		if x != nil {
			out = append(out, x)
		}
	}
	return out
}

// Room returns zeros for what n rounds of a loop put aside, each a block like b.
func (b Block) Room(g *graph.Graph, n int) (out []*graph.Node) {
	for _, x := range b.Present() {
		out = append(out, graph.Zeros(g, shapes.Make(x.DType(), append([]int{n}, x.Shape().Dimensions...)...)))
	}
	return out
}

// Put writes the block of round i to the room for all rounds, and returns it and the nodes of the
// room that are left.
func (b Block) Put(g *graph.Graph, i *graph.Node, room []*graph.Node) (out, rest []*graph.Node) {
	for _, x := range b.Present() {
		start := []*graph.Node{i}
		for range x.Rank() {
			start = append(start, graph.Const(g, int32(0)))
		}
		out = append(out, graph.DynamicUpdateSlice(room[0], graph.ExpandAxes(x, 0), start))
		room = room[1:]
	}
	return out, room
}

// Gather returns the block of all n rounds of a loop, whose nodes are the first of room, and the
// rest of that.
func (b Block) Gather(n int, room []*graph.Node) (all Block, rest []*graph.Node) {
	all = Block{Items: n * b.Items, Leaves: make([]*graph.Node, len(b.Leaves))}
	for i, x := range b.Leaves {
		if x != nil {
			dims := append([]int{all.Items}, x.Shape().Dimensions[1:]...)
			all.Leaves[i], room = graph.Reshape(room[0], dims...), room[1:]
		}
	}
	return all, room
}

// Sides holds the items that the two arms of a branch put aside. An item says itself whether it is
// there.
type Sides struct {
	Items [2]int
	Like  []*graph.Node // leaves of one of the arms
}

// Pad returns the leaves of what an arm put aside, with zeros where the other's would be.
func (s Sides) Pad(arm int, of Block) (out []*graph.Node) {
	for j, like := range s.Like {
		var parts []*graph.Node
		for side, n := range s.Items {
			switch {
			case n == 0:
			case side == arm:
				parts = append(parts, of.Leaves[j])
			default:
				dims := append([]int{n}, like.Shape().Dimensions[1:]...)
				parts = append(parts, graph.Zeros(like.Graph(), shapes.Make(like.DType(), dims...)))
			}
		}
		out = append(out, graph.Identity(graph.Concatenate(parts, 0)))
	}
	return out
}

// Take returns the block behind the branch, whose leaves are the first of nodes, and the rest of
// these.
func (s Sides) Take(nodes []*graph.Node) (b Block, rest []*graph.Node) {
	n := len(s.Like)
	return Block{s.Items[0] + s.Items[1], nodes[:n:n]}, nodes[n:]
}
