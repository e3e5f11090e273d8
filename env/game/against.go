package game

import (
	"fmt"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Opponent returns the actions among which an opponent chooses, all equally likely, in positions:
// [n, Actions] bool. Where the game is not over there is at least one.
type Opponent func(position *Node) *Node

// Perfect is a game that is solved: no opponent does better than one that plays its best moves.
type Perfect interface {
	Game
	// Best returns the moves of greatest value in positions, [n, Actions] bool.
	Best(position *Node) *Node
}

// Side says which seat the agent has in Against.
type Side string

// The sides.
const (
	Any    Side = "any" // drawn for each game
	First  Side = "first"
	Second Side = "second"
)

// Against returns a game as an environment of one agent against an opponent.
func Against(id string, g Game, o Opponent, side Side) env.Dynamics {
	return against{form{id, g}, o, side}
}

// against's state is "position" and "seat", [n] int32, the agent's.
type against struct {
	form
	opponent Opponent
	side     Side
}

func (d against) Reset(c *rl.Ctx, n int) rl.Tree {
	position := Start(c, d.Rules(), n)
	seat := Zeros(c.Graph(), shapes.Make(dtypes.Int32, n))
	switch d.side {
	case Any:
		seat = ConvertDType(Floor(MulScalar(c.Uniform("seat", n), 2)), dtypes.Int32)
	case Second:
		seat = OnesLike(seat)
	}
	return pair(d.replies(c, position, seat), seat)
}

func pair(position, seat *Node) rl.Tree {
	return rl.NewTree([]string{"position", "seat"}, []rl.Tensor{rl.Wrap(position), rl.Wrap(seat)})
}

func (d against) Step(c *rl.Ctx, state, action rl.Tree) env.Move {
	position, seat := state.Leaf("position").Node(), state.Leaf("seat").Node()
	next := d.replies(c, d.Play(position, action.At(0).Node()), seat)
	return env.Move{State: pair(next, seat), Reward: rl.Wrap(Return(next, seat)), Terminated: rl.Wrap(Over(next))}
}

func (d against) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	return d.observed(state.Leaf("position").Node(), state.Leaf("seat").Node())
}

// replies returns positions after the opponent's moves, where it has the move.
func (d against) replies(c *rl.Ctx, position, seat *Node) *Node {
	for i := range d.Rules().InRow {
		u := c.Uniform(fmt.Sprint("reply ", i), position.Shape().Dimensions[0])
		next := d.Play(position, pick(d.opponent(position), u))
		position = chosen(Equal(Seat(position), seat), position, next)
	}
	return position
}

// pick returns one of the actions of a mask for each row, [n] int32, as numbers in (0,1) decide.
func pick(mask, u *Node) *Node {
	open := Number(mask)
	count := ReduceSum(open, 1)
	place := AddScalar(Floor(Mul(u, count)), 1) // among the open ones, from 1
	hit := LogicalAnd(mask, Equal(CumSum(open, 1), across(place)))
	return ArgMax(Number(hit), 1, dtypes.Int32)
}
