package analyze

import (
	"cmp"
	"fmt"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// The fragments of the default cut. The learner is two: distribution cuts between
// the gradient and its application.
const (
	environment = "environment"
	actor       = "actor"
	replay      = "replay"
	gradient    = "gradient"
	apply       = "apply"
)

// order is that in which the default fragments are listed.
var order = []string{environment, actor, replay, gradient, apply}

// groupOf is the role of a default fragment.
func groupOf(fragment string) string {
	if fragment == gradient || fragment == apply {
		return "learner"
	}
	return fragment
}

// partition gives every node an owner and every resource a home.
type partition struct {
	x   *interp
	g   *fdg.Graph
	b   *builder
	in  [][]fdg.Edge // value edges, by who uses them
	def []string     // the owners that the default cut would give
}

func (p *partition) run() {
	p.in = make([][]fdg.Edge, len(p.g.Nodes))
	for _, e := range p.g.Edges {
		if e.Kind == fdg.OfValue {
			p.in[e.To] = append(p.in[e.To], e)
		}
	}
	for i := range p.g.Nodes {
		p.g.Nodes[i].Freq = p.g.FreqOf(i)
	}
	p.shapes()
	p.homes()
	p.owners()
	p.edges()
	p.fragments()
	p.conditions()
	p.check()
}

// rank orders shapes by how much of a run they hold.
var rank = map[string]int{"": 0, oneShape: 1, envShape: 2, timeShape: 3, rowsShape: 4}

var axisOfShape = map[string]fdg.Axis{envShape: fdg.Environments, timeShape: fdg.Environments, rowsShape: fdg.Rows}

var shapeOfAxis = map[fdg.Axis]string{fdg.Environments: envShape, fdg.Rows: rowsShape, fdg.None: oneShape, fdg.Agents: envShape, fdg.Members: envShape}

// shapes finds the shape of every result: declared, or the largest that went in.
func (p *partition) shapes() {
	for changed := true; changed; {
		changed = false
		for i := range p.g.Nodes {
			n := &p.g.Nodes[i]
			if s := p.shape(i); rank[s] > rank[n.Shape] {
				n.Shape, changed = s, true
			}
		}
	}
	for i := range p.g.Nodes {
		n := &p.g.Nodes[i]
		n.Axis = cmp.Or(p.b.extra[i].axis, axisOfShape[n.Shape], fdg.None)
		n.Impl = implOf(*n, p.b.extra[i])
	}
}

func (p *partition) shape(i int) string {
	e := p.b.extra[i]
	switch {
	case e.shape != "":
		return e.shape
	case e.axis != "":
		return shapeOfAxis[e.axis]
	case p.g.Nodes[i].Kind == fdg.Op && e.result != nil && holdsBatch(e.result):
		return p.opShape(i)
	case e.result == nil || !holdsBatch(e.result) && !e.taint:
		return ""
	}
	best := ""
	for _, in := range p.in[i] {
		if s := p.partShape(in); rank[s] > rank[best] {
			best = s
		}
	}
	return best
}

// opShape: what an author's component returns has the axis of its state; what
// is read out of one that has none is rows of a batch.
func (p *partition) opShape(i int) string {
	for _, r := range p.g.Nodes[i].Reads {
		if p.b.owners[r].kind == componentObject && p.g.Resources[r].Axis != fdg.None {
			return shapeOfAxis[p.g.Resources[r].Axis]
		}
	}
	return rowsShape
}

// partShape is the shape of what an edge carries.
func (p *partition) partShape(e fdg.Edge) string {
	t := p.b.partType(def{e.From, e.Part, -1})
	if t == nil || holdsBatch(t) && !isNamed(t, "rl", "Grads") || p.b.extra[e.From].taint {
		return p.g.Nodes[e.From].Shape
	}
	return ""
}

func implOf(n fdg.Node, e extra) fdg.Impl {
	switch n.Kind {
	case fdg.Call, fdg.Gradient, fdg.Apply, fdg.Blend, fdg.Update:
		return fdg.GraphFn
	case fdg.Batch:
		if !e.taint {
			return fdg.GraphFn
		}
	}
	if n.Kind.Control() {
		return ""
	}
	return fdg.Host
}

// homes decides where resources live: where their kind does by default, unless
// directives put everything that writes them elsewhere.
func (p *partition) homes() {
	for r := range p.g.Resources {
		res, o := &p.g.Resources[r], p.b.owners[r]
		if o.kind == componentObject {
			res.Home = p.componentHome(o, *res)
		}
		pins := map[string]bool{}
		for i, n := range p.g.Nodes {
			if slices.Contains(n.Writes, r) || res.Sharing == fdg.Pinned && slices.Contains(n.Reads, r) {
				pins[p.b.extra[i].pin] = true
			}
		}
		if len(pins) == 1 && !pins[""] {
			for pin := range pins {
				res.Home = pin
			}
		}
	}
}

// componentHome: an author's component lives where its type says, else with the
// actor if it has a part for each environment, else with the learner.
func (p *partition) componentHome(o *object, res fdg.Resource) string {
	if n := namedOf(o.typ); n != nil {
		if u := p.x.p.units[n.Obj().Pkg()]; u != nil {
			if m := u.marks.types[n.Obj()]; m != nil && m.fragment != "" {
				return m.fragment
			}
		}
	}
	if res.Axis == fdg.Environments {
		return actor
	}
	return apply
}

// owners gives nodes to fragments: by directive, by the home of what they write,
// by what kind of operation they are, and else by what they use.
func (p *partition) owners() {
	p.def = make([]string, len(p.g.Nodes))
	for i, n := range p.g.Nodes {
		p.def[i] = p.byKind(n)
		p.g.Nodes[i].Fragment = p.pinned(i)
	}
	for changed := true; changed; {
		changed = false
		for i := range p.g.Nodes {
			n := &p.g.Nodes[i]
			if n.Fragment == "" && !n.Kind.Control() {
				if owner := p.byInputs(i); owner != "" {
					n.Fragment, changed = owner, true
				}
			}
		}
	}
	for i := range p.g.Nodes { // a record of what everybody knows is made once
		if n := &p.g.Nodes[i]; n.Kind == fdg.Log && n.Fragment == "" {
			n.Fragment = apply
		}
	}
}

// pinned is the owner of a node that does not depend on other nodes' owners.
func (p *partition) pinned(i int) string {
	n, pin := p.g.Nodes[i], p.b.extra[i].pin
	home := p.homeOf(n)
	if pin == "" || n.Kind.Control() {
		return cmp.Or(home, p.def[i])
	}
	if home != "" && home != pin {
		p.x.note(i, "fragment", fmt.Sprintf("this is to be part of fragment %s, but it writes or reads what lives at %s", pin, home),
			"mark everything that uses the component, or none of it", false)
		return home
	}
	return pin
}

// homeOf is where the state lives that a node must be at.
func (p *partition) homeOf(n fdg.Node) string {
	for _, r := range n.Writes {
		return p.g.Resources[r].Home
	}
	for _, r := range n.Reads {
		if p.g.Resources[r].Sharing == fdg.Pinned || n.Kind == fdg.Read {
			return p.g.Resources[r].Home
		}
	}
	return ""
}

func (p *partition) byKind(n fdg.Node) string {
	switch n.Kind {
	case fdg.Gradient:
		return gradient
	case fdg.Call:
		if rank[n.Shape] >= rank[timeShape] {
			return gradient
		}
		return actor
	}
	return ""
}

// byInputs: who owns what a node uses computes it; of several, who made the
// first batch. What comes out of a store is the learner's, and so is what needs
// all rows at once.
func (p *partition) byInputs(i int) string {
	n := p.g.Nodes[i]
	owner, first, large := "", len(p.g.Nodes), ""
	for _, e := range p.in[i] {
		from := p.g.Nodes[e.From]
		if from.Fragment == "" {
			continue
		}
		s := p.partShape(e)
		if rank[s] > rank[large] {
			large = s
		}
		batch := rank[s] > rank[oneShape]
		at := e.From
		if !batch {
			at += len(p.g.Nodes) // numbers count only where there is no batch
		}
		if owner == "" || at < first {
			owner, first = from.Fragment, at
		}
	}
	switch {
	case owner == "":
		return ""
	case rank[large] >= rank[timeShape] && owner == replay:
		return gradient
	case n.Whole && large == envShape && (owner == environment || owner == actor) && !p.b.extra[i].helper:
		return gradient
	}
	return owner
}

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
				took[groupOf(kinds[p.b.owners[r].kind].Home)] = true
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
		Operators: operators(e), Blocking: blocking,
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
func operators(e fdg.Edge) []fdg.Operator {
	switch {
	case e.Type == "rl.Grads":
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

// followers are the other fragments with something that a branch or loop
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
	case e.Kind == fdg.OfControl && (p.b.extra[e.From].taint || t != nil && isBatch(t)):
		p.x.note(e.To, "condition", "this condition depends on a batch, of which a fragment may have only some rows", "make it a number that all agree on: run.Value(rl.Mean(x))", false)
	case e.Kind == fdg.OfValue && p.g.Crosses(e) && t != nil:
		if _, several := t.(*types.Tuple); several {
			return
		}
		if why := carryable(t, p.x.p.main.pkg); why != "" {
			p.x.note(e.From, "carry", fmt.Sprintf("this goes from %s to %s, but is or holds %s", p.g.Nodes[e.From].Fragment, p.g.Nodes[e.To].Fragment, why), "pass tensors, numbers, strings, and structs and slices of them", false)
		}
	}
}

func (p *partition) checkNode(i int, n fdg.Node) {
	e := p.b.extra[i]
	switch {
	case n.Kind == fdg.Drain && !e.filled:
		p.x.note(i, "unwritten", "this is drained before anything was inserted in the iteration", "insert first", false)
	case e.helper && (n.Fragment == environment || n.Fragment == actor):
		p.x.note(i, "whole", "this function is given a batch of which a fragment may have only some rows, and may look at all of them", "mark it //weft:rows if each row of its result depends on the same row of its arguments alone, or compute in a graph function", false)
	case n.Kind == fdg.Batch && n.Whole && !e.taint && n.Fragment == gradient && p.envSized(i):
		p.x.note(i, "whole", fmt.Sprintf("%s needs all rows, so what it uses is gathered each %s", n.Op, p.g.Often(n.Freq)), "", true)
	case n.Kind == fdg.Get && !p.written(n.Reads):
		p.x.note(i, "unwritten", "these slots are read, but never set", "set them at the end of the iteration, or leave them out", false)
	}
}

func (p *partition) envSized(i int) bool {
	return slices.ContainsFunc(p.in[i], func(e fdg.Edge) bool { return p.partShape(e) == envShape })
}

func (p *partition) written(resources []int) bool {
	return slices.ContainsFunc(p.g.Nodes, func(n fdg.Node) bool {
		return slices.ContainsFunc(resources, func(r int) bool { return slices.Contains(n.Writes, r) })
	})
}
