package play_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/weft-rl/weft/env/board"
	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/internal/play"
	"github.com/weft-rl/weft/rl"
)

// side plays by a function of the position.
type side func(position []float32) int

func (s side) Moves(_ []int, positions [][]float32) (out []int, _ error) {
	for _, p := range positions {
		out = append(out, s(p))
	}
	return out, nil
}

func legal(g game.Game, p []float32) (out []int) {
	mask := make([]bool, g.Rules().Actions)
	g.Host().Legal(p, mask)
	for a, ok := range mask {
		if ok {
			out = append(out, a)
		}
	}
	return out
}

// Perfect play never loses to random play, and two equal sides are level whatever the openings are.
func TestMatch(t *testing.T) {
	solved := board.Solve(board.TicTacToe)
	perfect := side(func(p []float32) int { return solved.Best(p)[0] })
	r := rand.New(rand.NewPCG(1, 2))
	random := side(func(p []float32) int { l := legal(board.TicTacToe, p); return l[r.IntN(len(l))] })
	m := play.Match{Game: board.TicTacToe, Pairs: 200, Draw: rl.NewKey(1).IntN}
	got, err := m.Play(perfect, random)
	if err != nil {
		t.Fatal(err)
	}
	// Exactly: .9948 wins as X and .806 as O.
	if got.Losses != 0 || got.Wins+got.Draws != 400 || math.Abs(float64(got.Wins)/400-.9) > .05 {
		t.Errorf("perfect against random play: %+v", got)
	}
	if !(got.Elo.Low < got.Elo.Value && got.Elo.Value < got.Elo.High && got.Elo.Low > 300) {
		t.Errorf("Elo %+v", got.Elo)
	}
	m.Openings = 3
	if got, err = m.Play(perfect, perfect); err != nil || got.Elo.Value != 0 || got.Return != 0 || got.Wins != got.Losses || got.Wins == 0 {
		t.Errorf("perfect play against itself after openings: %+v, %v", got, err)
	}
}

// All games won are a finite number, and a level match is 0.
func TestElo(t *testing.T) {
	// In Kuhn poker one side always bets and the other always folds, so it wins all games.
	bets, folds := side(func([]float32) int { return 1 }), side(func([]float32) int { return 0 })
	m := play.Match{Game: board.KuhnPoker, Pairs: 50, Draw: rl.NewKey(2).IntN}
	got, err := m.Play(bets, folds)
	if err != nil || got.Wins != 100 || got.Return != 1 || math.Abs(got.Elo.Value-400*math.Log10(199)) > 1e-9 {
		t.Errorf("who bets against who folds: %+v, %v", got, err)
	}
	// Whoever has the first seat wins.
	wins := func(p []float32) int { return slices.Index(p[game.Header:], 0) }
	got, err = play.Match{Game: board.TicTacToe, Pairs: 10, Draw: rl.NewKey(3).IntN}.Play(side(wins), side(wins))
	if err != nil || got.Wins != 10 || got.Losses != 10 || got.Elo.Value != 0 {
		t.Errorf("the first free field against itself: %+v, %v", got, err)
	}
	if _, err = (play.Match{Game: board.TicTacToe, Pairs: 1, Draw: rl.NewKey(4).IntN}).Play(side(wins), failing{}); err == nil {
		t.Error("a side's failure is lost")
	}
}

type failing struct{}

func (failing) Moves([]int, [][]float32) ([]int, error) { return nil, errors.New("it fails") }
