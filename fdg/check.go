package fdg

import (
	"errors"
	"fmt"
	"slices"
)

// Check finds in what a graph breaks the promises of this package.
// Whoever makes or changes graphs runs it in tests after every pass.
func (g *Graph) Check() error {
	c := &checker{g: g}
	// Each looks up numbers that the ones before it found to be right.
	for _, check := range []func(){c.version, c.regions, c.nodes, c.edges, c.resources, c.fragments, c.conditions} {
		if check(); len(c.errs) > 0 {
			break
		}
	}
	return errors.Join(c.errs...)
}

type checker struct {
	g    *Graph
	errs []error
}

func (c *checker) bad(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// want reports a problem unless ok.
func (c *checker) want(ok bool, format string, args ...any) {
	if !ok {
		c.bad(format, args...)
	}
}

func (c *checker) version() {
	c.want(c.g.Version == Version, "version %d, want %d", c.g.Version, Version)
	c.want(c.g.Name != "" && c.g.Train != "", "the graph names no package or no function")
}

// regions: the structure is a tree that holds every node once.
func (c *checker) regions() {
	g := c.g
	if len(g.Regions) == 0 || g.Regions[0].Node != -1 {
		c.bad("the first region must be the function's body")
		return
	}
	seen := make([]bool, len(g.Nodes))
	for i, r := range g.Regions {
		c.want(r.ID == i, "region %d has number %d", i, r.ID)
		if i > 0 {
			if !c.node(r.Node, "region %d", i) || !slices.Contains(g.Nodes[r.Node].Opens, i) {
				c.bad("region %d is not opened by node %d", i, r.Node)
			}
		}
		for _, n := range r.Nodes {
			if !c.node(n, "region %d", i) {
				continue
			}
			c.want(!seen[n], "node %d stands twice", n)
			c.want(g.Nodes[n].Region == i, "node %d stands in region %d but says %d", n, i, g.Nodes[n].Region)
			// A node is numbered after what encloses it, so there is no cycle.
			c.want(n > r.Node, "node %d stands inside node %d, which comes later", n, r.Node)
			seen[n] = true
		}
	}
	for n, ok := range seen {
		c.want(ok, "node %d stands in no region", n)
	}
}

func (c *checker) node(n int, format string, args ...any) bool {
	ok := n >= 0 && n < len(c.g.Nodes)
	c.want(ok, "%s: there is no node %d", fmt.Sprintf(format, args...), n)
	return ok
}

func (c *checker) nodes() {
	g := c.g
	for i, n := range g.Nodes {
		c.want(n.ID == i, "node %d has number %d", i, n.ID)
		c.want(n.Kind != "" && n.Text != "", "node %d has no kind or no text", i)
		c.want(n.Pos.File != "" && n.Pos.Line > 0, "node %d has no position", i)
		c.want(n.Kind.Control() || len(n.Opens) == 0, "node %d is a %s and opens regions", i, n.Kind)
		c.want(!n.Kind.Control() || n.Fragment == "", "node %d is control flow and belongs to fragment %s", i, n.Fragment)
		switch n.Kind {
		case Next, Loop:
			c.want(len(n.Opens) == 1, "loop %d opens %d regions", i, len(n.Opens))
		case Branch:
			c.want(len(n.Opens) > 0, "branch %d has no arm", i)
		}
		for _, r := range n.Opens {
			if r <= 0 || r >= len(g.Regions) || g.Regions[r].Node != i {
				c.bad("node %d opens region %d, which is not its own", i, r)
			}
		}
		for _, r := range append(slices.Clone(n.Reads), n.Writes...) {
			c.want(r >= 0 && r < len(g.Resources), "node %d uses resource %d, which is not there", i, r)
		}
	}
	if len(c.errs) > 0 {
		return
	}
	for i := range g.Nodes {
		want := g.FreqOf(i)
		c.want(slices.Equal(want.Loops, g.Nodes[i].Freq.Loops) && want.Maybe == g.Nodes[i].Freq.Maybe,
			"node %d fires %v, but stands where it would fire %v", i, g.Nodes[i].Freq, want)
	}
}

func (c *checker) edges() {
	g := c.g
	for i, e := range g.Edges {
		c.want(e.ID == i, "edge %d has number %d", i, e.ID)
		if !c.node(e.From, "edge %d", i) || !c.node(e.To, "edge %d", i) {
			continue
		}
		c.want(i == 0 || compareEdges(g.Edges[i-1], e) < 0, "edge %d is out of order or twice", i)
		c.carried(e)
		from, to := g.Nodes[e.From], g.Nodes[e.To]
		switch e.Kind {
		case OfResource:
			c.want(slices.Contains(from.Writes, e.Resource), "edge %d: node %d does not write resource %d", i, e.From, e.Resource)
			c.want(slices.Contains(to.Reads, e.Resource), "edge %d: node %d does not read resource %d", i, e.To, e.Resource)
		case OfValue:
			c.want(e.Resource == -1, "edge %d is a value and names resource %d", i, e.Resource)
			c.want(from.Kind != Log, "edge %d comes from a log", i)
		case OfControl:
			c.want(e.Resource == -1, "edge %d is a condition and names resource %d", i, e.Resource)
			c.want(to.Kind.Control(), "edge %d decides node %d, which is a %s", i, e.To, to.Kind)
		default:
			c.bad("edge %d has kind %q", i, e.Kind)
		}
	}
}

// carried: a dependence goes forward, or round a loop that holds both ends.
func (c *checker) carried(e Edge) {
	if e.Carried < 0 {
		c.want(e.From < e.To, "edge %d goes back from node %d to %d and names no loop", e.ID, e.From, e.To)
		return
	}
	for _, n := range []int{e.From, e.To} {
		inside := n == e.Carried || slices.Contains(c.g.Nodes[n].Freq.Loops, e.Carried)
		c.want(inside, "edge %d is carried by loop %d, which does not hold node %d", e.ID, e.Carried, n)
	}
}

func (c *checker) resources() {
	for i, r := range c.g.Resources {
		c.want(r.ID == i, "resource %d has number %d", i, r.ID)
		c.want(r.Name != "" && r.Kind != "", "resource %d has no name or no kind", i)
		c.want(r.Sharing == Copyable || r.Sharing == Pinned, "resource %s is %q", r.Name, r.Sharing)
		f := c.g.Fragment(r.Home)
		c.want(f != nil && slices.Contains(f.Resources, i), "resource %s has its home at %q, which does not know it", r.Name, r.Home)
	}
	for i, n := range c.g.Nodes {
		for _, r := range n.Writes {
			c.want(c.g.Resources[r].Home == n.Fragment, "node %d writes %s, whose home is %s, in %q", i, c.g.Resources[r].Name, c.g.Resources[r].Home, n.Fragment)
		}
		for _, r := range n.Reads {
			x := c.g.Resources[r]
			c.want(x.Sharing == Copyable || x.Home == n.Fragment, "node %d reads %s, which is pinned at %s, in %q", i, x.Name, x.Home, n.Fragment)
		}
	}
}

func (c *checker) fragments() {
	g := c.g
	owner := map[int]string{}
	for i, f := range g.Fragments {
		c.want(f.Name != "" && f.Group != "", "fragment %d has no name or no group", i)
		c.want(g.Fragment(f.Name) == &g.Fragments[i], "fragment %s is there twice", f.Name)
		c.want(slices.IsSorted(f.Nodes), "fragment %s lists its nodes out of order", f.Name)
		for _, n := range f.Nodes {
			if c.node(n, "fragment %s", f.Name) {
				c.want(g.Nodes[n].Fragment == f.Name, "node %d is listed by %s and says %q", n, f.Name, g.Nodes[n].Fragment)
				owner[n] = f.Name
			}
		}
		for _, r := range f.Resources {
			c.want(r >= 0 && r < len(g.Resources) && g.Resources[r].Home == f.Name, "fragment %s is not the home of resource %d", f.Name, r)
		}
	}
	for i, n := range g.Nodes {
		c.want(owner[i] == n.Fragment, "node %d belongs to %q, which does not list it", i, n.Fragment)
	}
	c.ports()
}

// ports: every edge between two fragments leaves one and enters the other, once.
func (c *checker) ports() {
	g := c.g
	out, in := map[int]int{}, map[int]int{}
	for _, f := range g.Fragments {
		for _, p := range f.Exits {
			c.port(f.Name, p, out, func(e Edge) int { return e.From })
		}
		for _, p := range f.Entries {
			c.port(f.Name, p, in, func(e Edge) int { return e.To })
		}
	}
	for i, e := range g.Edges {
		want := 0
		if g.Crosses(e) {
			want = 1
		}
		c.want(out[i] == want && in[i] == want, "edge %d leaves by %d ports and enters by %d, want %d", i, out[i], in[i], want)
	}
}

func (c *checker) port(f string, p Port, count map[int]int, end func(Edge) int) {
	c.want(c.g.Fragment(p.Peer) != nil, "fragment %s has a port to %q", f, p.Peer)
	c.want(len(p.Operators) > 0 && len(p.Edges) > 0, "fragment %s has port %s without operators or edges", f, p.Name)
	for _, e := range p.Edges {
		if e < 0 || e >= len(c.g.Edges) {
			c.bad("fragment %s has port %s with edge %d", f, p.Name, e)
			continue
		}
		count[e]++
		c.want(c.g.Nodes[end(c.g.Edges[e])].Fragment == f, "edge %d does not end at fragment %s", e, f)
	}
}

func (c *checker) conditions() {
	for _, x := range c.g.Conditions {
		if !c.node(x.Node, "condition") {
			continue
		}
		c.want(c.g.Nodes[x.Node].Kind.Control(), "condition %d is a %s", x.Node, c.g.Nodes[x.Node].Kind)
		c.want(c.g.Fragment(x.Owner) != nil, "condition %d is owned by %q", x.Node, x.Owner)
		c.want(len(x.Readers) > 0 && !slices.Contains(x.Readers, x.Owner), "condition %d does not cross", x.Node)
	}
}
