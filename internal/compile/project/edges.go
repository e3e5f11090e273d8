package project

import (
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
)

// edgeRow is an edge of a grouping with its name in the generated file.
type edgeRow struct {
	edge.Edge
	id    int
	ident string
	v     *variable
	part  *part // what of it is carried, as one value
	path  string
	to    int
	from  int
	point stmt
}

// edges lists what crosses, in program order; every program refers to this list.
func (f *flow) edges(prefix string) (rows []*edgeRow) {
	f.listEdges(f.tree, &rows)
	taken := map[string]bool{}
	for i, r := range rows {
		r.id, r.ident = i, f.edgeName(prefix, r.Name, taken)
	}
	return rows
}

func (f *flow) listEdges(b block, rows *[]*edgeRow) {
	for _, s := range b {
		switch s := s.(type) {
		case *action:
			*rows = append(*rows, f.collectives(s)...)
		case *branch:
			for _, a := range s.arms {
				f.listEdges(a.block, rows)
			}
		case *loop:
			f.listEdges(s.body, rows)
		}
		*rows = append(*rows, f.crossing(s)...)
	}
}

// edgeName is an identifier for a constant.
func (f *flow) edgeName(prefix, name string, taken map[string]bool) string {
	var b strings.Builder
	up := true
	for _, r := range name {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		b.WriteRune(r)
		up = false
	}
	base := prefix + b.String()
	id := base
	for n := 2; taken[id] || f.src.Pkg.Scope().Lookup(id) != nil; n++ {
		id = fmt.Sprint(base, n)
	}
	taken[id] = true
	f.used[id] = true
	return id
}

// crossing are the edges behind a statement, in the order in which both ends use
// them.
func (f *flow) crossing(s stmt) (out []*edgeRow) {
	for g := range f.groups {
		l := f.sent[s][g]
		for _, v := range l.sorted() {
			from := f.sender(s, v)
			if v.resource >= 0 {
				out = append(out, f.copied(s, v, from, g))
				continue
			}
			if f.complete(s, g, v, l[v]) {
				out = append(out, f.value(s, v, l[v], "", from, g))
				continue
			}
			for _, path := range l[v].paths() {
				out = append(out, f.value(s, v, whole, path, from, g))
			}
		}
	}
	return out
}

func (f *flow) sender(s stmt, v *variable) int {
	if a, ok := s.(*action); ok {
		return a.owner
	}
	return f.from[s][v]
}

// complete reports whether what a group receives of a variable is all that it
// has of it, so that it comes as one value.
func (f *flow) complete(s stmt, g int, v *variable, p *part) bool {
	for _, d := range f.defines(s, v) {
		if d == "" {
			return true
		}
	}
	return p.all
}

// defines are the paths at which a statement gives a variable a value.
func (f *flow) defines(s stmt, v *variable) (out []string) {
	a, ok := s.(*action)
	if !ok {
		return nil
	}
	for _, d := range a.defs {
		if d.v == v && !d.weak {
			out = append(out, d.path)
		}
	}
	return out
}

func (f *flow) copied(s stmt, v *variable, from, to int) *edgeRow {
	res := f.g.Resources[v.resource]
	r := &edgeRow{v: v, from: from, to: to, point: s}
	r.Edge = edge.Edge{Name: res.Name, Kind: edge.Copies, From: f.groups[from].Name, To: f.groups[to].Name, Type: res.Type, Node: f.writer(s, v.resource)}
	r.Pos = f.g.Nodes[r.Node].Pos.String()
	return r
}

// writer is the last node in a statement that writes a resource.
func (f *flow) writer(s stmt, resource int) (id int) {
	block{s}.walk(func(s stmt) bool {
		if a, ok := s.(*action); ok {
			for _, n := range a.nodes {
				if slices.Contains(f.g.Nodes[n].Writes, resource) {
					id = n
				}
			}
		}
		return true
	})
	return id
}

func (f *flow) value(s stmt, v *variable, p *part, path string, from, to int) *edgeRow {
	r := &edgeRow{v: v, part: p, path: path, from: from, to: to, point: s}
	t := typeAt(v.typ, path)
	r.Edge = edge.Edge{
		Name: strings.TrimSuffix(v.name+"."+path, "."), From: f.groups[from].Name, To: f.groups[to].Name,
		Type: types.TypeString(t, func(p *types.Package) string { return p.Name() }),
	}
	origins := f.carried(s, v, p, path)
	axis := fdg.None
	for _, o := range origins {
		if a := f.src.Axis(o); a != fdg.None && axis == fdg.None {
			axis = a
		}
		r.Node = o.Node
	}
	r.Axis = string(axis)
	r.Pos = f.g.Nodes[r.Node].Pos.String()
	r.Kind = f.kind(s.at().pos, t, axis, from, to)
	r.Log, r.Given = f.logged(origins, to), f.given(origins, from, to)
	return r
}

