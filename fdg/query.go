package fdg

import (
	"cmp"
	"slices"
	"strings"
)

// Fragment returns the fragment of that name, or nil.
func (g *Graph) Fragment(name string) *Fragment {
	for i := range g.Fragments {
		if g.Fragments[i].Name == name {
			return &g.Fragments[i]
		}
	}
	return nil
}

// Crosses reports whether an edge lies between two fragments.
func (g *Graph) Crosses(e Edge) bool {
	from, to := g.Nodes[e.From].Fragment, g.Nodes[e.To].Fragment
	return from != "" && to != "" && from != to
}

// FreqOf returns how often node n fires, from where it stands.
func (g *Graph) FreqOf(n int) (f Freq) {
	for up := g.Regions[g.Nodes[n].Region].Node; up >= 0; up = g.Regions[g.Nodes[up].Region].Node {
		if g.Nodes[up].Kind == Branch {
			f.Maybe = true
		} else {
			f.Loops = append(f.Loops, up)
		}
	}
	slices.Reverse(f.Loops)
	return f
}

// Common returns how often something travels from a place that fires as a does to one
// that fires as b does: it is moved out of every loop that does not hold both.
func Common(a, b Freq) (f Freq) {
	n := 0
	for n < len(a.Loops) && n < len(b.Loops) && a.Loops[n] == b.Loops[n] {
		n++
	}
	return Freq{Loops: slices.Clip(a.Loops[:n:n]), Maybe: a.Maybe || b.Maybe}
}

// Often returns a frequency in words: the loops' texts, outermost first.
func (g *Graph) Often(f Freq) string {
	parts := make([]string, 0, len(f.Loops))
	for _, l := range f.Loops {
		if g.Nodes[l].Kind == Next {
			parts = append(parts, "iteration")
		} else {
			parts = append(parts, g.Nodes[l].Name)
		}
	}
	s := strings.Join(parts, " x ")
	if s == "" {
		s = "run"
	}
	if f.Maybe {
		s += " ?"
	}
	return s
}

// SortEdges puts edges into their order, drops those that are there twice and
// numbers them.
func (g *Graph) SortEdges() {
	slices.SortFunc(g.Edges, compareEdges)
	g.Edges = slices.CompactFunc(g.Edges, func(a, b Edge) bool { return compareEdges(a, b) == 0 })
	for i := range g.Edges {
		g.Edges[i].ID = i
	}
}

// compareEdges orders edges by who uses what.
func compareEdges(a, b Edge) int {
	return cmp.Or(
		cmp.Compare(a.To, b.To), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Into, b.Into), cmp.Compare(a.Resource, b.Resource),
		cmp.Compare(a.From, b.From), cmp.Compare(a.Part, b.Part), cmp.Compare(a.Carried, b.Carried),
	)
}

// Shape returns the graph without names, texts and positions, its edges and ports in an
// order that does not depend on them: what stays the same when an author renames
// things or moves code into a helper. It is for comparing, not for use: equal
// edges share a number.
func (g *Graph) Shape() *Graph {
	s := *g
	s.Name, s.Train, s.Pos = "-", "-", Pos{}
	s.Nodes = slices.Clone(g.Nodes)
	for i := range s.Nodes {
		n := &s.Nodes[i]
		n.Name, n.Text, n.Pos, n.Calls = "", "", Pos{}, nil
		if n.Kind == Op {
			n.Op = "" // an author's name
		}
	}
	s.Regions = slices.Clone(g.Regions)
	for i := range s.Regions {
		s.Regions[i].Label = ""
	}
	s.Resources = slices.Clone(g.Resources)
	for i := range s.Resources {
		s.Resources[i].Name, s.Resources[i].Type, s.Resources[i].Pos = "", "", Pos{}
	}
	class := s.shapeEdges()
	s.Fragments = slices.Clone(g.Fragments)
	for i := range s.Fragments {
		f := &s.Fragments[i]
		f.Entries, f.Exits = shapePorts(f.Entries, class), shapePorts(f.Exits, class)
	}
	return &s
}

// shapeEdges orders edges without names, and says which number each one had.
func (g *Graph) shapeEdges() map[int]int {
	edges := slices.Clone(g.Edges)
	for i := range edges {
		e := &edges[i]
		e.Part, e.Into, e.Type = strings.Repeat(".", strings.Count(e.Part, ".")), "", ""
	}
	slices.SortStableFunc(edges, compareEdges)
	class := map[int]int{}
	for i := range edges {
		now := i
		if i > 0 && compareEdges(edges[i-1], edges[i]) == 0 {
			now = edges[i-1].ID
		}
		class[edges[i].ID] = now
		edges[i].ID = now
	}
	g.Edges = edges
	return class
}

func shapePorts(ports []Port, class map[int]int) []Port {
	out := slices.Clone(ports)
	for i := range out {
		p := &out[i]
		p.Name, p.Type, p.Edges = "", "", slices.Clone(p.Edges)
		for j, e := range p.Edges {
			p.Edges[j] = class[e]
		}
		slices.Sort(p.Edges)
	}
	slices.SortStableFunc(out, func(a, b Port) int {
		return cmp.Or(strings.Compare(a.Peer, b.Peer), cmp.Compare(a.Kind, b.Kind), slices.Compare(a.Edges, b.Edges))
	})
	return out
}
