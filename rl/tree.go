package rl

import "strings"

// Tree is an ordered set of named tensors: a Dict observation, a compound
// action. A plain tensor is a tree of one leaf with the empty name.
//
//weft:batch
type Tree struct {
	names  []string
	leaves []Tensor
}

// One is the tree of a single unnamed tensor.
//
//weft:moves
func One(t Tensor) Tree { return Tree{names: oneName, leaves: []Tensor{t}} }

var oneName = []string{""}

// NewTree is the tree of the given leaves in the given order.
//
//weft:moves
func NewTree(names []string, leaves []Tensor) Tree {
	if len(names) != len(leaves) {
		failf("tree of %d names and %d leaves", len(names), len(leaves))
	}
	return Tree{names: names, leaves: leaves}
}

// Names of the leaves, in order.
//
//weft:pure
func (t Tree) Names() []string { return t.names }

// Len is the number of leaves; 0 for a tree that is absent.
//
//weft:pure
func (t Tree) Len() int { return len(t.leaves) }

// At is leaf i.
//
//weft:moves
func (t Tree) At(i int) Tensor { return t.leaves[i] }

// Leaf is the leaf of that name. The empty name asks for the only one.
//
//weft:moves
func (t Tree) Leaf(name string) Tensor {
	for i, n := range t.names {
		if n == name {
			return t.leaves[i]
		}
	}
	if name == "" {
		failf("the tree has leaves %s: name the one you want", strings.Join(t.names, ", "))
	}
	failf("no leaf %q among %s", name, strings.Join(t.names, ", "))
	return Tensor{}
}

// Has reports whether the tree has a present leaf of that name.
//
//weft:pure
func (t Tree) Has(name string) bool {
	for i, n := range t.names {
		if n == name {
			return t.leaves[i].Ok()
		}
	}
	return false
}

// Map applies f to every present leaf.
//
//weft:refuse compute in a graph function
func (t Tree) Map(f func(Tensor) Tensor) Tree {
	out := Tree{names: t.names, leaves: make([]Tensor, len(t.leaves))}
	for i, x := range t.leaves {
		if x.Ok() {
			out.leaves[i] = f(x)
		}
	}
	return out
}
