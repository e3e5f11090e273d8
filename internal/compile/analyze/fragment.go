package analyze

import (
	"cmp"
	"fmt"
	"go/types"
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
		e.Axis = p.axis(*e)
	}
}

// axis returns the axis along which the values of an edge are split.
func (p *partition) axis(e fdg.Edge) fdg.Axis {
	shape := p.partShape(e)
	if a := p.b.extra[e.From].axis; a != "" && shape != "" {
		return a
	}
	return cmp.Or(axisOfShape[shape], fdg.None)
}

// fragments lists the owners with what enters and leaves them.
func (p *partition) fragments() {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, n := range p.g.Nodes {
		add(n.Fragment)
	}
	for _, r := range p.g.Resources {
		add(r.Home)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(listed(a), listed(b)) })
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
		if n.Kind == fdg.Op || p.b.extra[n.ID].taint {
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

// group returns the role of a fragment. One that a directive names has the role of what
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

// operators returns what may carry an edge.
func (p *partition) operators(e fdg.Edge) []fdg.Operator {
	switch {
	case e.Kind == fdg.OfValue && p.x.p.typ(p.b.partType(def{e.From, e.Part, -1})).Gradient:
		return []fdg.Operator{fdg.Send, fdg.Gather, fdg.AllReduce}
	case e.Axis == fdg.None:
		return []fdg.Operator{fdg.Send, fdg.Broadcast}
	}
	return []fdg.Operator{fdg.Send, fdg.Scatter, fdg.Gather, fdg.AllGather}
}

// conditions finds the branches and loops that a fragment decides for others.
func (p *partition) conditions() {
	for _, e := range p.g.Edges {
		owner := p.g.Nodes[e.From].Fragment
		if e.Kind != fdg.OfControl || owner == "" || p.b.extra[e.From].taint {
			continue // check reports a condition on a batch
		}
		readers := p.followers(e.To, owner)
		if len(readers) == 0 || slices.ContainsFunc(p.g.Conditions, func(c fdg.Condition) bool { return c.Node == e.To && c.Owner == owner }) {
			continue
		}
		c := fdg.Condition{Node: e.To, Owner: owner, Readers: readers, Freq: p.g.Nodes[e.To].Freq}
		p.g.Conditions = append(p.g.Conditions, c)
		p.x.note(e.To, "condition", fmt.Sprintf("%s is decided by %s and followed by %s: a message each %s", p.g.Nodes[e.To].Text, owner, strings.Join(readers, ", "), p.g.Often(c.Freq)), "", true)
	}
}

// followers returns the other fragments with something that a branch or loop
// decides: what is inside, and, where it leaves a loop, all of that loop.
func (p *partition) followers(node int, owner string) (out []string) {
	inside := func(n, in int) bool {
		for up := n; up >= 0; up = p.g.Regions[p.g.Nodes[up].Region].Node {
			if up == in {
				return true
			}
		}
		return false
	}
	roots := []int{node}
	for i, n := range p.g.Nodes {
		if (n.Kind == fdg.Break || n.Kind == fdg.Continue || n.Kind == fdg.Return) && inside(i, node) && len(n.Freq.Loops) > 0 {
			at := len(n.Freq.Loops) - 1
			if n.Kind == fdg.Return {
				at = 0
			}
			roots = append(roots, n.Freq.Loops[at])
		}
	}
	for _, name := range p.g.Fragments {
		if name.Name == owner {
			continue
		}
		if slices.ContainsFunc(name.Nodes, func(n int) bool {
			return slices.ContainsFunc(roots, func(r int) bool { return inside(n, r) })
		}) {
			out = append(out, name.Name)
		}
	}
	return out
}

// note reports something about a node.
func (x *interp) note(i int, code, message, instead string, note bool) {
	e := x.b.extra[i]
	f := Finding{at: e.pos, Code: code, Message: message, Instead: instead, Note: note}
	for _, c := range e.calls {
		f.Calls = append(f.Calls, x.p.fset.Position(c))
	}
	x.out.add(f)
}

// check reports what only the whole graph shows.
func (p *partition) check() {
	for _, e := range p.g.Edges {
		p.checkEdge(e)
	}
	for i, n := range p.g.Nodes {
		p.checkNode(i, n)
	}
}

func (p *partition) checkEdge(e fdg.Edge) {
	t := p.b.partType(def{e.From, e.Part, -1})
	switch {
	case e.Kind == fdg.OfControl && (p.b.extra[e.From].taint || t != nil && p.x.p.isBatch(t)):
		p.x.note(e.To, "condition", "this condition depends on a batch, of which a fragment may have only some rows", "make it a number that all agree on: run.Value(rl.Mean(x))", false)
	case e.Kind == fdg.OfValue && p.g.Crosses(e) && t != nil:
		if _, several := t.(*types.Tuple); several {
			return
		}
		if why := p.x.p.carryable(t); why != "" {
			p.x.note(e.From, "carry", fmt.Sprintf("this goes from %s to %s, but is or holds %s", p.g.Nodes[e.From].Fragment, p.g.Nodes[e.To].Fragment, why), "pass tensors, numbers, strings, and structs and slices of them", false)
		}
	}
}

func (p *partition) checkNode(i int, n fdg.Node) {
	e := p.b.extra[i]
	homes := p.homesOf(n)
	switch {
	case len(homes) > 1:
		p.x.note(i, "component", fmt.Sprintf("this operation uses, or may use, components that live at %s", strings.Join(homes, " and ")), "give each a call of its own, or one fragment to all of them", false)
	case n.Kind == fdg.Drain && !e.filled && len(n.Writes) > 0:
		p.x.note(i, "unwritten", "this is drained before anything was inserted in the iteration", "insert first", false)
	case n.Kind == fdg.Op && n.Whole && e.axis == "" && e.result != nil && p.x.p.isBatch(e.result) && p.envSized(i):
		p.x.note(i, "axis", fmt.Sprintf("%s is given rows of environments and returns a batch, of which it does not say whether it has the same rows", n.Op), "write //weft:axis environments, or rows, above the method", false)
	case e.helper && (n.Fragment == environment || n.Fragment == actor):
		p.x.note(i, "whole", "this function is given a batch of which a fragment may have only some rows, and may look at all of them", "mark it //weft:rows if each row of its result depends on the same row of its arguments alone, or compute in a graph function", false)
	case n.Kind == fdg.Batch && n.Whole && !e.taint && n.Fragment == gradient && p.envSized(i):
		p.x.note(i, "whole", fmt.Sprintf("%s needs all rows, so what it uses is gathered each %s", n.Op, p.g.Often(n.Freq)), "", true)
	case n.Kind == fdg.Get && !p.written(n.Reads):
		p.x.note(i, "unwritten", "these slots are read, but never set", "set them at the end of the iteration, or leave them out", false)
	}
}

// homesOf returns the fragments that a node must be at, which is one.
func (p *partition) homesOf(n fdg.Node) (out []string) {
	for r, res := range p.g.Resources {
		if slices.Contains(n.Writes, r) || res.Sharing == fdg.Pinned && slices.Contains(n.Reads, r) {
			out = append(out, res.Home)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (p *partition) envSized(i int) bool {
	return slices.ContainsFunc(p.in[i], func(e fdg.Edge) bool { return p.partShape(e) == envShape })
}

func (p *partition) written(resources []int) bool {
	return slices.ContainsFunc(p.g.Nodes, func(n fdg.Node) bool {
		return slices.ContainsFunc(resources, func(r int) bool { return slices.Contains(n.Writes, r) })
	})
}
