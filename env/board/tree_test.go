package board

import (
	"math"
	"testing"
)

func within(t *testing.T, what string, got, want, slack float64) {
	t.Helper()
	if !(math.Abs(got-want) <= slack) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// Kuhn poker has 12 information sets and a value of -1/18; uniform play is worth 1/8 and can be
// exploited by 11/12 in all. Leduc poker has 936 information sets where suits are told apart, 288
// where they are not.
func TestKuhn(t *testing.T) {
	tree := NewTree(KuhnPoker)
	if n := len(tree.Decisions); n != 12 {
		t.Errorf("%d information sets, want 12", n)
	}
	within(t, "value of uniform play", tree.Value(tree.Uniform()), 1./8, 1e-12)
	within(t, "NashConv of uniform play", tree.NashConv(tree.Uniform()), 11./12, 1e-12)
	cfr := NewCFR(tree)
	for _, x := range []struct {
		more int
		want float64
	}{{1, .9167}, {9, .1374}, {90, .01645}, {900, .00188}} {
		cfr.Run(x.more)
		within(t, "NashConv", tree.NashConv(cfr.Average()), x.want, x.want*.01)
	}
	within(t, "value", tree.Value(cfr.Average()), -1./18, 1e-3)
}

// Kuhn's equilibria, by hand: with J seat 0 bets with probability a up to 1/3, with K with 3a, with
// Q never; Q calls with a+1/3. Seat 1 bets J after a check with 1/3 and calls with Q with 1/3.
func TestKuhnEquilibria(t *testing.T) {
	tree := NewTree(KuhnPoker)
	for _, a := range []float64{0, .1, 1. / 3} {
		p := tree.policy(func(i, action int) float64 {
			bet := kuhnBet(tree.Decisions[i], a)
			return []float64{1 - bet, bet}[action]
		})
		within(t, "value", tree.Value(p), -1./18, 1e-12)
		within(t, "NashConv", tree.NashConv(p), 0, 1e-12)
	}
}

// kuhnBet returns the probability of a bet in the equilibrium of parameter a.
func kuhnBet(d Decision, a float64) float64 {
	card := 0
	for d.Obs[2+card] == 0 {
		card++
	}
	moves := d.Obs[2+kuhnCards:]
	faced := moves[1] == 1 || moves[3] == 1 // a bet
	switch {
	case d.Seat == 0 && !faced:
		return []float64{a, 0, 3 * a}[card]
	case d.Seat == 0:
		return []float64{0, a + 1./3, 1}[card]
	case faced:
		return []float64{0, 1. / 3, 1}[card]
	}
	return []float64{1. / 3, 0, 1}[card]
}

func TestLeduc(t *testing.T) {
	tree := NewTree(LeducPoker)
	if n := len(tree.Decisions); n != 288 {
		t.Errorf("%d information sets, want 288", n)
	}
	cfr := NewCFR(tree)
	for _, x := range []struct {
		more int
		want float64
	}{{1, 4.747}, {9, 1.777}, {90, .1914}} {
		cfr.Run(x.more)
		within(t, "NashConv", tree.NashConv(cfr.Average()), x.want, x.want*.001)
	}
	p := cfr.Average()
	if lo, hi := -tree.BestResponse(p, 1), tree.BestResponse(p, 0); !(lo < -.0856 && -.0856 < hi) {
		t.Errorf("the game is worth between %v and %v, want -.0856 between them", lo, hi)
	}
}
