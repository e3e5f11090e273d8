package search_test

import (
	"math"

	"github.com/weft-rl/weft/search"
)

// naive is a search in one world by recursion over linked nodes.
type naive struct {
	search.Settings
	*world
	root      *point
	low, high float64
}

type point struct {
	state         int
	legal         []bool
	prior         []float64
	visits, total []float64
	child         []*point
}

type answer struct {
	visits, policy []float64
	best           int
}

func newNaive(s search.Settings, w *world, root int) *naive {
	n := &naive{Settings: s, world: w}
	n.root = n.point(root)
	n.low = float64(w.value[root])
	n.high = n.low
	return n
}

func (n *naive) point(state int) *point {
	p := &point{state: state, legal: n.legal[state], child: make([]*point, n.actions)}
	p.visits, p.total = make([]float64, n.actions), make([]float64, n.actions)
	p.prior = make([]float64, n.actions)
	var sum float64
	for a, l := range n.logits[state] {
		if p.legal[a] {
			p.prior[a] = math.Exp(float64(l))
			sum += p.prior[a]
		}
	}
	for a := range p.prior {
		p.prior[a] /= sum
	}
	return p
}

func softmax(logits []float32) []float64 {
	out, sum := make([]float64, len(logits)), 0.
	for i, l := range logits {
		out[i] = math.Exp(float64(l))
		sum += out[i]
	}
	for i := range out {
		out[i] /= sum
	}
	return out
}

func (p *point) count() (sum, most float64) {
	for _, v := range p.visits {
		sum += v
		most = max(most, v)
	}
	return sum, most
}

func (n *naive) scale(q float64) float64 {
	switch {
	case !n.Normalise:
		return q
	case n.high > n.low:
		return (q - n.low) / (n.high - n.low)
	}
	return 0
}

// scores returns PUCT's scores, or with gumbel the logits of the improved policy.
func (n *naive) scores(p *point) []float64 {
	sum, most := p.count()
	open := float64(n.value[p.state])
	if n.Search == "gumbel" && sum > 0 {
		var w, q float64
		for a, v := range p.visits {
			if v > 0 {
				w += p.prior[a]
				q += p.prior[a] * p.total[a] / v
			}
		}
		open = (open + sum*q/w) / (1 + sum)
	}
	out := make([]float64, n.actions)
	for a := range out {
		q := open
		if p.visits[a] > 0 {
			q = p.total[a] / p.visits[a]
		}
		if q = n.scale(q); n.Search == "gumbel" {
			out[a] = math.Log(p.prior[a]) + (n.VisitOffset+most)*n.ValueScale*q
			continue
		}
		c := n.Explore + math.Log((sum+1+n.ExploreBase+1)/n.ExploreBase)
		out[a] = q + c*p.prior[a]*math.Sqrt(sum+1)/(1+p.visits[a])
	}
	return out
}

// improved returns the policy of logits over legal actions.
func (p *point) improved(logits []float64) []float64 {
	out, sum := make([]float64, len(logits)), 0.
	for a, l := range logits {
		if p.legal[a] {
			out[a] = math.Exp(l)
			sum += out[a]
		}
	}
	for a := range out {
		out[a] /= sum
	}
	return out
}

// argmax returns the legal action with the largest score among those that may is true of.
func (p *point) argmax(score []float64, may func(a int) bool) int {
	best := -1
	for a, s := range score {
		if p.legal[a] && may(a) && (best < 0 || s > score[best]) {
			best = a
		}
	}
	return best
}

func anything(int) bool { return true }

// choose returns the action at a node below the root.
func (n *naive) choose(p *point) int {
	score := n.scores(p)
	if n.Search == "gumbel" {
		sum, _ := p.count()
		score = p.improved(score)
		for a := range score {
			score[a] -= p.visits[a] / (1 + sum)
		}
	}
	return p.argmax(score, anything)
}

// take returns what an action is worth to the player who takes it, by one simulation.
func (n *naive) take(p *point, a int) float64 {
	next := p.state*n.actions + a + 1
	ret := float64(n.reward[next])
	if d := float64(n.discount[next]); d != 0 {
		if p.child[a] == nil {
			p.child[a] = n.point(next)
			ret += d * float64(n.value[next])
		} else {
			ret += d * n.take(p.child[a], n.choose(p.child[a]))
		}
	}
	p.visits[a]++
	p.total[a] += ret
	q := p.total[a] / p.visits[a]
	n.low, n.high = min(n.low, q), max(n.high, q)
	return ret
}

func (n *naive) search() answer {
	if n.Search == "gumbel" {
		return n.halve()
	}
	for range n.Simulations {
		n.take(n.root, n.choose(n.root))
	}
	out := answer{visits: n.root.visits, best: n.root.argmax(n.root.visits, anything)}
	for _, v := range n.root.visits {
		out.policy = append(out.policy, v/float64(n.Simulations))
	}
	return out
}

// halve plays rounds among the considered actions, of which the better half is left each time.
func (n *naive) halve() answer {
	var left []int
	for a := range n.actions {
		if n.root.legal[a] {
			left = append(left, a)
		}
	}
	for i := range left { // the likeliest first
		for j := range i {
			if n.root.prior[left[i]] > n.root.prior[left[j]] {
				left[i], left[j] = left[j], left[i]
			}
		}
	}
	left = left[:min(len(left), n.Considered)]
	rounds := math.Ceil(math.Log2(float64(len(left))))
	done := 0
	for done < n.Simulations {
		each := 1
		if rounds > 0 {
			each = max(1, int(float64(n.Simulations)/(rounds*float64(len(left)))))
		}
		for range each {
			waiting := append([]int(nil), left...)
			for len(waiting) > 0 && done < n.Simulations {
				score, at := n.scores(n.root), 0
				for i, a := range waiting {
					if score[a] > score[waiting[at]] {
						at = i
					}
				}
				n.take(n.root, waiting[at])
				waiting = append(waiting[:at], waiting[at+1:]...)
				done++
			}
		}
		keep := max(2, len(left)/2)
		for len(left) > keep {
			score, worst := n.scores(n.root), 0
			for i, a := range left {
				if score[a] < score[left[worst]] {
					worst = i
				}
			}
			left = append(left[:worst], left[worst+1:]...)
		}
	}
	score := n.scores(n.root)
	_, most := n.root.count()
	return answer{
		visits: n.root.visits, policy: n.root.improved(score),
		best: n.root.argmax(score, func(a int) bool { return n.root.visits[a] == most }),
	}
}
