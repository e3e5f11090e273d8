package plan

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-rl/weft/fdg"
)

// Check returns all problems of a grouping of a graph, joined into one error: every fragment must
// be in one group, every group must have a fragment, and names must be unique.
func (g Grouping) Check(graph *fdg.Graph) error {
	var errs []error
	in := map[string]string{}
	for i, x := range g.Groups {
		if x.Name == "" || slices.ContainsFunc(g.Groups[:i], func(y Group) bool { return y.Name == x.Name }) {
			errs = append(errs, fmt.Errorf("grouping %s: the name %q of group %d is empty or taken", g.Name, x.Name, i))
		}
		if len(x.Fragments) == 0 {
			errs = append(errs, fmt.Errorf("grouping %s: group %s has no fragment", g.Name, x.Name))
		}
		if !slices.Contains([]fdg.Axis{fdg.None, fdg.Environments, fdg.Agents}, x.Over) {
			errs = append(errs, fmt.Errorf("grouping %s: group %s cannot be replicated over %s", g.Name, x.Name, x.Over))
		}
		for _, f := range x.Fragments {
			switch {
			case graph.Fragment(f) == nil:
				errs = append(errs, fmt.Errorf("grouping %s: group %s has a fragment %q, which the graph does not", g.Name, x.Name, f))
			case in[f] != "":
				errs = append(errs, fmt.Errorf("grouping %s: fragment %s is in groups %s and %s", g.Name, f, in[f], x.Name))
			}
			in[f] = x.Name
		}
	}
	for _, f := range graph.Fragments {
		if in[f.Name] == "" {
			errs = append(errs, fmt.Errorf("grouping %s: fragment %s is in no group", g.Name, f.Name))
		}
	}
	return errors.Join(errs...)
}

// Check returns all problems of a plan, joined into one error.
func (p *Plan) Check(on Problem) error {
	errs := []error{on.Cluster.Check()}
	if len(p.Groups) > 0 {
		errs = append(errs, p.Grouping.Check(on.Graph))
	}
	if p.Shards < 1 {
		errs = append(errs, fmt.Errorf("the environments are split into %d parts", p.Shards))
	}
	for _, g := range p.Groups {
		errs = append(errs, p.checkGroup(g)...)
	}
	for i, r := range p.Replicas {
		if p.Group(r.Group) == nil && len(p.Groups) > 0 {
			errs = append(errs, fmt.Errorf("replica %d is of group %q, which does not exist", i, r.Group))
		}
		if r.Worker < 0 || r.Worker >= len(on.Cluster.Workers) {
			errs = append(errs, fmt.Errorf("replica %d of %s is on worker %d: the cluster has %d", r.Rank, r.Group, r.Worker, len(on.Cluster.Workers)))
			continue
		}
		if w := on.Cluster.Workers[r.Worker]; !slices.Contains(w.Devices, r.Device) {
			errs = append(errs, fmt.Errorf("replica %d of %s computes on %s, which worker %s does not have: it has %v", r.Rank, r.Group, r.Device, w.Name, w.Devices))
		}
	}
	return errors.Join(errs...)
}

// checkGroup checks that a group's replicas own every shard once, in order.
func (p *Plan) checkGroup(g Group) (errs []error) {
	replicas := p.Of(g.Name)
	if len(replicas) == 0 {
		return []error{fmt.Errorf("group %s has no replica", g.Name)}
	}
	if g.Over == fdg.None && len(replicas) > 1 {
		errs = append(errs, fmt.Errorf("group %s has %d replicas, but nothing to split between them", g.Name, len(replicas)))
	}
	at := 0
	for i, r := range replicas {
		if r.Rank != i || r.First != at || r.Last <= r.First {
			errs = append(errs, fmt.Errorf("replica %d of %s has rank %d and shards %d to %d, want rank %d and shards from %d", i, g.Name, r.Rank, r.First, r.Last, i, at))
		}
		at = r.Last
	}
	if at != p.Shards {
		errs = append(errs, fmt.Errorf("the replicas of %s own %d of %d shards", g.Name, at, p.Shards))
	}
	return errs
}
