package board

import "github.com/weft-rl/weft/internal/nash"

// PSRO approaches an equilibrium of a tree by policy-space response oracles (Lanctot et al., "A
// Unified Game-Theoretic Approach to Multiagent Reinforcement Learning", 2017) in their exact form,
// the double oracle method (McMahan, Gordon and Blum, 2003): best responses to an equilibrium among
// the policies so far are added to them, until there are none that gain.
type PSRO struct {
	tree     *Tree
	policies []Policy
	payoff   [][]float64 // return of seat 0 if it plays the row's policy and seat 1 the column's
}

// NewPSRO returns a league of one policy.
func NewPSRO(t *Tree, first Policy) *PSRO {
	o := &PSRO{tree: t}
	o.add(first)
	return o
}

// Expand adds the best responses of both seats n times.
func (o *PSRO) Expand(n int) {
	for range n {
		p := o.Mixture()
		o.add(o.tree.seats(o.tree.Response(p, 0), o.tree.Response(p, 1)))
	}
}

// add puts a policy of both seats into the league.
func (o *PSRO) add(p Policy) {
	o.policies = append(o.policies, p)
	last := len(o.policies) - 1
	o.payoff = append(o.payoff, nil)
	for i := range o.policies {
		if i < last {
			o.payoff[i] = append(o.payoff[i], o.tree.Value(o.tree.seats(o.policies[i], p)))
		}
		o.payoff[last] = append(o.payoff[last], o.tree.Value(o.tree.seats(p, o.policies[i])))
	}
}

// Mixture returns the policy that plays an equilibrium among the league's policies.
func (o *PSRO) Mixture() Policy {
	g := nash.Solve(o.payoff)
	return o.tree.Mix(o.policies, g.Row, g.Col)
}

// seats returns the policy that plays first in seat 0 and second in seat 1.
func (t *Tree) seats(first, second Policy) Policy {
	return t.policy(func(i, a int) float64 { return []Policy{first, second}[t.Decisions[i].Seat][i][a] })
}

// Mix returns the policy that plays like one of several which each seat draws before the game, with
// the probabilities that are given for each seat.
func (t *Tree) Mix(policies []Policy, first, second []float64) Policy {
	out := make([][]float64, len(t.Decisions)) // reached by the seat's own choices, and chosen then
	for i, d := range t.Decisions {
		out[i] = make([]float64, len(d.Legal))
	}
	for k, p := range policies {
		for seat, chance := range [][]float64{first, second} {
			reach := t.reach(p, seat)
			done := make([]bool, len(t.Decisions))
			for i, n := range t.nodes {
				// All nodes of a decision are reached alike, because a seat forgets nothing.
				if n.decision < 0 || n.seat != seat || done[n.decision] {
					continue
				}
				done[n.decision] = true
				for _, a := range n.actions {
					out[n.decision][a] += chance[k] * reach[i] * p[n.decision][a]
				}
			}
		}
	}
	return t.policy(func(i, a int) float64 { return out[i][a] })
}
