package search

import (
	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// rule chooses actions in trees.
type rule interface {
	// root returns the actions of simulation i at the roots, [rows] int32.
	root(t tree, i *Node) *Node
	// inner returns the actions at other nodes.
	inner(t tree, e edges) *Node
	// found returns the result of a search.
	found(t tree) Found
}

// rule returns the rule of the settings.
func (s Settings) rule(c *rl.Ctx, root Leaf, noise *Node) rule {
	if s.Search == "gumbel" {
		return newGumbel(c, s, root, noise)
	}
	return puct{s}
}

// puct takes the action with the largest sum of mean value and share of the prior that visits have
// not used up yet (Silver et al., 2018; Schrittwieser et al., 2020).
type puct struct{ Settings }

func (p puct) root(t tree, _ *Node) *Node { return p.inner(t, t.at(t.roots())) }

func (p puct) inner(t tree, e edges) *Node {
	q := e.q(e.value)
	if p.Normalise {
		q = t.scaled(q)
	}
	visits := AddScalar(ReduceAndKeep(e.visits, ReduceSum, 1), 1) // of the node, the one that found it included
	weight := AddScalar(Log(DivScalar(AddScalar(visits, p.ExploreBase+1), p.ExploreBase)), p.Explore)
	u := Div(Mul(Exp(e.logits), Mul(weight, Sqrt(visits))), AddScalar(e.visits, 1))
	return best(Add(q, u), e.legal())
}

func (p puct) found(t tree) Found {
	e := t.at(t.roots())
	sum := ReduceAndKeep(e.visits, ReduceSum, 1)
	return Found{Visits: e.visits, Policy: Div(e.visits, sum), Value: e.mean(), Best: best(e.visits, e.legal())}
}

// mean returns the mean of a node's own value and all that its actions returned.
func (e edges) mean() *Node {
	sum := Add(e.value, ReduceAndKeep(e.total, ReduceSum, 1))
	return Squeeze(Div(sum, AddScalar(ReduceAndKeep(e.visits, ReduceSum, 1), 1)), 1)
}

// best returns the first of the actions with the largest score among some.
func best(score, among *Node) *Node {
	return ArgMax(Where(among, score, BroadcastToShape(ConstAs(score, 2*impossible), score.Shape())), 1, dtypes.Int32)
}

// gumbel considers actions drawn without replacement, and among them those with the largest sum of
// their noise, logarithm of the prior and value get more and more of the simulations. Elsewhere
// visits follow the improved policy (Danihelka et al., 2022).
type gumbel struct {
	Settings
	noise *Node // [rows, actions]
	plan  *Node // [rows, simulations] visits of the actions that are considered in a simulation
}

func newGumbel(c *rl.Ctx, s Settings, root Leaf, noise *Node) gumbel {
	dims := root.Logits.Shape().Dimensions
	n := min(s.Considered, dims[1])
	count := Const(c.Graph(), int32(n))
	count = BroadcastToDims(count, dims[0])
	if root.Legal != nil {
		count = Min(count, ReduceSum(ConvertDType(root.Legal, dtypes.Int32), 1))
	}
	return gumbel{Settings: s, noise: noise, plan: pick(Const(c.Graph(), plans(n, s.Simulations)), count)}
}

// plans returns for each number of considered actions, up to n, the visits that an action must have
// in each simulation to be taken: rounds in which every action that is left gets equally many, each
// with half as many actions as the one before and about as many simulations.
func plans(n, simulations int) [][]int32 {
	out := make([][]int32, n+1)
	for m := range out {
		rounds, left, visits := 0, max(1, m), int32(0)
		for 1<<rounds < left {
			rounds++
		}
		for len(out[m]) < simulations {
			each := 1
			if rounds > 0 {
				each = max(1, simulations/(rounds*left))
			}
			for range each {
				for range left {
					out[m] = append(out[m], visits)
				}
				visits++
			}
			if left > 1 {
				left = max(2, left/2)
			}
		}
		out[m] = out[m][:simulations]
	}
	return out
}

func (g gumbel) root(t tree, i *Node) *Node {
	e := t.at(t.roots())
	want := DynamicSlice(g.plan, []*Node{Const(i.Graph(), int32(0)), i}, []int{t.rows, 1})
	due := Equal(e.visits, BroadcastToShape(ConvertDType(want, dtypes.Float32), e.visits.Shape()))
	return best(Add(g.noise, g.improved(t, e)), LogicalAnd(due, e.legal()))
}

func (g gumbel) inner(t tree, e edges) *Node {
	visits := AddScalar(ReduceAndKeep(e.visits, ReduceSum, 1), 1)
	return best(Sub(g.policy(t, e), Div(e.visits, visits)), e.legal())
}

func (g gumbel) found(t tree) Found {
	e := t.at(t.roots())
	most := Equal(e.visits, BroadcastToShape(ReduceAndKeep(e.visits, ReduceMax, 1), e.visits.Shape()))
	chosen := best(Add(g.noise, g.improved(t, e)), LogicalAnd(most, e.legal()))
	return Found{Visits: e.visits, Policy: g.policy(t, e), Value: e.mean(), Best: chosen}
}

// policy returns the improved policy.
func (g gumbel) policy(t tree, e edges) *Node { return Exp(masked(g.improved(t, e), e.legal())) }

// improved returns the logits of the improved policy: those of the prior and the values of all
// actions, which weigh the more the more visits there were.
func (g gumbel) improved(t tree, e edges) *Node {
	q := e.q(e.mixed())
	if g.Normalise {
		q = t.scaled(q)
	}
	most := ReduceAndKeep(e.visits, ReduceMax, 1)
	return Add(e.logits, Mul(MulScalar(AddScalar(most, g.VisitOffset), g.ValueScale), q))
}

// mixed returns the value of actions that were never taken, [rows, 1]: the mean of the model's
// value and, weighted by the prior and counted once for each visit, the values of those that were.
func (e edges) mixed() *Node {
	visits := ReduceAndKeep(e.visits, ReduceSum, 1)
	p := Where(GreaterThan(e.visits, ZerosLike(e.visits)), Exp(e.logits), ZerosLike(e.logits))
	seen := ReduceAndKeep(Mul(p, e.q(e.value)), ReduceSum, 1)
	mean := Div(seen, Max(ReduceAndKeep(p, ReduceSum, 1), ConstAs(seen, 1e-30)))
	return Div(Add(e.value, Mul(visits, mean)), AddScalar(visits, 1))
}
