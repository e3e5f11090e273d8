package fdg

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// packed is a graph as programs carry it. Its places are relative to the beginnings of the
// functions that they are in: File is the number of a beginning, or, outside of all of them, a
// file's name. So a comment above a function changes one line of the text.
type packed struct {
	Starts []string `json:"starts"` // file:line
	Graph
}

// Pack returns the graph as a text for programs to carry, with a line for each of its elements.
// Starts are the beginnings of the functions of its package.
func (g *Graph) Pack(starts []Pos) (string, error) {
	p := packed{Graph: *g.clone()}
	used := map[Pos]int{}
	p.places(func(x *Pos) {
		at := slices.IndexFunc(starts, func(s Pos) bool { return s.File == x.File && s.Line <= x.Line })
		for i := at + 1; at >= 0 && i < len(starts); i++ {
			if s := starts[i]; s.File == x.File && s.Line <= x.Line && s.Line > starts[at].Line {
				at = i
			}
		}
		if at < 0 {
			return
		}
		s := starts[at]
		if _, known := used[s]; !known {
			used[s] = len(p.Starts)
			p.Starts = append(p.Starts, s.String())
		}
		*x = Pos{File: strconv.Itoa(used[s]), Line: x.Line - s.Line, Col: x.Col}
	})
	return p.text()
}

// text writes JSON with a line for each element of a list. No text of it holds a backquote, so
// that Go source can quote it as it is.
func (p *packed) text() (string, error) {
	var b strings.Builder
	var failed error
	line := func(v any) {
		text, err := json.Marshal(v)
		if err != nil {
			failed = err
		}
		b.WriteString(strings.ReplaceAll(string(text), "`", `\u0060`))
	}
	list := func(name string, n int, element func(i int) any) {
		fmt.Fprintf(&b, ",\n%q:[", name)
		for i := range n {
			if i > 0 {
				b.WriteString(",")
			}
			b.WriteString("\n")
			line(element(i))
		}
		b.WriteString("]")
	}
	fmt.Fprintf(&b, "{%q:%d,%q:%q,%q:%q,\n%q:", "version", p.Version, "name", p.Name, "train", p.Train, "starts")
	line(p.Starts)
	fmt.Fprintf(&b, ",\n%q:", "pos")
	line(p.Pos)
	list("regions", len(p.Regions), func(i int) any { return p.Regions[i] })
	list("nodes", len(p.Nodes), func(i int) any { return p.Nodes[i] })
	list("edges", len(p.Edges), func(i int) any { return p.Edges[i] })
	list("resources", len(p.Resources), func(i int) any { return p.Resources[i] })
	list("fragments", len(p.Fragments), func(i int) any { return p.Fragments[i] })
	list("conditions", len(p.Conditions), func(i int) any { return p.Conditions[i] })
	b.WriteString("}\n")
	return b.String(), failed
}

// Unpack reads what Pack wrote, and checks it as ReadJSON does.
func Unpack(text string) (*Graph, error) {
	var p packed
	if err := decode(strings.NewReader(text), &p, func() int { return p.Version }); err != nil {
		return nil, err
	}
	var wrong error
	p.places(func(x *Pos) {
		i, err := strconv.Atoi(x.File)
		if err != nil { // a file's name
			return
		}
		if i < 0 || i >= len(p.Starts) {
			wrong = fmt.Errorf("graph %s: a place is in function %d of %d", p.Name, i, len(p.Starts))
			return
		}
		file, line, _ := strings.Cut(p.Starts[i], ":")
		first, err := strconv.Atoi(line)
		if err != nil {
			wrong = fmt.Errorf("graph %s: function %d begins at %q, which is no file:line", p.Name, i, p.Starts[i])
		}
		x.File, x.Line = file, x.Line+first
	})
	if wrong != nil {
		return nil, wrong
	}
	return p.checked()
}

// places visits all places in the source that the graph names.
func (g *Graph) places(f func(*Pos)) {
	f(&g.Pos)
	for i := range g.Nodes {
		f(&g.Nodes[i].Pos)
		for j := range g.Nodes[i].Calls {
			f(&g.Nodes[i].Calls[j])
		}
	}
	for i := range g.Resources {
		f(&g.Resources[i].Pos)
	}
}

// clone copies all that places visits.
func (g *Graph) clone() *Graph {
	out := *g
	out.Nodes, out.Resources = slices.Clone(g.Nodes), slices.Clone(g.Resources)
	for i := range out.Nodes {
		out.Nodes[i].Calls = slices.Clone(out.Nodes[i].Calls)
	}
	return &out
}
