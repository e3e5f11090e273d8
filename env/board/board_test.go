package board

import (
	"testing"

	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/env/game"
)

var games = []game.Game{TicTacToe, ConnectFour, KuhnPoker, LeducPoker}

// Every form of every game keeps the contract of environments.
func TestConformance(t *testing.T) {
	for _, e := range All {
		for _, o := range []game.Options{{Opponent: "random", Seat: game.Any}, {Opponent: "none", Seat: game.Any}, {Opponent: "random", Seat: game.Second}} {
			opts := []envtest.Option{envtest.With(&o), envtest.Steps(60)}
			if o.Opponent == "none" && len(gameOf(t, e.ID).Rules().Starts) == 1 {
				opts = append(opts, envtest.Deterministic())
			}
			t.Run(e.ID+"/"+o.Opponent+"/"+string(o.Seat), func(t *testing.T) { envtest.Run(t, e, opts...) })
		}
	}
	t.Run("perfect", func(t *testing.T) {
		envtest.Run(t, All[0], envtest.With(&game.Options{Opponent: "perfect", Seat: game.Any}), envtest.Steps(60))
	})
	for _, e := range All {
		self := e
		self.New = e.SelfPlay
		opts := []envtest.Option{envtest.Steps(60)}
		if len(gameOf(t, e.ID).Rules().Starts) == 1 {
			opts = append(opts, envtest.Deterministic())
		}
		t.Run(e.ID+"/self", func(t *testing.T) { envtest.Run(t, self, opts...) })
	}
}

// gameOf returns the game of an environment's id.
func gameOf(t *testing.T, id string) game.Game {
	t.Helper()
	for i, e := range All {
		if e.ID == id {
			return games[i]
		}
	}
	t.Fatalf("no environment %s", id)
	return nil
}
