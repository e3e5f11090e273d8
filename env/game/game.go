// Package game is the contract of games for two players, and the environments made of them.
//
// A Game is rules as data and as pure functions of positions, twice: as graph code over a batch of
// positions, for environments and for searches on a device, and on the host for one position at a
// time, for solvers and for searches in plain Go. Both have the same bits. A position is a row of
// Rules.Width float32 numbers, all of them small whole ones (or halves), so that a batch of
// positions is one tensor [n, Width] that can be stored, sent and compared like any other.
//
// The first numbers of every position are the same in all games: the seat to move, whether the game
// is over, and the first seat's return. So Seat, Over and Return need no method of the game.
//
// There is no chance after the first move: a start holds all cards that will be dealt, and which of
// them a seat sees is a matter of Observe. A seat's observation holds everything that it has seen
// so far, so that it names the information set.
//
// # As environments
//
// Entry makes a graph environment of a game, in one of three forms:
//
//   - Two agents by turns (Seats, env.Spec.Turns): agents 0 and 1 are the seats. Obs.X is
//     [env, 2, numbers], each seat's own view; the mover has its mask in Obs.Legal and the other
//     seat the first action alone; Obs.Turn says whose move it is. Rewards are 0 until the game
//     ends, then both returns, which add up to 0.
//   - One agent against an opponent that is part of the environment (Against), for algorithms that
//     know nothing of opponents.
//   - One agent that moves for both seats (SelfPlay): it sees what the seat to move sees, and is
//     rewarded by the return of the seat that has just moved. Who learns values from it changes
//     their sign where the seat changes.
//
// Obs.State is the position, [env, Width]: a search starts there.
package game

import "github.com/gomlx/gomlx/core/graph"

// Game is a game of two players who move by turns and whose returns add up to 0, as graph code by
// row. No function draws random numbers, and no row looks at another.
type Game interface {
	// Rules returns the game as data. It is the same at every call.
	Rules() Rules
	// Play returns the positions, [n, Width], after each mover's action, [n] int32. A position in
	// which the game is over stays as it is, whatever the action. An action that is not legal
	// leaves an unspecified position.
	Play(position, action *graph.Node) *graph.Node
	// Legal returns the mover's legal actions, [n, Actions] bool: none where the game is over.
	Legal(position *graph.Node) *graph.Node
	// Observe returns what a seat, [n] int32, sees of each position: [n, Seen] float32.
	Observe(position, seat *graph.Node) *graph.Node
	// Host returns the same rules for one position at a time.
	Host() Host
}

// Host is a game's rules on the host. Its methods keep no state and may be called concurrently.
type Host interface {
	// Play changes a position to the one after the mover's action.
	Play(position []float32, action int)
	// Legal sets which actions are legal.
	Legal(position []float32, legal []bool)
	// Observe sets what a seat sees.
	Observe(position []float32, seat int, obs []float32)
	// Text returns the position as lines of text for a person.
	Text(position []float32) string
}

// Places of the numbers that all positions begin with.
const (
	SeatAt   = 0 // seat to move, 0 or 1; at the end, the one that would have been next
	OverAt   = 1 // 1 if the game is over, else 0
	ReturnAt = 2 // return of seat 0 if the game is over, else 0; seat 1's is its negative
	Header   = 3 // numbers before those of the game itself
)

// Rules is a game as data.
type Rules struct {
	Name    string
	Width   int     // numbers of a position
	Actions int     // actions, legal or not
	Seen    int     // numbers of an observation, each between 0 and 1
	Length  int     // most moves of a game
	InRow   int     // most moves that a seat makes one after another
	Most    float64 // largest return
	// Planes is the shape of an observation as a picture: rows, columns and planes, so that plane p
	// of the field at (r, c) is number (r*columns+c)*planes+p. It is nil if there is no board.
	Planes []int
	// Hidden says that seats do not see all of a position.
	Hidden bool
	// Starts are the positions that games start from, all equally likely.
	Starts [][]float32
	// Symmetries are the transformations under which the rules do not change; the first is the
	// identity.
	Symmetries []Symmetry
}

// Symmetry is a transformation of a game as permutations: number i of a transformed position is
// number Position[i] of the original, and so on for observations, and for masks and distributions
// over actions. Action a of the original is action Moved[a] of the transformed game.
type Symmetry struct {
	Position, Obs, Action []int
	Moved                 []int // inverse of Action
}