// carried are the parts of nodes' results that cross.
func (f *flow) carried(s stmt, v *variable, p *part, path string) (out []analyze.Origin) {
	for _, sub := range p.paths() {
		out = append(out, f.origins(v, strings.Trim(path+"."+sub, "."), s.at().after)...)
	}
	return out
}

func isGrads(t types.Type) bool {
	return t != nil && strings.HasSuffix(types.TypeString(t, nil), "weft/rl.Grads")
}

// kind is how an edge carries.
func (f *flow) kind(pos token.Pos, t types.Type, axis fdg.Axis, from, to int) edge.Kind {
	switch {
	case isGrads(t) && !f.replicated(to):
		return edge.Reduces
	case f.replicated(from) && f.replicated(to):
		f.bad(pos, fmt.Sprintf("%s and %s are both replicated, and a value goes between them: let one of them be one, or make them one group", f.groups[from].Name, f.groups[to].Name))
		return edge.Sends
	case axis == fdg.None:
		return edge.Sends
	case f.replicated(from):
		return edge.Gathers
	case f.replicated(to):
		return edge.Scatters
	}
	return edge.Sends
}

// logged reports whether what crosses is only logged.
func (f *flow) logged(origins []analyze.Origin, to int) bool {
	found := false
	for _, e := range f.g.Edges {
		if g, ok := f.group[f.g.Nodes[e.To].Fragment]; ok && g == to || e.Kind == fdg.OfControl {
			for _, o := range origins {
				if e.From == o.Node && e.Kind != fdg.OfResource && overlap(e.Part, o.Part) {
					if f.g.Nodes[e.To].Kind != fdg.Log {
						return false
					}
					found = true
				}
			}
		}
	}
	return found
}

// given reports whether nobody holds what crosses behind its sending: fresh memory
// of which no other operation of the sender, and no other group, gets a part.
func (f *flow) given(origins []analyze.Origin, from, to int) bool {
	for _, o := range origins {
		if k := f.g.Nodes[o.Node].Kind; k != fdg.Drain && k != fdg.Gradient {
			return false
		}
		for _, e := range f.g.Edges {
			if e.From != o.Node || e.Kind == fdg.OfResource || !overlap(e.Part, o.Part) {
				continue
			}
			if g, ok := f.group[f.g.Nodes[e.To].Fragment]; !ok || g != to {
				return false
			}
		}
	}
	return len(origins) > 0
}

// collectives are the edges between the replicas of a group that an operation
// needs.
func (f *flow) collectives(a *action) (out []*edgeRow) {
	if a.owner == everywhere || a.fn == nil {
		return nil
	}
	row := func(name string, kind edge.Kind, id int, axis fdg.Axis) {
		g := f.groups[a.owner].Name
		r := &edgeRow{from: a.owner, to: a.owner, point: a, path: name}
		r.Edge = edge.Edge{Name: name, Kind: kind, From: g, To: g, Node: id, Pos: f.g.Nodes[id].Pos.String(), Axis: string(axis)}
		out = append(out, r)
	}
	for _, id := range a.nodes {
		n := f.g.Nodes[id]
		if !f.special(id) {
			continue
		}
		if _, ok := split[n.Op]; ok {
			row("x", edge.AllGathers, id, fdg.Environments)
			continue
		}
		switch n.Kind {
		case fdg.Apply:
			row("g", edge.AllReduces, id, fdg.None)
		case fdg.Log:
		default:
			for i := range a.fn.Signature().Params().Len() {
				name := a.fn.Signature().Params().At(i).Name()
				if axis := f.sharded(id, name); axis != fdg.None {
					row(name, edge.AllGathers, id, axis)
				}
			}
			if recv := a.fn.Signature().Recv(); recv != nil && f.src.IsBatch(recv.Type()) {
				if axis := f.sharded(id, recv.Name()); axis != fdg.None {
					row(recv.Name(), edge.AllGathers, id, axis)
				}
			}
		}
	}
	return out
}
