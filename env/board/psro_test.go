package board

import "testing"

// Responses to equilibria reach an equilibrium of Kuhn poker. How many are needed depends on which
// of several best responses is taken.
func TestPSRO(t *testing.T) {
	tree := NewTree(KuhnPoker)
	o := NewPSRO(tree, tree.Uniform())
	within(t, "NashConv of uniform play", tree.NashConv(o.Mixture()), 11./12, 1e-12)
	o.Expand(8)
	within(t, "NashConv after 8 expansions", tree.NashConv(o.Mixture()), 0, 1e-6)
	within(t, "value", tree.Value(o.Mixture()), -1./18, 1e-6)
}

// Leduc poker needs more policies; every ten of them leave less to gain.
func TestPSROLeduc(t *testing.T) {
	tree := NewTree(LeducPoker)
	o := NewPSRO(tree, tree.Uniform())
	last := tree.NashConv(o.Mixture())
	for range 3 {
		o.Expand(10)
		now := tree.NashConv(o.Mixture())
		if now > .9*last {
			t.Errorf("NashConv is %v after ten more expansions, %v before", now, last)
		}
		last = now
	}
}

// A response earns what BestResponse says, and leaves the other seat's decisions alone.
func TestResponse(t *testing.T) {
	tree := NewTree(LeducPoker)
	p := tree.Uniform()
	for seat := range 2 {
		r := tree.Response(p, seat)
		within(t, "what a response earns", float64(1-2*seat)*tree.Value(r), tree.BestResponse(p, seat), 1e-12)
		within(t, "what is left for the seat", float64(1-2*seat)*tree.Value(r), tree.BestResponse(r, seat), 1e-12)
	}
}

// A mixture earns the mean of what its policies earn against any other policy.
func TestMix(t *testing.T) {
	tree := NewTree(LeducPoker)
	u := tree.Uniform()
	a, b := tree.Response(u, 0), tree.Response(u, 1)
	mix := tree.Mix([]Policy{u, a, b}, []float64{.2, .5, .3}, []float64{.1, .3, .6})
	want := 0.
	for i, p := range []float64{.2, .5, .3} {
		for j, q := range []float64{.1, .3, .6} {
			all := []Policy{u, a, b}
			want += p * q * tree.Value(tree.seats(all[i], all[j]))
		}
	}
	within(t, "value of a mixture", tree.Value(mix), want, 1e-12)
}
