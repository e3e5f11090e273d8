package play_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env/board"
	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/internal/play"
)

// script is a bot that plays a list of moves.
type script struct {
	moves []play.Move
	games int
}

func (s *script) Begin() { s.games++ }

func (s *script) Move([]float32) (play.Move, error) {
	if len(s.moves) == 0 {
		return play.Move{}, errors.New("no more moves")
	}
	m := s.moves[0]
	s.moves = s.moves[1:]
	return m, nil
}

func played(t *testing.T, g game.Game, bot play.Bot, in string) string {
	t.Helper()
	var out strings.Builder
	table := &play.Table{Game: g, Bot: bot, In: strings.NewReader(in), Out: &out}
	if err := errors.Join(table.Check(), table.Play(0)); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A whole game as it looks, with moves that are none, and a second that is left.
func TestTicTacToe(t *testing.T) {
	bot := &script{moves: []play.Move{
		{Action: 3, Policy: []float64{0, .25, .001, .7, 0, .049, 0, 0, 0}, Value: []float64{-.5}},
		{Action: 4}, {Action: 0},
	}}
	got := played(t, board.TicTacToe, bot, "1\n1\nfive\n2\n3\nq\n")
	want := `you are X, who moves first; type the number of a move, or q to quit

123
456
789
your move: 
O plays 4 (expects -0.50, 4: 70%, 2: 25%, 6: 5%)

X23
O56
789
your move: "1" is not a legal move: choose from 2 3 5 6 7 8 9
your move: "five" is not a legal move: choose from 2 3 5 6 7 8 9
your move: 
O plays 5

XX3
OO6
789
your move: 
XXX
OO6
789
you win
another game: you have the other side now
you are O; type the number of a move, or q to quit

123
456
789

X plays 1

X23
456
789
your move: bye
`
	if got != want {
		t.Errorf("the games looked like\n%s", got)
	}
	if bot.games != 2 {
		t.Errorf("%d games were begun, want 2", bot.games)
	}
}

// The input may end; columns are numbered below the board.
func TestConnectFour(t *testing.T) {
	got := played(t, board.ConnectFour, &script{moves: []play.Move{{Action: 3}}}, "4\n")
	for _, part := range []string{"...O...\n...X...\n1234567\n", "your move: \nbye\n"} {
		if !strings.Contains(got, part) {
			t.Errorf("%q is not in\n%s", part, got)
		}
	}
}

func TestRefused(t *testing.T) {
	err := (&play.Table{Game: board.KuhnPoker}).Check()
	if err == nil || !strings.Contains(err.Error(), "Kuhn poker has cards that one player must not see") {
		t.Errorf("poker is played: %v", err)
	}
	var out strings.Builder
	failing := &play.Table{Game: board.TicTacToe, Bot: &script{}, In: strings.NewReader("1\n"), Out: &out}
	if err := failing.Play(0); err == nil || err.Error() != "no more moves" {
		t.Errorf("a policy's failure is %v", err)
	}
}
