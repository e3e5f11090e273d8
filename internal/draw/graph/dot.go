package graph

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// DOT writes a graph in Graphviz's language: loops and branches as boxes,
// fragments by colour, dependences on resources dashed, what another round
// sees in grey.
func DOT(w io.Writer, g *fdg.Graph) error {
	b := bufio.NewWriter(w)
	d := dotter{g: g, w: b, colour: map[string]string{}}
	for i, f := range g.Fragments {
		d.colour[f.Name] = palette[i%len(palette)]
	}
	fmt.Fprintf(b, "digraph %s {\n", strconv.Quote(g.Name))
	fmt.Fprintln(b, `  compound=true; node [shape=box, style="rounded,filled", fillcolor="#eeeeee", fontname="sans-serif"];`)
	d.region(0, 1)
	for _, e := range g.Edges {
		d.edge(e)
	}
	d.legend()
	fmt.Fprintln(b, "}")
	return b.Flush()
}

// palette is light enough for black text on it.
var palette = []string{"#a6cee3", "#b2df8a", "#fdbf6f", "#cab2d6", "#fb9a99", "#ffff99", "#d9d9d9", "#ccebc5"}

type dotter struct {
	g      *fdg.Graph
	w      *bufio.Writer
	colour map[string]string
}

func (d *dotter) printf(depth int, format string, args ...any) {
	fmt.Fprintf(d.w, strings.Repeat("  ", depth)+format+"\n", args...)
}

func (d *dotter) region(r, depth int) {
	for _, id := range d.g.Regions[r].Nodes {
		n := d.g.Nodes[id]
		fill := ""
		if c, ok := d.colour[n.Fragment]; ok {
			fill = fmt.Sprintf(", fillcolor=%q", c)
		}
		shape := ""
		if n.Kind.Control() {
			shape = `, shape=diamond, style=""`
		}
		d.printf(depth, "n%d [label=%s%s%s];", n.ID, strconv.Quote(label(n)), fill, shape)
		for _, o := range n.Opens {
			d.printf(depth, "subgraph cluster_%d {", o)
			d.printf(depth+1, "label=%s; style=rounded; color=\"#888888\";", strconv.Quote(strings.TrimSpace(n.Text+" "+d.g.Regions[o].Label)))
			d.region(o, depth+1)
			d.printf(depth, "}")
		}
	}
}

func label(n fdg.Node) string { return fmt.Sprintf("%s\n%s", n.Text, n.Pos) }

func (d *dotter) edge(e fdg.Edge) {
	style, text := "solid", e.Part
	switch e.Kind {
	case fdg.OfResource:
		style, text = "dashed", d.g.Resources[e.Resource].Name
	case fdg.OfControl:
		style = "dotted"
	}
	if d.g.Crosses(e) {
		text = strings.TrimSpace(text + " " + d.g.Often(e.Freq))
	}
	colour := "black"
	if e.Carried >= 0 {
		colour = "#999999"
	}
	d.printf(1, "n%d -> n%d [style=%s, color=%q, label=%s];", e.From, e.To, style, colour, strconv.Quote(text))
}

func (d *dotter) legend() {
	for _, f := range d.g.Fragments {
		d.printf(1, "%s [label=%s, fillcolor=%q, shape=plain];", strconv.Quote("fragment "+f.Name), strconv.Quote(f.Name), d.colour[f.Name])
	}
}
