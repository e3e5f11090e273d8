package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-rl/weft/fdg"
)

// The fusions, by the names that Deployment.NoFuse uses.
const (
	FuseReplicas = "replicas" // those of a group that share a device become one batched call
	FuseGroups   = "groups"   // groups on one worker become one program, their edges variables
	FuseGraphs   = "graphs"   // adjacent graph work of a program becomes one compiled graph
)

// Fusions lists all fusions.
var Fusions = []string{FuseReplicas, FuseGroups, FuseGraphs}

// CheckNoFuse finds names that are no fusions.
func CheckNoFuse(names []string) error {
	var errs []error
	for _, n := range names {
		if n != "all" && !slices.Contains(Fusions, n) {
			errs = append(errs, fmt.Errorf("there is no fusion %q to leave out: there are %v and all", n, Fusions))
		}
	}
	return errors.Join(errs...)
}

// Fuse returns the plan with co-located work put together, but for the fusions that are
// left out. It never changes a result: only calls that treat rows alone are
// batched, and gradients stay one call a shard.
func (p Plan) Fuse(g *fdg.Graph, without []string) Plan {
	on := func(name string) bool { return !slices.Contains(without, name) && !slices.Contains(without, "all") }
	p.Replicas, p.Edges, p.Fused, p.Graphs = slices.Clone(p.Replicas), slices.Clone(p.Edges), nil, false
	if on(FuseReplicas) {
		p.fuseReplicas(g)
	}
	if on(FuseGroups) && !(on(FuseGraphs) && p.away()) {
		p.fuseGroups()
	}
	if on(FuseGraphs) {
		p.fuseGraphs()
	}
	p.locality()
	return p
}

// fuseReplicas joins neighbours of a group that share worker and device.
func (p *Plan) fuseReplicas(g *fdg.Graph) {
	for _, group := range p.Groups {
		if group.Over == fdg.None || p.sums(g, group) {
			continue
		}
		before := len(p.Of(group.Name))
		p.Replicas = p.joinNeighbours(p.Replicas, group.Name)
		if after := len(p.Of(group.Name)); after < before {
			p.Fused = append(p.Fused, fmt.Sprintf("%s: %d replicas of %s became %d: each calls its graph functions on all rows that it owns", FuseReplicas, before, group.Name, after))
		}
	}
}

// sums reports whether a group computes gradients, whose sums go by shard.
func (p *Plan) sums(g *fdg.Graph, group Group) bool {
	return slices.ContainsFunc(g.Nodes, func(n fdg.Node) bool {
		return n.Kind == fdg.Gradient && slices.Contains(group.Fragments, n.Fragment)
	})
}

// joinNeighbours joins what is in one place, but not replicas that take turns.
func (p *Plan) joinNeighbours(list []Replica, group string) (out []Replica) {
	rank := 0
	for _, r := range list {
		last := len(out) - 1
		if r.Group == group && last >= 0 && out[last].Group == group && out[last].Worker == r.Worker && out[last].Device == r.Device &&
			p.turn(out[last].First) == p.turn(r.First) {
			out[last].Last = r.Last
			continue
		}
		if r.Group == group {
			r.Rank = rank
			rank++
		}
		out = append(out, r)
	}
	return out
}

// away reports whether groups compute on devices to which calls are long: there a
// graph for each group is better than one loop of many calls.
func (p *Plan) away() bool {
	return slices.ContainsFunc(p.Replicas, func(r Replica) bool { return r.Device != CPU && r.Device != "go" })
}

// fuseGroups makes one program of groups that are one replica each on one worker.
func (p *Plan) fuseGroups() {
	if len(p.Groups) < 2 || len(p.Replicas) != len(p.Groups) || p.Async {
		return
	}
	for _, r := range p.Replicas[1:] {
		if r.Worker != p.Replicas[0].Worker || r.Device != p.Replicas[0].Device {
			return
		}
	}
	p.Fused = append(p.Fused, fmt.Sprintf("%s: %s became one program, the loop as it stands; %d edges became variables", FuseGroups, names(p.Groups), len(p.Edges)))
	first := p.Replicas[0]
	first.Group, first.Rank, first.First, first.Last = "all", 0, 0, p.Shards
	p.Grouping, p.Edges, p.Replicas = Grouping{Name: ""}, nil, []Replica{first}
}

// fuseGraphs lets programs call one graph where they would call several in a row.
// Which these are is in the programs; whether they can be one, as an environment of
// the host's cannot, is seen when they run.
func (p *Plan) fuseGraphs() {
	if len(p.Groups) == 0 || p.Lowered {
		return
	}
	p.Graphs = true
	p.Fused = append(p.Fused, fmt.Sprintf("%s: adjacent graph work in %s became one call, unless something in it is the host's", FuseGraphs, names(p.Groups)))
}

func names(groups []Group) string {
	var s string
	for i, g := range groups {
		if i > 0 {
			s += " and "
		}
		s += g.Name
	}
	return s
}

// locality marks the edges whose ends all share one worker.
func (p *Plan) locality() {
	for i := range p.Edges {
		e := &p.Edges[i]
		workers := map[int]bool{}
		for _, r := range p.Replicas {
			if r.Group == e.From || r.Group == e.To {
				workers[r.Worker] = true
			}
		}
		e.Local = len(workers) == 1
	}
}
