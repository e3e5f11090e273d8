package nn

import (
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// TeamValues predicts what every choice returns, for each of several agents that share its weights
// and see something of their own: [..., agent, choices] from observations [..., agent, ...].
type TeamValues struct {
	Values
	Agents int
	Number bool // tell the network which agent it acts for
	Units  int  // recurrent units behind the hidden layers; 0 is none
}

// Cell returns the cell that remembers, or nil for a network without memory.
func (t TeamValues) Cell() Cell {
	if t.Units == 0 {
		return nil
	}
	return TeamCell{GRU{t.Units}, t.Agents}
}

// Init makes the parameters: what rl.NewParams asks for.
func (t TeamValues) Init(c *rl.Ctx, sc *model.Scope) {
	each := Blank(c, t.Space).Map(func(x rl.Tensor) rl.Tensor { return rl.Wrap(ForAgents(x.Node(), 1, t.Agents)) })
	t.Recall(c, sc, each, rl.Tensor{})
}

// Recall returns the values of all choices and the next memory, which is absent without a cell. Of
// observations [rows, time, agent, ...] memory is that of the first; absent, it is empty.
func (t TeamValues) Recall(c *rl.Ctx, sc *model.Scope, obs rl.Tree, memory rl.Tensor) (q *Node, next rl.Tensor) {
	x := Features(t.Space, obs)
	if t.Number {
		x = Numbered(x, t.Agents)
	}
	x = MLP{Hidden: t.Hidden, Act: t.Act}.Apply(c, sc.At("torso"), x)
	if t.Units == 0 {
		return t.Choices(c, sc, x), rl.Tensor{}
	}
	var start *Node
	if memory.Ok() {
		start = memory.Node()
	}
	y, last := Unroll(c, sc.At("memory"), t.Cell(), Together(x), start, nil)
	return t.Choices(c, sc, Reshape(y, append(leadDims(x), t.Units)...)), rl.Wrap(last)
}

// Together returns [..., agent, features] with the features of all agents in one axis.
func Together(x *Node) *Node {
	lead := leadDims(x)
	last := len(lead) - 1
	return Reshape(x, append(lead[:last], lead[last]*lastDim(x))...)
}

// TeamCell is a cell for several agents that share its weights and remember apart. The inputs,
// outputs and memory of an environment's agents are one row, one agent after another.
type TeamCell struct {
	Cell
	Agents int
}

// StateSize returns the number of floats remembered for all agents.
func (t TeamCell) StateSize() int { return t.Agents * t.Cell.StateSize() }

// Inputs returns the cell's inputs for x, [..., features of all agents].
func (t TeamCell) Inputs(c *rl.Ctx, sc *model.Scope, x *Node) *Node {
	lead := leadDims(x)
	in := t.Cell.Inputs(c, sc, Reshape(x, append(lead, t.Agents, lastDim(x)/t.Agents)...))
	return Reshape(in, append(lead, t.Agents*lastDim(in))...)
}

// Step makes a step of every agent.
func (t TeamCell) Step(c *rl.Ctx, sc *model.Scope, in, state *Node) (y, next *Node) {
	rows := in.Shape().Dimensions[0]
	y, next = t.Cell.Step(c, sc, Reshape(in, rows*t.Agents, -1), Reshape(state, rows*t.Agents, -1))
	return Reshape(y, rows, -1), Reshape(next, rows, -1)
}
