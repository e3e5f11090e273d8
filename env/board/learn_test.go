package board_test

import (
	"context"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/dqn"
	"github.com/weft-rl/weft/algo/mappo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/board"
	"github.com/weft-rl/weft/env/game"
)

func learn(t *testing.T, e env.Entry, a algo.Algorithm, options []string, steps int64, set ...string) app.Result {
	t.Helper()
	r, err := app.Train(context.Background(), app.Job{
		Algorithm: a, Env: e, Options: options, Steps: steps, Seed: 1, EvalEpisodes: 200, Set: set,
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// choice returns an agent's action in a position. One of both seats is asked as the one to move.
func choice(t *testing.T, g game.Game, a *app.Agent, position []float32) int {
	t.Helper()
	r, host, seat := g.Rules(), g.Host(), int(position[game.SeatAt])
	agents := max(1, a.Specs()[0].Agents)
	seen := app.Observation{X: map[string][]float64{}, Legal: map[string][]bool{}}
	for i := range agents {
		who := i
		if agents == 1 {
			who = seat
		}
		obs, legal := make([]float32, r.Seen), make([]bool, r.Actions)
		host.Observe(position, who, obs)
		if host.Legal(position, legal); who != seat {
			clear(legal)
			legal[0] = true
		}
		for _, x := range obs {
			seen.X[""] = append(seen.X[""], float64(x))
		}
		seen.Legal[""] = append(seen.Legal[""], legal...)
	}
	out, err := a.ActAll([]app.Observation{seen})
	if err != nil {
		t.Fatal(err)
	}
	return int(out[0][""][seat*(agents-1)])
}

// judged returns what a greedy agent does in tic-tac-toe.
func judged(t *testing.T, a *app.Agent) [2]board.Verdict {
	return board.Judge(board.TicTacToe, func(positions [][]float32) []int {
		out := make([]int, len(positions))
		for i, p := range positions {
			out[i] = choice(t, board.TicTacToe, a, p)
		}
		return out
	})
}

// A random player wins .585 of the games in the first seat and .288 in the second; the best
// response to it wins .995 and .93. Illegal moves stop a run, so masks are heeded too.
func TestLearnTicTacToe(t *testing.T) {
	for _, x := range []struct {
		algorithm algo.Algorithm
		options   []string
		steps     int64
		set       []string
		least     [2]float64 // wins by seat
	}{
		{ppo.Algorithm, nil, 60_000, []string{"envs=32", "horizon=32", "learning_rate=2e-3", "minibatches=4"}, [2]float64{.9, .65}},
		{dqn.Algorithm, nil, 30_000, nil, [2]float64{.9, .65}},
		{mappo.Algorithm, []string{"opponent=none"}, 60_000, []string{"envs=32", "horizon=32", "learning_rate=2e-3", "entropy_coef=0.03"}, [2]float64{.7, .4}},
	} {
		t.Run(x.algorithm.Name, func(t *testing.T) {
			v := judged(t, learn(t, board.All[0], x.algorithm, x.options, x.steps, x.set...).Agent)
			for seat := range v {
				if got := v[seat].Random.Wins; got < x.least[seat] {
					t.Errorf("seat %d wins %.3f of the games against a random player, want %v", seat, got, x.least[seat])
				}
			}
		})
	}
}

// Nobody wins against perfect play, and after learning few games are lost.
func TestLearnAgainstPerfect(t *testing.T) {
	r := learn(t, board.All[0], dqn.Algorithm, []string{"opponent=perfect"}, 30_000)
	if r.EvalReturn > 0 || r.EvalReturn < -.35 {
		t.Errorf("return %v against a perfect player, want from -.35 to 0", r.EvalReturn)
	}
}

// Agents that learn by playing each other get nearer to an equilibrium than random play, from which
// both together could be won 11/12 in Kuhn poker and 4.75 in Leduc poker.
func TestLearnPoker(t *testing.T) {
	for _, x := range []struct {
		entry env.Entry
		game  game.Game
		steps int64
		most  float64 // of the NashConv of random play
	}{{board.All[2], board.KuhnPoker, 60_000, .5}, {board.All[3], board.LeducPoker, 120_000, .8}} {
		t.Run(x.game.Rules().Name, func(t *testing.T) {
			r := learn(t, x.entry, mappo.Algorithm, []string{"opponent=none"}, x.steps,
				"envs=128", "horizon=8", "learning_rate=1e-3", "entropy_coef=0.3", "epochs=2", "gamma=1", "anneal=linear")
			tree := board.NewTree(x.game)
			before, after := tree.NashConv(tree.Uniform()), tree.NashConv(sampled(t, tree, r.Agent))
			if after > before*x.most {
				t.Errorf("NashConv is %v, of random play %v, want at most %v of it", after, before, x.most)
			}
		})
	}
}

// sampled returns the policy of an agent of both seats, from how often it takes each action.
func sampled(t *testing.T, tree *board.Tree, a *app.Agent) board.Policy {
	t.Helper()
	const n = 300
	a.Sample = true
	out := tree.Uniform()
	for i, d := range tree.Decisions {
		x, legal := make([]float64, 2*len(d.Obs)), make([]bool, 2*len(d.Legal))
		for j, v := range d.Obs {
			x[d.Seat*len(d.Obs)+j] = float64(v)
		}
		legal[(1-d.Seat)*len(d.Legal)] = true
		copy(legal[d.Seat*len(d.Legal):], d.Legal)
		clear(out[i])
		for range n {
			act, err := a.ActAll([]app.Observation{{X: map[string][]float64{"": x}, Legal: map[string][]bool{"": legal}}})
			if err != nil {
				t.Fatal(err)
			}
			out[i][int(act[0][""][d.Seat])] += 1. / n
		}
	}
	return out
}
