package search

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// tree is the trees of all rows. Node n of row r has slot n*rows+r; node 0 is the root, and node
// i+1 is found by simulation i. Edges, the actions at nodes, lie at slot*actions+action.
type tree struct {
	rows, actions int
	like          rl.Tree

	logits *Node // [slots*actions] logarithms of the prior; impossible where not legal
	visits *Node // [slots*actions] simulations that went along an edge
	total  *Node // [slots*actions] sum of what they returned, for the player who moves at the node
	child  *Node // [slots*actions] int32: slot that an edge leads to; 0 if none went along it

	value    *Node // [slots] the model's value
	reward   *Node // [slots] reward of the edge that leads to the node
	discount *Node // [slots] its discount
	edge     *Node // [slots] int32: that edge

	low, high *Node   // [rows] least and greatest mean value of an edge, or the root's value
	state     []*Node // [slots, ...]
}

// impossible is the logarithm of the prior of an action that is not legal.
const impossible = -1e30

// plant returns trees of one node, with room for simulations.
func plant(root Leaf, simulations int) tree {
	g, dims := root.Logits.Graph(), root.Logits.Shape().Dimensions
	t := tree{rows: dims[0], actions: dims[1], like: root.State}
	slots := (simulations + 1) * t.rows
	room := func(first *Node, n int) *Node {
		return put(Zeros(g, shapes.Make(first.DType(), append([]int{n}, first.Shape().Dimensions[1:]...)...)), Const(g, int32(0)), first)
	}
	t.logits = room(Reshape(masked(root.Logits, root.Legal), -1), slots*t.actions)
	t.visits = Zeros(g, shapes.Make(dtypes.Float32, slots*t.actions))
	t.total = Zeros(g, shapes.Make(dtypes.Float32, slots*t.actions))
	t.child = Zeros(g, shapes.Make(dtypes.Int32, slots*t.actions))
	t.value = room(root.Value, slots)
	t.reward = Zeros(g, shapes.Make(dtypes.Float32, slots))
	t.discount = Zeros(g, shapes.Make(dtypes.Float32, slots))
	t.edge = Zeros(g, shapes.Make(dtypes.Int32, slots))
	t.low, t.high = root.Value, root.Value
	for _, x := range rl.Leaves(root.State) {
		t.state = append(t.state, room(x.Node(), slots))
	}
	return t
}

// fields lists the nodes of a tree's arrays.
func (t *tree) fields() []**Node {
	out := []**Node{&t.logits, &t.visits, &t.total, &t.child, &t.value, &t.reward, &t.discount, &t.edge, &t.low, &t.high}
	for i := range t.state {
		out = append(out, &t.state[i])
	}
	return out
}

// nodes returns the arrays as the state of a loop.
func (t tree) nodes() (out []*Node) {
	for _, f := range t.fields() {
		out = append(out, *f)
	}
	return out
}

// with returns the tree that nodes listed the arrays of.
func (t tree) with(nodes []*Node) tree {
	t.state = make([]*Node, len(t.state))
	for i, f := range t.fields() {
		*f = nodes[i]
	}
	return t
}

// roots returns the slots of the roots.
func (t tree) roots() *Node { return Iota(t.logits.Graph(), shapes.Make(dtypes.Int32, t.rows), 0) }

// stateAt returns the states at slots.
func (t tree) stateAt(slot *Node) rl.Tree {
	leaves := make([]rl.Tensor, len(t.state))
	for i, x := range t.state {
		leaves[i] = rl.Wrap(pick(x, slot))
	}
	return rl.Rebuild(t.like, leaves)
}

// edges are the actions at a node of every row.
type edges struct {
	logits, visits, total *Node // [rows, actions]
	value                 *Node // [rows, 1] the model's value of the node
}

// at returns the actions at slots.
func (t tree) at(slot *Node) edges {
	row := func(x *Node) *Node { return pick(Reshape(x, -1, t.actions), slot) }
	return edges{row(t.logits), row(t.visits), row(t.total), ExpandAxes(pick(t.value, slot), 1)}
}

// legal returns which actions may be taken.
func (e edges) legal() *Node { return GreaterThan(e.logits, ConstAs(e.logits, impossible/2)) }

// q returns the mean values of actions, and otherwise those of actions that were never taken.
func (e edges) q(otherwise *Node) *Node {
	one := OnesLike(e.visits)
	seen := GreaterThan(e.visits, ZerosLike(e.visits))
	return Where(seen, Div(e.total, Max(e.visits, one)), BroadcastToShape(otherwise, e.visits.Shape()))
}

// scaled returns values as parts of the range of those in the tree.
func (t tree) scaled(q *Node) *Node {
	low, high := ExpandAxes(t.low, 1), ExpandAxes(t.high, 1)
	some := BroadcastToShape(GreaterThan(high, low), q.Shape())
	return Where(some, Div(Sub(q, low), Sub(high, low)), ZerosLike(q))
}

// pick returns the elements of x's first axis at indices, [rows].
func pick(x, index *Node) *Node { return Gather(x, ExpandAxes(index, 1)) }

// raise adds to single elements of x, one for each row.
func raise(x, index, by *Node) *Node { return ScatterSum(x, ExpandAxes(index, 1), by, false, false) }

// put writes block to x from element first of the first axis on.
func put(x, first, block *Node) *Node {
	start := []*Node{first}
	for range x.Rank() - 1 {
		start = append(start, Const(x.Graph(), int32(0)))
	}
	return DynamicUpdateSlice(x, block, start)
}

// masked returns logits as logarithms of probabilities over the legal actions.
func masked(logits, legal *Node) *Node {
	none := ConstAs(logits, impossible)
	if legal != nil {
		logits = Where(legal, logits, BroadcastToShape(none, logits.Shape()))
	}
	z := Sub(logits, StopGradient(ReduceAndKeep(logits, ReduceMax, 1)))
	z = Sub(z, Log(ReduceAndKeep(Exp(z), ReduceSum, 1)))
	if legal != nil {
		z = Where(legal, z, BroadcastToShape(none, z.Shape()))
	}
	return z
}
