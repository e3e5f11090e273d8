package psro

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/board"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/game"
	"github.com/weft-rl/weft/env/mpe"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

var seats = &game.Options{Opponent: "none", Seat: game.Any}

// curve trains on a game, and returns the exact NashConv of the mixture before every response.
func curve(t *testing.T, e env.Entry, g game.Game, steps int64, set ...string) (out []float64) {
	t.Helper()
	c, err := algotest.Configure(Algorithm, set)
	if err != nil {
		t.Fatal(err)
	}
	s := rl.NewScope(algotest.Device(t), 1)
	trainer, err := Algorithm.New(s, algo.On(s, e, seats, nil), c)
	if err != nil {
		t.Fatal(err)
	}
	x, tree := trainer.(*Trainer), board.NewTree(g)
	run := rl.NewRun(s, steps, func(cut rl.Cut) error {
		if cut.Iter%int64(x.Response+x.Arena) == 0 || cut.Last {
			out = append(out, tree.NashConv(mixture(s, x, tree)))
		}
		return nil
	})
	if err := rl.Train(x, run); err != nil {
		t.Fatal(err)
	}
	return out
}

// mixture returns what both sides play, exactly.
func mixture(s *rl.Scope, x *Trainer, tree *board.Tree) board.Policy {
	n := x.Policies
	policies := make([]board.Policy, n)
	for k := range policies {
		policies[k] = tree.Uniform()
	}
	var chances [2][]float64
	for side, of := range x.Sides {
		net := of.Learner.net
		probs := rl.NewFunc(s, "probs", net.probs)
		out := rl.Read[float32](probs.Call(rl.Key{}, asked(s, tree)))
		for i, d := range tree.Decisions {
			for k := range policies {
				for a := range d.Legal {
					if d.Seat == side {
						policies[k][i][a] = float64(out[(i*n+k)*len(d.Legal)+a])
					}
				}
			}
		}
		sums := rl.Floats(rl.NewFunc(s, "chances", net.chances).Call(rl.Key{}, rl.FromFlat(s, []float32{0}, 1)))
		for k := range policies {
			chances[side] = append(chances[side], sums[k+1]-sums[k])
		}
	}
	return tree.Mix(policies, chances[0], chances[1])
}

// asked returns the observations of all decisions.
func asked(s *rl.Scope, tree *board.Tree) rl.Obs {
	var seen []float32
	var legal []bool
	for _, d := range tree.Decisions {
		seen, legal = append(seen, d.Obs...), append(legal, d.Legal...)
	}
	n := len(tree.Decisions)
	return rl.Obs{X: rl.One(rl.FromFlat(s, seen, n, len(seen)/n)), Legal: rl.One(rl.FromFlat(s, legal, n, len(legal)/n))}
}

// probs returns the probabilities of actions by frozen policy, [rows, numbers, actions].
func (n *net) probs(c *rl.Ctx, obs rl.Obs) rl.Tensor {
	var all []rl.Tensor
	for number := 1; number <= n.league.Capacity(); number++ {
		all = append(all, rl.Wrap(n.Policy(c, n.league.Weights(c, n.side, number), obs).(*nn.Discrete).Probs()))
	}
	return rl.Stack(all)
}

func (n *net) chances(c *rl.Ctx, _ rl.Tensor) rl.Tensor {
	return rl.Wrap(n.league.Mixture(c, n.side))
}

// The mixture of learnt responses to equilibria gets near an equilibrium: random play can be won
// 11/12 in Kuhn poker.
func TestKuhn(t *testing.T) {
	got := curve(t, board.All[2], board.KuhnPoker, 620_000, "policies=7")
	if last := got[len(got)-1]; last > .15 {
		t.Errorf("NashConv %.3f, want at most .15; by response %.3f", last, got)
	}
}

// In Leduc poker, from which 4.75 can be won of random play, less is left after each few responses.
func TestLeduc(t *testing.T) {
	got := curve(t, board.All[3], board.LeducPoker, 600_000, "policies=10", "horizon=16", "response=20", "arena=10")
	if last := got[len(got)-1]; last > .7*got[0] {
		t.Errorf("NashConv %.3f, want at most .7 of %.3f; by response %.3f", last, got[0], got)
	}
}

// A run that goes on from a checkpoint in its middle ends in the bits of one that was not stopped.
func TestResume(t *testing.T) {
	algotest.Resumes(t, Algorithm, mpe.SimpleTag, 1600, "envs=4", "horizon=25", "response=2", "arena=2", "policies=3", "hidden=8")
}

// What is frozen stays: after more responses the older policies are the same bits.
func TestFrozen(t *testing.T) {
	t.Parallel()
	set := []string{"envs=8", "horizon=4", "response=2", "arena=1", "policies=6", "hidden=8", "minibatches=2"}
	train := func(steps int64) [][]float32 {
		x := algotest.Trained(t, Algorithm, board.All[2], seats, steps, set...).(*Trainer)
		var out [][]float32
		for _, v := range x.League.Tensors() {
			out = append(out, rl.Read[float32](v))
		}
		return out
	}
	early, late := train(6*32), train(12*32)
	same, moved := 0, 0
	for i := range early[:len(early)-3] {
		if equal(early[i], late[i]) {
			same++
		} else {
			moved++
		}
	}
	// Of six policies three are frozen by then, and two more later.
	if same != 2*moved {
		t.Errorf("%d tensors of frozen policies are what they were, %d are not: want twice as many", same, moved)
	}
}

func equal(a, b []float32) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

func TestRefused(t *testing.T) {
	for _, x := range []struct {
		entry   env.Entry
		options any
		says    string
	}{
		{classic.CartPole, nil, "CartPole-v1 has 1 sides, and a league is of two"},
		{board.All[2], nil, "with the option opponent=none"},
		{mpe.SimpleSpread, mpe.SimpleSpread.Options(), "has 3 sides"},
	} {
		c, err := algotest.Configure(Algorithm, nil)
		if err != nil {
			t.Fatal(err)
		}
		s := rl.NewScope(algotest.Device(t), 1)
		if _, err := Algorithm.New(s, algo.On(s, x.entry, x.options, nil), c); err == nil || !strings.Contains(err.Error(), x.says) {
			t.Errorf("%s: %v, want ...%s...", x.entry.ID, err, x.says)
		}
	}
}
