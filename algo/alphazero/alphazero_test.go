package alphazero_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/alphazero"
	"github.com/weft-rl/weft/env/board"
	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/rl"
)

// judged returns what a trained agent does in every line of tic-tac-toe, by seat.
func judged(t *testing.T, trainer rl.Trainer, s *rl.Scope) [2]board.Verdict {
	t.Helper()
	agent, rules, host := trainer.Agent(), board.TicTacToe.Rules(), board.TicTacToe.Host()
	return board.Judge(board.TicTacToe, func(positions [][]float32) []int {
		n := len(positions)
		state, seen, legal := []float32{}, make([]float32, n*rules.Seen), make([]bool, n*rules.Actions)
		for i, p := range positions {
			state = append(state, p...)
			host.Observe(p, int(p[game.SeatAt]), seen[i*rules.Seen:(i+1)*rules.Seen])
			host.Legal(p, legal[i*rules.Actions:(i+1)*rules.Actions])
		}
		obs := rl.Obs{
			X: rl.One(rl.FromFlat(s, seen, n, rules.Seen)), Legal: rl.One(rl.FromFlat(s, legal, n, rules.Actions)),
			State: rl.FromFlat(s, state, n, rules.Width),
		}
		action, _ := agent.Act(s.Key("judge"), obs, agent.Memory(n), true)
		out := make([]int, n)
		for i, a := range rl.Floats(action.Leaf("")) {
			out[i] = int(a)
		}
		return out
	})
}

// TestLearns: after seconds of self-play no line of tic-tac-toe is lost by the first player who
// searches, and few games against a random player; the network alone is worse, and good already.
func TestLearns(t *testing.T) {
	const set = "noise_alpha=1 simulations=24"
	trainer := algotest.Trained(t, alphazero.Algorithm, tictactoe, nil, 24_000, strings.Fields(set)...).(*alphazero.Trainer)
	s := rl.NewScope(algotest.Device(t), 1)
	for _, c := range []struct {
		by            string
		first, second float64 // part of games that are won against a random player
		lost          float64 // part of games that are lost, at most
		lines         float64 // lines that the first player loses, at most
	}{{"search", .95, .8, .02, 0}, {"network", .8, .5, .06, 4}} {
		trainer.ActBy = c.by
		v := judged(t, trainer, s)
		t.Logf("%s: %+v", c.by, v)
		if v[0].Random.Wins < c.first || v[1].Random.Wins < c.second {
			t.Errorf("by %s it wins %.3f and %.3f of games against a random player, want %v and %v", c.by, v[0].Random.Wins, v[1].Random.Wins, c.first, c.second)
		}
		if v[0].Lines.Losses > c.lines || max(v[0].Random.Losses, v[1].Random.Losses) > c.lost {
			t.Errorf("by %s the first player loses %v lines; %.3f and %.3f of games against a random player are lost", c.by, v[0].Lines.Losses, v[0].Random.Losses, v[1].Random.Losses)
		}
	}
}
