package board

import (
	"math"
	"testing"
)

// Anchors: 5,478 positions (765 up to symmetry), of which 958 are final; the game is a draw.
func TestSolveTicTacToe(t *testing.T) {
	s := Solve(TicTacToe)
	final, classes := 0, map[string]bool{}
	for key := range s.values {
		p := positionOf(key)
		if overOf(p) {
			final++
		}
		least := key
		for _, m := range TicTacToe.Rules().Symmetries {
			q := permuted(p, m.Position)
			if s.Value(q) != s.Value(p) {
				t.Fatalf("a position and its image are worth %v and %v", s.Value(p), s.Value(q))
			}
			least = min(least, keyOf(q))
		}
		classes[least] = true
	}
	if s.Positions() != 5478 || final != 958 || len(classes) != 765 {
		t.Errorf("%d positions, %d final, %d up to symmetry; want 5478, 958, 765", s.Positions(), final, len(classes))
	}
	if v := s.Value(TicTacToe.Rules().Starts[0]); v != 0 {
		t.Errorf("the game is worth %v, want 0", v)
	}
	if best := s.Best(played(TicTacToe, 0)); len(best) != 1 || best[0] != 4 {
		t.Errorf("best answers to a corner are %v, want the middle alone", best)
	}
}

// The exact anchors of players against random play.
func TestJudge(t *testing.T) {
	s := Solve(TicTacToe)
	first := func(positions [][]float32) []int {
		out := make([]int, len(positions))
		for i, p := range positions {
			out[i] = s.Best(p)[0]
		}
		return out
	}
	v := Judge(TicTacToe, first)
	for seat := range v {
		if v[seat].Lines.Losses != 0 {
			t.Errorf("perfect play loses %v lines in seat %d", v[seat].Lines.Losses, seat)
		}
	}
	best := Judge(TicTacToe, BestAgainstRandom(TicTacToe))
	near(t, "best response", best[0].Random, Tally{.9948, .0052, 0})
	// In the second seat several answers are best, of which .934 wins and .010 losses is one.
	if r := best[1].Random; math.Abs(r.Wins-r.Losses-.9249) > 6e-4 {
		t.Errorf("best response: %+v, want an expected return of .9249", r)
	}
	random := [2]Strategy{Uniform(TicTacToe), Uniform(TicTacToe)}
	near(t, "random play", Play(TicTacToe, random[0], random[1]), Tally{.585, .127, .288})
	near(t, "perfect play", Play(TicTacToe, s.Strategy(), random[1]), Tally{.968, .032, 0})
	o := Play(TicTacToe, random[0], s.Strategy())
	near(t, "perfect play", Tally{o.Losses, o.Draws, o.Wins}, Tally{.778, .222, 0})
}

func near(t *testing.T, what string, got, want Tally) {
	t.Helper()
	for _, x := range [][2]float64{{got.Wins, want.Wins}, {got.Draws, want.Draws}, {got.Losses, want.Losses}} {
		if math.Abs(x[0]-x[1]) > 6e-4 {
			t.Errorf("%s: %+v, want %+v", what, got, want)
			return
		}
	}
}
