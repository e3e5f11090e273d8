package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// DeviceNames returns the devices that the deployment gives to groups.
func (d Deployment) DeviceNames() (out []string) {
	for _, text := range d.Devices {
		if _, name, ok := strings.Cut(text, ":"); ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// Assign gives groups the devices that the deployment names for them: replicas are
// shared out among these in contiguous ranges. A group that only steps environments
// is the CPU's unless something else is said, where workers have one: environments
// of the host compute nothing on a device, and those that are graph functions are
// better part of a device program than called step by step. Other groups stay with
// the device of their worker.
func (p *Plan) Assign(d Deployment, c Cluster, g *fdg.Graph) error {
	devices, err := byGroup(d.Devices, "devices", "device")
	errs := []error{err}
	for _, text := range d.Devices {
		if group, _, ok := strings.Cut(text, ":"); ok && p.Group(group) == nil {
			errs = append(errs, fmt.Errorf("devices %s: there is no group %s; the policy makes %s", text, group, p.groupNames()))
		}
	}
	for _, group := range p.Groups {
		names, replicas := devices[group.Name], len(p.Of(group.Name))
		if len(names) > replicas {
			errs = append(errs, fmt.Errorf("devices: group %s is given %d, but has %d replicas: name fewer, or split it further with --replicas", group.Name, len(names), replicas))
			continue
		}
		for i := range p.Replicas {
			r := &p.Replicas[i]
			switch {
			case r.Group != group.Name:
			case len(names) > 0:
				r.Device = names[r.Rank*len(names)/replicas]
			case steps(g, group) && slices.Contains(c.Workers[r.Worker].Devices, CPU):
				r.Device = CPU
			}
		}
	}
	return errors.Join(errs...)
}

func (p *Plan) groupNames() string {
	var out []string
	for _, g := range p.Groups {
		out = append(out, g.Name)
	}
	if len(out) == 0 {
		return "none"
	}
	return strings.Join(out, ", ")
}

// steps reports whether a group does nothing but step environments.
func steps(g *fdg.Graph, group Group) bool {
	for _, f := range group.Fragments {
		if g.Fragment(f).Group != "environment" {
			return false
		}
	}
	return true
}

// turn returns the part of the environments, of those that take turns, that a shard is of.
func (p *Plan) turn(shard int) int { return shard * max(1, p.Turns) / p.Shards }

// Turn makes two parts of the environments take turns, if the plan steps them apart
// from what acts for them, and nothing that happens at every step needs all of them.
func (p *Plan) Turn(g *fdg.Graph) error {
	for _, group := range p.Groups {
		if group.Over != fdg.Environments || !steps(g, group) {
			continue
		}
		if n := needsAll(g, group); n != nil {
			return fmt.Errorf("--pipeline: %s: %s needs all environments at once, so that their halves cannot take turns", n.Pos, n.Text)
		}
		p.Turns = 2
		return nil
	}
	return fmt.Errorf("--pipeline: policy %s has no environments apart from what acts for them: single-learner-fine has", p.Policy)
}

// needsAll returns a graph function that is called on what environments return, or on what
// was made of it row by row, and whose rows depend on each other; nil if there is none.
func needsAll(g *fdg.Graph, group Group) *fdg.Node {
	seen := map[int]bool{}
	var list []int
	for _, n := range g.Nodes {
		if slices.Contains(group.Fragments, n.Fragment) {
			seen[n.ID] = true
			list = append(list, n.ID)
		}
	}
	for len(list) > 0 {
		from := list[0]
		list = list[1:]
		for _, e := range g.Edges {
			if e.Kind != fdg.OfValue || e.From != from || seen[e.To] {
				continue
			}
			n := &g.Nodes[e.To]
			passes := n.Kind == fdg.Compute || n.Turns
			if n.Whole && passes {
				return n
			}
			if seen[e.To] = true; passes {
				list = append(list, e.To)
			}
		}
	}
	return nil
}
