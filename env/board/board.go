// Package board is small games for two players as graph environments, and exact solvers beside
// them.
//
// TicTacToe and ConnectFour have no chance and hide nothing. KuhnPoker and LeducPoker hide the
// cards of the other player; their rules are those of the papers that use them, with the ids of
// cards reduced to ranks. All are package game's Games, so that an environment of each is two
// agents by turns, one agent against an opponent, or one agent that moves for both seats.
//
// The solvers are oracles for what was trained, on the host and exact: Solve over the whole tree of
// tic-tac-toe, Judge for a player against all lines and against random play, Four for late
// positions of connect four, NashConv, best responses and counterfactual regret minimisation for
// the poker games.
package board

import (
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/game"
)

// All are the environments of this package.
var All = []env.Entry{
	game.Entry("board/TicTacToe-v0", "three in a row on a board of nine fields; 1 for a win, -1 for a loss", TicTacToe),
	game.Entry("board/ConnectFour-v0", "drop stones into seven columns, four in a row win; 1 for a win, -1 for a loss", ConnectFour),
	game.Entry("board/KuhnPoker-v0", "poker with three cards and one bet; the stakes won", KuhnPoker),
	game.Entry("board/LeducPoker-v0", "poker with six cards, two rounds and a public card; the stakes won", LeducPoker),
}

// The games.
var (
	TicTacToe   game.Perfect = newTicTacToe()
	ConnectFour game.Game    = newGrid("connect four", 6, 7, 4, true)
	KuhnPoker   game.Game    = kuhn{}
	LeducPoker  game.Game    = leduc{}
)
