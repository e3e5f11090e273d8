package analyze

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// edges fills in what crosses.
func (p *partition) edges() {
	for i := range p.g.Edges {
		e := &p.g.Edges[i]
		e.Freq = fdg.Common(p.g.Nodes[e.From].Freq, p.g.Nodes[e.To].Freq)
		if e.Kind == fdg.OfResource {
			e.Type, e.Axis = p.g.Resources[e.Resource].Type, p.g.Resources[e.Resource].Axis
			continue
		}
		e.Type = p.x.typeName(p.b.partType(def{e.From, e.Part, -1}))
		e.Shape = p.partShape(*e)
		e.Axis = cmp.Or(axisOfShape[e.Shape], fdg.None)
		if a := p.b.extra[e.From].axis; a != "" && e.Shape != "" {
			e.Axis = a
		}
	}
}

// fragments lists the owners with what enters and leaves them.
func (p *partition) fragments() {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range order {
		if slices.ContainsFunc(p.g.Nodes, func(n fdg.Node) bool { return n.Fragment == name }) ||
			slices.ContainsFunc(p.g.Resources, func(r fdg.Resource) bool { return r.Home == name }) {
			add(name)
		}
	}
	for _, n := range p.g.Nodes {
		add(n.Fragment)
	}
	for _, r := range p.g.Resources {
		add(r.Home)
	}
	for _, name := range names {
		p.g.Fragments = append(p.g.Fragments, p.fragment(name))
	}
	for _, e := range p.g.Edges {
		if p.g.Crosses(e) {
			from, to := p.g.Fragment(p.g.Nodes[e.From].Fragment), p.g.Fragment(p.g.Nodes[e.To].Fragment)
			from.Exits, to.Entries = p.port(from.Exits, to.Name, e), p.port(to.Entries, from.Name, e)
		}
	}
}

func (p *partition) fragment(name string) fdg.Fragment {
	f := fdg.Fragment{Name: name, Group: p.group(name), Nodes: []int{}, Impls: []fdg.Impl{fdg.Host}}
	lowers := true
	for _, n := range p.g.Nodes {
		if n.Fragment != name {
			continue
		}
		f.Nodes = append(f.Nodes, n.ID)
		if n.Kind == fdg.Op || n.Kind == fdg.Compute && p.b.extra[n.ID].taint || p.b.extra[n.ID].taint {
			lowers = false
		}
	}
	for _, r := range p.g.Resources {
		if r.Home == name {
			f.Resources = append(f.Resources, r.ID)
		}
	}
	if lowers {
		f.Impls = append(f.Impls, fdg.GraphFn)
	}
	return f
}

// group is the role of a fragment. One that a directive names has the role of what
// it took over, the learner's before any other.
func (p *partition) group(name string) string {
	if slices.Contains(order, name) {
		return groupOf(name)
	}
	took := map[string]bool{}
	for _, n := range p.g.Nodes {
		if n.Fragment != name {
			continue
		}
		took[groupOf(p.def[n.ID])] = true
		for _, r := range append(slices.Clone(n.Writes), n.Reads...) {
			if p.g.Resources[r].Home == name {
				took[groupOf(p.b.owners[r].of.Home)] = true
			}
		}
	}
	for _, role := range []string{"learner", environment, replay, actor} {
		if took[role] {
			return role
		}
	}
	return "learner"
}

// port adds an edge to the port that carries the same thing to the same peer.
func (p *partition) port(ports []fdg.Port, peer string, e fdg.Edge) []fdg.Port {
	name := p.portName(e)
	blocking := p.g.Nodes[e.To].Kind != fdg.Log
	for i := range ports {
		q := &ports[i]
		if q.Peer == peer && q.Kind == e.Kind && q.Name == name {
			q.Edges = append(q.Edges, e.ID)
			q.Blocking = q.Blocking || blocking
			if len(e.Freq.Loops) > len(q.Freq.Loops) {
				q.Freq.Loops = e.Freq.Loops
			}
			q.Freq.Maybe = q.Freq.Maybe && e.Freq.Maybe
			return ports
		}
	}
	return append(ports, fdg.Port{
		Peer: peer, Kind: e.Kind, Name: name, Edges: []int{e.ID}, Type: e.Type, Axis: e.Axis, Freq: e.Freq,
		Operators: p.operators(e), Blocking: blocking,
	})
}

func (p *partition) portName(e fdg.Edge) string {
	if e.Kind == fdg.OfResource {
		return p.g.Resources[e.Resource].Name
	}
	n := p.g.Nodes[e.From]
	return strings.TrimSuffix(fmt.Sprintf("%s@%d.%s", cmp.Or(n.Name, string(n.Kind)), n.ID, e.Part), ".")
}

// operators are what may carry an edge.
func (p *partition) operators(e fdg.Edge) []fdg.Operator {
	switch {
	case e.Kind == fdg.OfValue && p.x.p.typ(p.b.partType(def{e.From, e.Part, -1})).Gradient:
		return []fdg.Operator{fdg.Send, fdg.Gather, fdg.AllReduce}
	case e.Axis == fdg.None:
		return []fdg.Operator{fdg.Send, fdg.Broadcast}
	}
	return []fdg.Operator{fdg.Send, fdg.Scatter, fdg.Gather, fdg.AllGather}
}
