package search

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/internal/subgraph"
	"github.com/weft-rl/weft/rl"
)

// Leaf holds what the model says of states, by row.
type Leaf struct {
	State  rl.Tree // states for Step to go on from
	Logits *Node   // [rows, actions] logarithms of the prior, up to a constant of the row
	Legal  *Node   // [rows, actions] bool; nil if all actions are legal
	Value  *Node   // [rows] values for the player who moves
}

// Next holds where actions lead, by row.
type Next struct {
	Leaf
	Reward *Node // [rows] rewards for the player who took the action
	// Discount weighs a value at the leaf for the player who took the action, [rows]:
	// negative where another player moves there, 0 where the episode is over.
	Discount *Node
}

// Step returns where actions, [rows] int32, lead from states. It draws no random numbers.
type Step func(c *rl.Ctx, state rl.Tree, action *Node) Next

// Found is the result of a search, by row.
type Found struct {
	Visits *Node // [rows, actions] simulations that began with each action
	Policy *Node // [rows, actions] improved policy, which a network can learn
	Value  *Node // [rows] mean value of the root, its own evaluation included
	Best   *Node // [rows] int32: action to play
}

// Run searches from root, with noise there. Step is called in the body of a loop, once for all
// simulations.
//
//weft:draws
func (s Settings) Run(c *rl.Ctx, root Leaf, step Step) (out Found) {
	c.Within("search", func() {
		noise := s.noise(c, &root)
		out = s.run(c, root, noise, step)
	})
	return out
}

// Still searches from root as Run does, without noise: it draws nothing.
func (s Settings) Still(c *rl.Ctx, root Leaf, step Step) Found {
	return s.run(c, root, ZerosLike(root.Logits), step)
}

// run searches from root. noise is Gumbel search's, [rows, actions].
func (s Settings) run(c *rl.Ctx, root Leaf, noise *Node, step Step) Found {
	r := s.rule(c, root, noise)
	t := plant(root, s.Simulations)
	step(c, root.State, t.roots()) // parameters that it reads must be in the graph before the loop
	now := subgraph.Repeat(c.Graph(), s.Simulations, t.nodes(), func(i *Node, now []*Node) []*Node {
		return t.with(now).simulate(c, r, i, step).nodes()
	})
	return r.found(t.with(now))
}

// simulate returns the trees after simulation i: down to an action that was never taken, or that
// ends the episode, one step of the model, and back to the root.
func (t tree) simulate(c *rl.Ctx, r rule, i *Node, step Step) tree {
	at := t.descend(r, i)
	next := step(c, t.stateAt(at.slot), Sub(at.edge, MulScalar(at.slot, t.actions)))
	grown, leaf := t.grow(at, next, i)
	return grown.backup(leaf, next.Value)
}

// place is where simulations are in their trees, by row.
type place struct {
	slot  *Node // [rows] node
	edge  *Node // [rows] action at the node that was chosen
	child *Node // [rows] node that the action leads to, 0 if it was never taken
	goes  *Node // [rows] bool: the simulation goes on to the child
}

// descend returns the actions with which simulation i leaves the trees.
func (t tree) descend(r rule, i *Node) place {
	from := t.follow(t.roots(), r.root(t, i))
	out := subgraph.While(t.logits.Graph(), []*Node{from.slot, from.edge, from.child, from.goes},
		func(now []*Node) *Node { return LogicalAny(now[3]) },
		func(now []*Node) []*Node {
			slot := Where(now[3], now[2], now[0])
			p := t.follow(slot, r.inner(t, t.at(slot)))
			return []*Node{slot, Where(now[3], p.edge, now[1]), Where(now[3], p.child, now[2]), LogicalAnd(now[3], p.goes)}
		})
	return place{out[0], out[1], out[2], out[3]}
}

// follow returns where actions at nodes lead.
func (t tree) follow(slot, action *Node) place {
	edge := Add(MulScalar(slot, t.actions), action)
	child := pick(t.child, edge)
	known := GreaterThan(child, ZerosLike(child))
	on := NotEqual(pick(t.discount, child), ZerosLike(pick(t.discount, child)))
	return place{slot, edge, child, LogicalAnd(known, on)}
}

// grow returns the trees with the nodes that simulation i found, and where these are: a node that
// ends the episode is found again and again.
func (t tree) grow(at place, next Next, i *Node) (out tree, leaf *Node) {
	first := MulScalar(AddScalar(i, 1), t.rows)
	fresh := Add(t.roots(), first)
	known := GreaterThan(at.child, ZerosLike(at.child))
	leaf = Where(known, at.child, fresh)
	out = t
	out.child = raise(t.child, at.edge, Where(known, ZerosLike(fresh), fresh))
	out.logits = put(t.logits, MulScalar(first, t.actions), Reshape(masked(next.Logits, next.Legal), -1))
	out.value = put(t.value, first, next.Value)
	out.reward = put(t.reward, first, next.Reward)
	out.discount = put(t.discount, first, next.Discount)
	out.edge = put(t.edge, first, at.edge)
	out.state = make([]*Node, len(t.state))
	for j, x := range rl.Leaves(next.State) {
		out.state[j] = put(t.state[j], first, x.Node())
	}
	return out, leaf
}

// backup adds what simulations returned to all edges on their way back to the roots. value is that
// of the leaves.
func (t tree) backup(leaf, value *Node) tree {
	on := func(slot *Node) *Node { return GreaterOrEqual(slot, ConstAs(slot, t.rows)) }
	out := subgraph.While(t.logits.Graph(), []*Node{leaf, value, t.visits, t.total, t.low, t.high},
		func(now []*Node) *Node { return LogicalAny(on(now[0])) },
		func(now []*Node) []*Node {
			slot, goes := now[0], on(now[0])
			edge := pick(t.edge, slot)
			ret := Add(pick(t.reward, slot), Mul(pick(t.discount, slot), now[1]))
			visits := raise(now[2], edge, ConvertDType(goes, dtypes.Float32))
			total := raise(now[3], edge, Where(goes, ret, ZerosLike(ret)))
			q := Div(pick(total, edge), pick(visits, edge))
			low, high := Where(goes, Min(now[4], q), now[4]), Where(goes, Max(now[5], q), now[5])
			slot = Where(goes, Div(edge, ConstAs(edge, t.actions)), slot)
			return []*Node{slot, Where(goes, ret, now[1]), visits, total, low, high}
		})
	t.visits, t.total, t.low, t.high = out[2], out[3], out[4], out[5]
	return t
}
