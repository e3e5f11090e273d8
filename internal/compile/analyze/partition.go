package analyze

import (
	"cmp"
	"fmt"
	"slices"

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

// listed returns a fragment's place in that order, behind which all others follow.
func listed(fragment string) int {
	if i := slices.Index(order, fragment); i >= 0 {
		return i
	}
	return len(order)
}

// groupOf returns the role of a default fragment.
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
	case p.g.Nodes[i].Kind == fdg.Op && e.result != nil && p.x.p.isBatch(e.result):
		return p.opShape(i)
	case e.result == nil || !p.x.p.isBatch(e.result) && !e.taint:
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
// is read out of one that has none is rows of a batch. checkNode refuses one that is
// given rows of environments and returns rows that may be either.
func (p *partition) opShape(i int) string {
	for _, r := range p.g.Nodes[i].Reads {
		if p.b.owners[r].kind == componentObject && p.g.Resources[r].Axis != fdg.None {
			return shapeOfAxis[p.g.Resources[r].Axis]
		}
	}
	return rowsShape
}

// partShape returns the shape of what an edge carries.
func (p *partition) partShape(e fdg.Edge) string {
	t := p.b.partType(def{e.From, e.Part, -1})
	if t == nil || p.x.p.isBatch(t) && !p.x.p.typ(t).Gradient || p.b.extra[e.From].taint {
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
		if pin := p.x.p.mark(n.Obj())["fragment"]; pin != "" {
			return pin
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

// pinned returns the owner of a node that does not depend on other nodes' owners.
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

// homeOf returns where the state lives that a node must be at.
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
