package fdg

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Print writes the graph as text: the structure with every dependence beside the
// node that has it, the resources, and what crosses between fragments. It is
// meant to be read, and to be compared line by line.
func (g *Graph) Print(w io.Writer) error {
	b := bufio.NewWriter(w)
	p := printer{g: g, w: b, edges: map[int][]Edge{}}
	for _, e := range g.Edges {
		p.edges[e.To] = append(p.edges[e.To], e)
	}
	p.line(0, "graph %s %s %s", g.Name, g.Train, g.Pos)
	p.resources()
	p.line(0, "\nloop")
	p.region(0, 1)
	p.fragments()
	p.conditions()
	return b.Flush()
}

// String returns what Print writes.
func (g *Graph) String() string {
	var b strings.Builder
	_ = g.Print(&b) // a strings.Builder does not fail
	return b.String()
}

type printer struct {
	g     *Graph
	w     *bufio.Writer
	edges map[int][]Edge // edges, by the node that uses them
}

// line ignores errors: the buffered writer keeps the first one for Flush.
func (p *printer) line(depth int, format string, args ...any) {
	fmt.Fprintf(p.w, "%s%s\n", strings.Repeat("  ", depth), strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

func (p *printer) resources() {
	p.line(0, "\nresources")
	for _, r := range p.g.Resources {
		family := ""
		if r.Family {
			family = "family "
		}
		p.line(1, "%-14s %s%s %s, %s, %s at %s (%s)", r.Name, family, r.Kind, r.Type, r.Axis, r.Sharing, r.Home, r.Pos)
	}
}

func (p *printer) region(r, depth int) {
	for _, n := range p.g.Regions[r].Nodes {
		p.node(p.g.Nodes[n], depth)
	}
}

func (p *printer) node(n Node, depth int) {
	p.line(depth, "%s", p.head(n))
	for _, e := range p.edges[n.ID] {
		p.line(depth+2, "%s", p.edge(e))
	}
	if len(n.Writes) > 0 {
		p.line(depth+2, "writes %s", p.names(n.Writes))
	}
	for i, r := range n.Opens {
		if n.Kind == Branch && (i > 0 || len(n.Opens) > 1) {
			p.line(depth, "%s:", p.g.Regions[r].Label)
		}
		p.region(r, depth+1)
	}
}

func (p *printer) head(n Node) string {
	if n.Kind.Control() {
		return fmt.Sprintf("%d %s %s", n.ID, n.Text, n.At())
	}
	owner := n.Fragment
	if owner == "" {
		owner = "everywhere"
	}
	whole := ""
	if n.Whole {
		whole = " whole"
	}
	return fmt.Sprintf("%d %s%s [%s] %s %s %s", n.ID, n.Kind, whole, owner, n.Text, n.Shape, n.At())
}

// At says where a node stands, with the lines of the calls around it.
func (n Node) At() string {
	s := "(" + n.Pos.String()
	for i := len(n.Calls) - 1; i >= 0; i-- {
		s += fmt.Sprintf(" < %d", n.Calls[i].Line)
	}
	return s + ")"
}

func (p *printer) edge(e Edge) string {
	from := fmt.Sprint(e.From)
	if e.Part != "" {
		from += "." + e.Part
	}
	carried := ""
	if e.Carried >= 0 {
		carried = fmt.Sprintf(" carried by %d", e.Carried)
	}
	switch e.Kind {
	case OfResource:
		return fmt.Sprintf("reads %s from %s%s", p.g.Resources[e.Resource].Name, from, carried)
	case OfControl:
		return fmt.Sprintf("decided by %s%s", from, carried)
	}
	into := e.Into
	if into != "" {
		into += " "
	}
	return strings.TrimRight(fmt.Sprintf("<- %sfrom %s%s: %s %s", into, from, carried, e.Type, e.Shape), " ")
}

func (p *printer) names(list []int) string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = p.g.Resources[r].Name
	}
	return strings.Join(names, ", ")
}

func (p *printer) fragments() {
	p.line(0, "\nfragments")
	for _, f := range p.g.Fragments {
		impls := make([]string, len(f.Impls))
		for i, x := range f.Impls {
			impls[i] = string(x)
		}
		p.line(1, "%s (%s; %s): %s", f.Name, f.Group, strings.Join(impls, ", "), join(f.Nodes))
		if len(f.Resources) > 0 {
			p.line(2, "home of %s", p.names(f.Resources))
		}
		for _, x := range f.Exits {
			p.line(2, "%s", p.port(x))
		}
	}
}

func (p *printer) port(x Port) string {
	ops := make([]string, len(x.Operators))
	for i, o := range x.Operators {
		ops[i] = string(o)
	}
	wait := ""
	if !x.Blocking {
		wait = ", never waits"
	}
	return fmt.Sprintf("-> %s: %s %s %s, %s, each %s, by %s%s", x.Peer, x.Kind, x.Name, x.Type, x.Axis, p.g.Often(x.Freq), strings.Join(ops, " or "), wait)
}

func (p *printer) conditions() {
	if len(p.g.Conditions) == 0 {
		return
	}
	p.line(0, "\nconditions")
	for _, c := range p.g.Conditions {
		p.line(1, "%d is decided by %s and followed by %s, each %s", c.Node, c.Owner, strings.Join(c.Readers, ", "), p.g.Often(c.Freq))
	}
}

func join(list []int) string { return strings.Trim(fmt.Sprint(list), "[]") }
