package rl

import (
	"strings"

	"github.com/weft-rl/weft/internal/leaves"
)

// Tree is an ordered set of named tensors: a Dict observation, a compound
// action. A plain tensor is a tree of one leaf with the empty name.
//
//weft:batch
type Tree struct{ of leaves.Branch[Tensor] }

// One returns the tree of a single unnamed tensor.
//
//weft:moves
func One(t Tensor) Tree { return Tree{leaves.Branch[Tensor]{Names: oneName, Leaves: []Tensor{t}}} }

var oneName = []string{""}

// NewTree returns the tree of the given leaves in the given order.
//
//weft:moves
func NewTree(names []string, tensors []Tensor) Tree {
	if len(names) != len(tensors) {
		failf("tree of %d names and %d leaves", len(names), len(tensors))
	}
	return Tree{leaves.Branch[Tensor]{Names: names, Leaves: tensors}}
}

// Names of the leaves, in order.
//
//weft:pure
func (t Tree) Names() []string { return t.of.Names }

// Len returns the number of leaves; 0 for a tree that is absent.
//
//weft:pure
func (t Tree) Len() int { return len(t.of.Leaves) }

// At returns leaf i.
//
//weft:moves
func (t Tree) At(i int) Tensor { return t.of.Leaves[i] }

// Leaf returns the leaf of that name. The empty name asks for the only one.
//
//weft:moves
func (t Tree) Leaf(name string) Tensor {
	for i, n := range t.of.Names {
		if n == name {
			return t.of.Leaves[i]
		}
	}
	if name == "" {
		failf("the tree has leaves %s: name the one you want", strings.Join(t.of.Names, ", "))
	}
	failf("no leaf %q among %s", name, strings.Join(t.of.Names, ", "))
	return Tensor{}
}

// Has reports whether the tree has a present leaf of that name.
//
//weft:pure
func (t Tree) Has(name string) bool {
	for i, n := range t.of.Names {
		if n == name {
			return t.of.Leaves[i].Ok()
		}
	}
	return false
}

// Map applies f to every present leaf.
//
//weft:refuse compute in a graph function
func (t Tree) Map(f func(Tensor) Tensor) Tree {
	out := Tree{leaves.Branch[Tensor]{Names: t.of.Names, Leaves: make([]Tensor, len(t.of.Leaves))}}
	for i, x := range t.of.Leaves {
		if x.Ok() {
			out.of.Leaves[i] = f(x)
		}
	}
	return out
}
