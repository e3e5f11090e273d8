package game

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// form is the part that the environments of a game share.
type form struct {
	id string
	Game
}

// Unwrap lets Of find the rules, and the drawing of a game that has one.
func (f form) Unwrap() any {
	if p, ok := f.Game.(Pictured); ok {
		return drawn{p}
	}
	return f.Game
}

// Spec returns the spec of one agent that moves for itself.
func (f form) Spec() env.Spec {
	r := f.Rules()
	return env.Spec{
		ID: f.id, Masked: true, State: r.Width,
		Obs:    rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{r.Seen}},
		Action: rl.Discrete{N: r.Actions},
	}
}

// Reset returns starts as the only leaf of the state.
func (f form) Reset(c *rl.Ctx, n int) rl.Tree { return rl.One(rl.Wrap(Start(c, f.Rules(), n))) }

// observed returns what a seat that has the move sees of positions.
func (f form) observed(position, seat *Node) rl.Obs {
	return rl.Obs{
		X:     rl.One(rl.Wrap(f.Game.Observe(position, seat))),
		Legal: rl.One(rl.Wrap(f.Legal(position))), State: rl.Wrap(position),
	}
}

// SelfPlay returns a game as an environment of one agent that moves for both seats. Its state is
// the position.
func SelfPlay(id string, g Game) env.Dynamics { return selfPlay{form{id, g}} }

type selfPlay struct{ form }

func (d selfPlay) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	position := state.At(0).Node()
	next := d.Play(position, action.At(0).Node())
	return env.Move{
		State:      rl.One(rl.Wrap(next)),
		Reward:     rl.Wrap(Return(next, Seat(position))),
		Terminated: rl.Wrap(Over(next)),
	}
}

func (d selfPlay) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	position := state.At(0).Node()
	return d.observed(position, Seat(position))
}

// Seats returns a game as an environment of two agents by turns. Its state is the position.
func Seats(id string, g Game) env.Dynamics { return seats{form{id, g}} }

type seats struct{ form }

func (d seats) Spec() env.Spec {
	s := d.form.Spec()
	s.Agents, s.Turns, s.ZeroSum = 2, true, true
	return s
}

func (d seats) Step(_ *rl.Ctx, state, action rl.Tree) env.Move {
	position, actions := state.At(0).Node(), action.At(0).Node()
	mover := Where(IsZero(Seat(position)), Column(actions, 0), Column(actions, 1))
	next := d.Play(position, mover)
	rewards := perSeat(next, func(seat *Node) *Node { return Return(next, seat) })
	over := perSeat(next, func(*Node) *Node { return Over(next) })
	return env.Move{State: rl.One(rl.Wrap(next)), Reward: rewards, Terminated: over}
}

func (d seats) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	position := state.At(0).Node()
	mover, mask := Seat(position), d.Legal(position)
	wait := waiting(mask)
	return rl.Obs{
		X:     rl.One(perSeat(position, func(seat *Node) *Node { return d.Game.Observe(position, seat) })),
		Legal: rl.One(perSeat(position, func(seat *Node) *Node { return chosen(Equal(mover, seat), mask, wait) })),
		Turn:  perSeat(position, func(seat *Node) *Node { return Equal(mover, seat) }),
		State: rl.Wrap(position),
	}
}

// perSeat returns f of both seats, [n] int32, side by side: [n, 2, ...].
func perSeat(position *Node, f func(seat *Node) *Node) rl.Tensor {
	zero := Zeros(position.Graph(), shapes.Make(dtypes.Int32, position.Shape().Dimensions[0]))
	return rl.Wrap(Stack([]*Node{f(zero), f(OnesLike(zero))}, 1))
}

// waiting returns the mask of a seat that has not the move: the first action alone.
func waiting(like *Node) *Node {
	only := make([]bool, like.Shape().Dimensions[1])
	only[0] = true
	return BroadcastToDims(Const(like.Graph(), [][]bool{only}), like.Shape().Dimensions...)
}
