package plan

import (
	"cmp"
	"slices"

	"github.com/weft-rl/weft/fdg"
)

// Crossing lists what has to travel when a graph is taken apart by a grouping:
// between groups, and between the replicas of a group.
func Crossing(g *fdg.Graph, by Grouping) []Edge {
	c := crossing{g: g, by: by, at: map[crossKey]int{}}
	for _, e := range g.Edges {
		c.edge(e)
	}
	slices.SortStableFunc(c.out, func(a, b Edge) int {
		return cmp.Or(cmp.Compare(c.order(a.From), c.order(b.From)), cmp.Compare(c.order(a.To), c.order(b.To)), cmp.Compare(a.Nodes[0], b.Nodes[0]))
	})
	return c.out
}

type crossing struct {
	g   *fdg.Graph
	by  Grouping
	at  map[crossKey]int
	out []Edge
	// sure are those of out that travel whatever a branch decides.
	sure []bool
}

// crossKey is what travels as one: a resource, or the result of a node.
type crossKey struct {
	from, to string
	resource int
	node     int
}

func (c *crossing) order(group string) int {
	return slices.IndexFunc(c.by.Groups, func(x Group) bool { return x.Name == group })
}

func (c *crossing) edge(e fdg.Edge) {
	a, b := c.g.Nodes[e.From], c.g.Nodes[e.To]
	from, to := c.by.Of(a.Fragment), c.by.Of(b.Fragment)
	if from == "" || to == "" {
		return
	}
	op, crosses := c.operator(e, from, to)
	if !crosses {
		return
	}
	k := crossKey{from, to, e.Resource, e.From}
	name := cmp.Or(a.Name, e.Part, a.Text)
	if e.Kind == fdg.OfResource {
		k.node, name = -1, c.g.Resources[e.Resource].Name
	}
	i, known := c.at[k]
	if !known {
		i = len(c.out)
		c.at[k] = i
		c.out = append(c.out, Edge{
			From: from, To: to, Name: name, Operator: op, Type: e.Type, Axis: e.Axis,
			Often: c.g.Often(e.Freq), Blocking: b.Kind != fdg.Log,
		})
		c.sure = append(c.sure, !e.Freq.Maybe)
	}
	x := &c.out[i]
	if !c.sure[i] && !e.Freq.Maybe {
		x.Often, c.sure[i] = c.g.Often(e.Freq), true
	}
	x.Blocking = x.Blocking || b.Kind != fdg.Log
	if !slices.Contains(x.Nodes, e.From) {
		x.Nodes = append(x.Nodes, e.From)
	}
}

// operator is what carries an edge of the graph, if it has to travel at all.
func (c *crossing) operator(e fdg.Edge, from, to string) (fdg.Operator, bool) {
	many, other := c.by.Group(from).Over, c.by.Group(to).Over
	a, b := c.g.Nodes[e.From], c.g.Nodes[e.To]
	split := e.Axis != fdg.None && e.Axis != ""
	switch {
	case e.Kind == fdg.OfResource:
		pinned := c.g.Resources[e.Resource].Sharing == fdg.Pinned
		return fdg.Broadcast, from != to && !pinned
	case from == to && many == fdg.None:
		return "", false
	case from == to && b.Kind == fdg.Apply && a.Kind == fdg.Gradient:
		return fdg.AllReduce, true
	case from == to:
		return fdg.AllGather, split && b.Whole && b.Shards != "own"
	case many != fdg.None && b.Kind == fdg.Apply && a.Kind == fdg.Gradient:
		return fdg.Gather, true
	case many != fdg.None && other == fdg.None && split:
		return fdg.Gather, true
	case many == fdg.None && other != fdg.None && split:
		return fdg.Scatter, true
	case other != fdg.None:
		return fdg.Broadcast, true
	}
	return fdg.Send, true
}
