package board

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/env/game"
)

// verdict is a reference's judgement of a game after its moves.
type verdict struct {
	seat   int
	over   bool
	result float32 // return of seat 0
	legal  []int
}

// The host's rules agree with references that know nothing of positions: they replay the moves of a
// game from its beginning and look at the whole board, or at the whole story.
func TestHostEqualsReference(t *testing.T) {
	references := []func(start []float32, moves []int) verdict{
		func(_ []float32, moves []int) verdict { return replayBoard(3, 3, 3, false, moves) },
		func(_ []float32, moves []int) verdict { return replayBoard(6, 7, 4, true, moves) },
		replayKuhn, replayLeduc,
	}
	for i, g := range games {
		t.Run(g.Rules().Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(5, 6))
			for range 2000 {
				start := deal(r, g, 1)[0]
				p, moves := slices.Clone(start), []int(nil)
				for {
					want := references[i](start, moves)
					legal := legalOf(g, p)
					got := verdict{seatOf(p), overOf(p), returnOf(p, 0), legal}
					if got.seat != want.seat || got.over != want.over || got.result != want.result || !slices.Equal(legal, want.legal) {
						t.Fatalf("start %v, moves %v: host says %+v, reference %+v\n%s", start, moves, got, want, g.Host().Text(p))
					}
					if want.over {
						break
					}
					a := legal[r.IntN(len(legal))]
					g.Host().Play(p, a)
					moves = append(moves, a)
				}
			}
		})
	}
}

// replayBoard puts letters on a board of text and looks for words of one letter, in rows, columns
// and diagonals.
func replayBoard(rows, cols, need int, drop bool, moves []int) verdict {
	board := make([][]byte, rows)
	for r := range board {
		board[r] = []byte(strings.Repeat(".", cols))
	}
	for i, m := range moves {
		r, c := m/cols, m%cols
		if drop {
			for r, c = rows-1, m; board[r][c] != '.'; {
				r--
			}
		}
		board[r][c] = "XO"[i%2]
	}
	v := verdict{seat: len(moves) % 2}
	text := allLinesOf(board)
	switch {
	case strings.Contains(text, strings.Repeat("X", need)):
		v.over, v.result = true, 1
	case strings.Contains(text, strings.Repeat("O", need)):
		v.over, v.result = true, -1
	case len(moves) == rows*cols:
		v.over = true
	}
	for a := range rows * cols {
		if !v.over && board[a/cols][a%cols] == '.' && (!drop || a < cols) {
			v.legal = append(v.legal, a)
		}
	}
	return v
}

// allLinesOf returns all rows, columns and diagonals of a board, with bars between them.
func allLinesOf(board [][]byte) string {
	lines := map[[2]int][]byte{}
	for r := range board {
		for c, x := range board[r] {
			for kind, at := range []int{r, c, r + c, r - c} {
				key := [2]int{kind, at}
				lines[key] = append(lines[key], x)
			}
		}
	}
	var all []string
	for _, l := range lines {
		all = append(all, string(l))
	}
	return strings.Join(all, "|")
}

func higher(a, b float32) float32 {
	if a > b {
		return 1
	}
	return -1
}

func replayKuhn(start []float32, moves []int) verdict {
	story := ""
	for _, m := range moves {
		story += []string{"pass ", "bet "}[m]
	}
	show := higher(start[kuhnCard], start[kuhnCard+1])
	v := verdict{seat: len(moves) % 2, over: true}
	switch story {
	case "pass pass ":
		v.result = show
	case "bet bet ", "pass bet bet ":
		v.result = 2 * show
	case "bet pass ":
		v.result = 1
	case "pass bet pass ":
		v.result = -1
	default:
		v.over, v.legal = false, []int{0, 1}
	}
	return v
}

// replayLeduc follows the pot as one would at a table.
func replayLeduc(start []float32, moves []int) verdict {
	pot := [2]float32{1, 1}
	a, b, public := start[leducCard], start[leducCard+1], start[leducPublic]
	for round := range 2 {
		seat, raises, silent := 0, 0, true
		for {
			facing := pot[1-seat] - pot[seat]
			if len(moves) == 0 {
				v := verdict{seat: seat, legal: []int{call}}
				if facing > 0 {
					v.legal = []int{fold, call}
				}
				if raises < 2 {
					v.legal = append(v.legal, raise)
				}
				return v
			}
			m := moves[0]
			moves = moves[1:]
			if m == fold {
				return verdict{seat: 1 - seat, over: true, result: []float32{-pot[0], pot[1]}[seat]}
			}
			pot[seat] += facing
			if m == raise {
				pot[seat] += []float32{2, 4}[round]
				raises++
			}
			if m == call && !silent {
				if round == 1 {
					return verdict{seat: 1 - seat, over: true, result: pot[0] * hand(a, b, public)}
				}
				break
			}
			silent = false
			seat = 1 - seat
		}
	}
	panic("unreachable: the second round returns")
}

func hand(a, b, public float32) float32 {
	if a == b {
		return 0
	}
	if a == public || b != public && a > b {
		return 1
	}
	return -1
}

// played returns the position after some moves from the only start.
func played(g game.Game, moves ...int) []float32 {
	p := slices.Clone(g.Rules().Starts[0])
	for _, m := range moves {
		g.Host().Play(p, m)
	}
	return p
}

// Games written by hand end as a person sees it.
func TestKnownGames(t *testing.T) {
	for _, x := range []struct {
		game  game.Game
		moves []int
		over  bool
		want  float32
		text  string
	}{
		{TicTacToe, []int{4, 0, 2, 6, 3, 5, 1, 7, 8}, true, 0, "OXX\nXXO\nOOX\n"},
		{TicTacToe, []int{0, 4, 1, 3, 2}, true, 1, "XXX\nOO.\n...\n"},
		{TicTacToe, []int{0, 2, 1, 4, 3, 6}, true, -1, "XXO\nXO.\nO..\n"},
		{TicTacToe, []int{8, 0, 4, 2, 1, 7, 3, 5, 6}, true, 0, "OXO\nXXO\nXOX\n"},
		{ConnectFour, []int{3, 3, 3}, false, 0, ".......\n.......\n.......\n...X...\n...O...\n...X...\n"},
		{ConnectFour, []int{0, 1, 0, 1, 0, 1, 0}, true, 1, ".......\n.......\nX......\nXO.....\nXO.....\nXO.....\n"},
		{ConnectFour, []int{6, 0, 1, 1, 2, 2, 3, 2, 3, 3, 6, 3}, true, -1, ".......\n.......\n...O...\n..OO...\n.OOX..X\nOXXX..X\n"},
	} {
		p := played(x.game, x.moves...)
		if overOf(p) != x.over || returnOf(p, 0) != x.want || x.game.Host().Text(p) != x.text {
			t.Errorf("after %v: over %v, return %v, want %v, %v:\n%s", x.moves, overOf(p), returnOf(p, 0), x.over, x.want, x.game.Host().Text(p))
		}
	}
}
