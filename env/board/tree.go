package board

import (
	"slices"

	"github.com/weft-rl/weft/env/game"
)

// Tree is the whole tree of a game with few positions, by information sets: what a seat that has
// the move knows is its observation, and it plays alike wherever it sees the same.
type Tree struct {
	Decisions []Decision
	nodes     []node // by depth: children come after their parents
	starts    int    // the first nodes
}

// Decision is an information set of the seat to move.
type Decision struct {
	Seat  int
	Obs   []float32
	Legal []bool
}

// node is a position as it was reached. Its children are by action, the legal ones in order.
type node struct {
	decision int // -1 where the game is over
	seat     int
	first    int     // first child
	actions  []int   // legal actions, shared with the decision
	result   float64 // return of seat 0
}

// NewTree walks a game from all of its starts.
func NewTree(g game.Game) *Tree {
	t := &Tree{starts: len(g.Rules().Starts)}
	positions := slices.Clone(g.Rules().Starts)
	at := map[string]int{}
	for i := 0; i < len(positions); i++ {
		n := node{decision: -1, seat: seatOf(positions[i]), first: len(positions), result: float64(returnOf(positions[i], 0))}
		if !overOf(positions[i]) {
			n.decision = t.decision(g, positions[i], at)
			for _, next := range successors(g, positions[i]) {
				n.actions = append(n.actions, next.action)
				positions = append(positions, next.position)
			}
		}
		t.nodes = append(t.nodes, n)
	}
	return t
}

// decision returns the number of the information set of a position.
func (t *Tree) decision(g game.Game, position []float32, at map[string]int) int {
	r := g.Rules()
	d := Decision{seatOf(position), make([]float32, r.Seen), make([]bool, r.Actions)}
	g.Host().Observe(position, d.Seat, d.Obs)
	g.Host().Legal(position, d.Legal)
	key := keyOf(append([]float32{float32(d.Seat)}, d.Obs...))
	i, ok := at[key]
	if !ok {
		i = len(t.Decisions)
		at[key], t.Decisions = i, append(t.Decisions, d)
	}
	return i
}

// Policy is the probability of each action at each decision of a tree: [decision][action].
type Policy [][]float64

// Uniform returns the policy that plays all legal actions with equal probability.
func (t *Tree) Uniform() Policy {
	return t.policy(func(int, int) float64 { return 1 })
}

// policy returns probabilities in proportion to weights of the legal actions, which are not
// negative; equal ones where all weights are 0.
func (t *Tree) policy(weight func(decision, action int) float64) Policy {
	out := make(Policy, len(t.Decisions))
	for i, d := range t.Decisions {
		sum, legal := 0., 0.
		out[i] = make([]float64, len(d.Legal))
		for a, ok := range d.Legal {
			if ok {
				out[i][a] = weight(i, a)
				sum, legal = sum+out[i][a], legal+1
			}
		}
		for a, ok := range d.Legal {
			switch {
			case ok && sum > 0:
				out[i][a] /= sum
			case ok:
				out[i][a] = 1 / legal
			}
		}
	}
	return out
}

// Value returns the expected return of seat 0 if both seats play by a policy.
func (t *Tree) Value(p Policy) float64 { return t.mean(t.values(p)) }

// mean returns the mean of the starts' values.
func (t *Tree) mean(values []float64) (v float64) {
	for _, x := range values[:t.starts] {
		v += x / float64(t.starts)
	}
	return v
}

// values returns the expected return of seat 0 at every node.
func (t *Tree) values(p Policy) []float64 {
	out := make([]float64, len(t.nodes))
	for i := len(t.nodes) - 1; i >= 0; i-- {
		n := t.nodes[i]
		if out[i] = n.result; n.decision < 0 {
			continue
		}
		for k, a := range n.actions {
			out[i] += p[n.decision][a] * out[n.first+k]
		}
	}
	return out
}

// reach returns the part that a seat's choices have in the probability of every node.
func (t *Tree) reach(p Policy, seat int) []float64 {
	out := make([]float64, len(t.nodes))
	for i := range t.starts {
		out[i] = 1
	}
	for i, n := range t.nodes {
		for k, a := range n.actions {
			out[n.first+k] = out[i]
			if n.seat == seat {
				out[n.first+k] *= p[n.decision][a]
			}
		}
	}
	return out
}

// BestResponse returns the greatest expected return that a seat can have against the other's
// policy.
func (t *Tree) BestResponse(p Policy, seat int) float64 {
	value, _ := t.respond(p, seat)
	return value
}

// Response returns the policy by which a seat has that return, one action at each of its decisions,
// with the other seat's decisions as they are in p.
func (t *Tree) Response(p Policy, seat int) Policy {
	_, best := t.respond(p, seat)
	return t.policy(func(i, a int) float64 {
		switch {
		case t.Decisions[i].Seat != seat:
			return p[i][a]
		case best[i] == a:
			return 1
		}
		return 0
	})
}

// respond returns the greatest expected return of a seat, and its action at each of its decisions.
func (t *Tree) respond(p Policy, seat int) (value float64, best map[int]int) {
	reach := t.reach(p, 1-seat)
	values := make([]float64, len(t.nodes))
	sign := float64(1 - 2*seat)
	best = map[int]int{}
	// Nodes of a decision have the same depth, because an observation has all moves in it. So all
	// children of a level are valued before any of its nodes.
	for _, level := range t.levels() {
		sums := map[int][]float64{} // by decision of the seat, of its actions
		for i := level[0]; i < level[1]; i++ {
			n := t.nodes[i]
			for k, a := range n.actions {
				if n.seat != seat {
					values[i] += p[n.decision][a] * values[n.first+k]
					continue
				}
				if sums[n.decision] == nil {
					sums[n.decision] = make([]float64, len(p[n.decision]))
				}
				sums[n.decision][a] += reach[i] * values[n.first+k]
			}
			if n.decision < 0 {
				values[i] = sign * n.result
			}
		}
		for i := level[0]; i < level[1]; i++ {
			if n := t.nodes[i]; n.decision >= 0 && n.seat == seat {
				k := n.best(sums[n.decision])
				values[i], best[n.decision] = values[n.first+k], n.actions[k]
			}
		}
	}
	return t.mean(values), best
}

// best returns which child follows the legal action of greatest sum.
func (n node) best(sums []float64) int {
	k := 0
	for j, a := range n.actions {
		if sums[a] > sums[n.actions[k]] {
			k = j
		}
	}
	return k
}

// levels returns the nodes of each depth as spans, the deepest first.
func (t *Tree) levels() (out [][2]int) {
	for lo, hi := 0, t.starts; lo < hi; {
		out = append(out, [2]int{lo, hi})
		next := hi
		for _, n := range t.nodes[lo:hi] {
			next = max(next, n.first+len(n.actions))
		}
		lo, hi = hi, next
	}
	slices.Reverse(out)
	return out
}

// NashConv returns how much both seats together would gain by answering a policy with a best
// response: 0 in an equilibrium.
func (t *Tree) NashConv(p Policy) float64 { return t.BestResponse(p, 0) + t.BestResponse(p, 1) }
