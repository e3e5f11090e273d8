package project

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/fdg"
)

// mixed refuses operations that put rows beside each other which replicas share
// out differently: those of a minibatch stay with the environments they came from,
// those of a sample are shared out evenly.
func (l *loop) mixed() {
	drawn := l.draws()
	for id, n := range l.g.Nodes {
		g, ok := l.group[n.Fragment]
		if !ok || !l.replicated(g) || n.Kind == fdg.Log || l.special(id) {
			continue
		}
		by := map[string][]int{}
		var names []string
		for _, e := range l.g.Edges {
			if e.To != id || e.Kind != fdg.OfValue || e.Axis != fdg.Rows {
				continue
			}
			if by[e.Into] == nil {
				names = append(names, e.Into)
			}
			by[e.Into] = union(by[e.Into], drawn[e.From])
		}
		for _, name := range names {
			if first := by[names[0]]; !slices.Equal(by[name], first) {
				l.bad(l.src.Pos(id), fmt.Sprintf("%s is given rows of %s (%s) beside rows of %s (%s), which the replicas of %s share out differently",
					n.Text, l.g.Nodes[first[0]].Text, l.g.Nodes[first[0]].Pos, l.g.Nodes[by[name][0]].Text, l.g.Nodes[by[name][0]].Pos, l.groups[g].Name))
				break
			}
		}
	}
}

// draws are, for every node with rows of a learner's batch, the nodes that drew
// them.
func (l *loop) draws() [][]int {
	out := make([][]int, len(l.g.Nodes))
	for changed := true; changed; {
		changed = false
		for id, n := range l.g.Nodes {
			var now []int
			if n.Axis == fdg.Rows {
				now = l.drawnBy(id, out)
			}
			if !slices.Equal(now, out[id]) {
				out[id], changed = now, true
			}
		}
	}
	return out
}

func (l *loop) drawnBy(id int, known [][]int) (out []int) {
	if n := l.g.Nodes[id]; n.Shards == ownRows || n.Shards == evenShare {
		return []int{id}
	}
	for _, e := range l.g.Edges {
		if e.To == id && e.Kind == fdg.OfValue && e.Axis == fdg.Rows {
			out = union(out, known[e.From])
		}
	}
	if len(out) == 0 {
		return []int{id}
	}
	return out
}

func union(a, b []int) []int {
	out := slices.Concat(a, b)
	slices.Sort(out)
	return slices.Compact(out)
}
