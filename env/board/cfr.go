package board

// CFR approaches an equilibrium of a tree by counterfactual regret minimisation (Zinkevich et al.,
// "Regret Minimization in Games with Incomplete Information", 2007), in which the seats update by
// turns.
type CFR struct {
	tree          *Tree
	regrets, sums [][]float64 // by decision and action
}

// NewCFR returns a minimiser that has made no iteration.
func NewCFR(t *Tree) *CFR {
	c := &CFR{tree: t}
	for _, d := range t.Decisions {
		c.regrets = append(c.regrets, make([]float64, len(d.Legal)))
		c.sums = append(c.sums, make([]float64, len(d.Legal)))
	}
	return c
}

// Run makes n iterations.
func (c *CFR) Run(n int) {
	for range n {
		for seat := range 2 {
			c.update(seat)
		}
	}
}

// current returns the policy that matches positive regrets.
func (c *CFR) current() Policy {
	return c.tree.policy(func(i, a int) float64 { return max(0, c.regrets[i][a]) })
}

// Average returns the average policy, which approaches an equilibrium.
func (c *CFR) Average() Policy {
	return c.tree.policy(func(i, a int) float64 { return c.sums[i][a] })
}

// update adds a seat's regrets under the current policy, and the policy itself to its sum.
func (c *CFR) update(seat int) {
	t, p := c.tree, c.current()
	values, own, other := t.values(p), t.reach(p, seat), t.reach(p, 1-seat)
	sign := float64(1 - 2*seat)
	for i, n := range t.nodes {
		if n.decision < 0 || n.seat != seat {
			continue
		}
		for k, a := range n.actions {
			c.regrets[n.decision][a] += sign * other[i] * (values[n.first+k] - values[i])
			c.sums[n.decision][a] += own[i] * p[n.decision][a]
		}
	}
}
