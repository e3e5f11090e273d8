package project

import (
	"fmt"
	"go/ast"
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

	origins []analyze.Origin
}

// edges lists what crosses, in program order; every program refers to this list.
func (f *flow) edges(prefix string) (rows []*edgeRow) {
	f.listEdges(f.tree, &rows)
	taken := map[string]bool{}
	for i, r := range rows {
		r.id, r.ident = i, f.edgeName(prefix, r.Name, taken)
		for _, other := range rows[:i] { // what crosses twice stays with its maker
			if slices.ContainsFunc(r.origins, func(o analyze.Origin) bool {
				return slices.ContainsFunc(other.origins, func(p analyze.Origin) bool { return p.Node == o.Node && overlap(p.Part, o.Part) })
			}) {
				r.Given, other.Given = false, false
			}
		}
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
		*rows = append(*rows, f.joined(s)...)
		*rows = append(*rows, f.crossing(s)...)
	}
}

// joined are the slices that members gather from each other behind a statement.
func (f *flow) joined(s stmt) (out []*edgeRow) {
	for _, v := range f.all[s].sorted() {
		r := f.value(s, v, whole, "", f.agents(), f.agents())
		r.Kind, r.Axis = edge.AllGathers, string(fdg.Agents)
		out = append(out, r)
	}
	return out
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
			own := l[v].elementwise()
			for _, piece := range f.loads(s, v, l[v].merged()) {
				r := f.value(s, v, piece.part, piece.path, from, g)
				f.byMember(r, s, own)
				out = append(out, r)
			}
		}
	}
	return out
}

// load is a field of a variable that crosses as one value, and what of it does.
type load struct {
	path string
	part *part
}

// loads are the values as which a part of a variable crosses. A variable that is
// made here crosses as one, unless it holds fields that only its package sees.
func (f *flow) loads(s stmt, v *variable, p *part) (out []load) {
	if p.all {
		return f.exported(v.typ, "", p)
	}
	if made := f.defines(s, v); len(made) > 0 {
		for _, path := range made {
			if sub := p.get(path); !sub.none() { // of several fields not all need cross
				out = append(out, f.exported(typeAt(v.typ, path), path, sub)...)
			}
		}
		return out
	}
	for _, path := range p.paths() {
		out = append(out, f.exported(typeAt(v.typ, path), path, whole)...)
	}
	return out
}

// exported splits a value until no part of it hides a field.
func (f *flow) exported(t types.Type, path string, p *part) (out []load) {
	if f.carries(t) {
		return []load{{path, p}}
	}
	for _, field := range fieldsOf(t) {
		if sub := p.field(field.Name()); !sub.none() {
			out = append(out, f.exported(field.Type(), strings.Trim(path+"."+field.Name(), "."), sub)...)
		}
	}
	return out
}

// carries reports whether all of a value is seen from outside its package.
func (f *flow) carries(t types.Type) bool {
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil && strings.HasPrefix(n.Obj().Pkg().Path(), module) && n.Obj().Pkg() != f.src.Pkg && f.open(t) == nil {
		return true // a tensor, a tree, a gradient
	}
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for i := range u.NumFields() {
			if !u.Field(i).Exported() || !f.carries(u.Field(i).Type()) {
				return false
			}
		}
	case *types.Slice:
		return f.carries(u.Elem())
	case *types.Array:
		return f.carries(u.Elem())
	}
	return true
}

// byMember makes an edge of a slice with an element for every member carry to and
// from whoever has the member.
func (f *flow) byMember(r *edgeRow, s stmt, own bool) {
	switch {
	case r.from == f.agents() && f.made(s, r.v):
		r.Kind, r.Axis = edge.Gathers, string(fdg.Agents)
	case r.to == f.agents() && own:
		r.Kind, r.Axis = edge.Scatters, string(fdg.Agents)
	}
}

// merged is a part with elements of slices taken for all of them.
func (p *part) merged() *part {
	if p == nil || p.all || p.sub[element] != nil {
		return at("")
	}
	out := &part{sub: map[string]*part{}}
	for name, s := range p.sub {
		out.sub[name] = s.merged()
	}
	return out
}

func (f *flow) sender(s stmt, v *variable) int {
	if a, ok := s.(*action); ok {
		return a.owner
	}
	return f.from[s][v]
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
	r.Edge = edge.Edge{Name: res.Name, Kind: edge.Copies, From: f.groups[from].Name, To: f.groups[to].Name, Type: res.Type, Axis: string(res.Axis), Node: f.writer(s, v.resource)}
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
		Type: types.TypeString(t, (*types.Package).Name),
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
	_, once := s.(*action) // behind a loop it may be the value of a round before
	r.Log, r.Given, r.origins = f.logged(origins, to), once && f.given(origins, to), origins
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
	case from == to: // among members
		return edge.AllGathers
	case isGrads(t) && !f.replicated(from):
		f.bad(pos, fmt.Sprintf("a gradient of %s would be applied by every replica of %s, and its memory is used up by the first: let one group have both", f.groups[from].Name, f.groups[to].Name))
		return edge.Sends
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
func (f *flow) given(origins []analyze.Origin, to int) bool {
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
	for _, id := range a.nodes {
		if !f.special(id) || f.g.Nodes[id].Kind == fdg.Log {
			continue
		}
		sig := a.fn.Signature()
		if f.g.Nodes[id].Kind == fdg.Apply {
			out = append(out, f.collective(a, id, sig.Params().At(0), 0, edge.AllReduces, fdg.None))
			continue
		}
		for i := range sig.Params().Len() {
			if axis := f.sharded(id, sig.Params().At(i).Name()); axis != fdg.None {
				out = append(out, f.collective(a, id, sig.Params().At(i), i, edge.AllGathers, axis))
			}
		}
		if recv := sig.Recv(); recv != nil && f.src.IsBatch(recv.Type()) {
			if axis := f.sharded(id, recv.Name()); axis != fdg.None {
				out = append(out, f.collective(a, id, recv, -1, edge.AllGathers, axis))
			}
		}
	}
	return out
}

func (f *flow) collective(a *action, id int, param *types.Var, i int, kind edge.Kind, axis fdg.Axis) *edgeRow {
	g := f.groups[a.owner].Name
	r := &edgeRow{from: a.owner, to: a.owner, point: a, path: param.Name()}
	t, name := param.Type(), a.fn.Name()
	if call, ok := ast.Unparen(a.rhs[0]).(*ast.CallExpr); ok && i >= 0 && i < len(call.Args) {
		if now := f.exprType(call.Args[i]); now != nil {
			t = now
		}
		if v, path := f.pathOf(call.Args[i]); v != nil {
			name = strings.Trim(v.name+"."+path, ".")
		}
	}
	r.Edge = edge.Edge{Name: name, Kind: kind, From: g, To: g, Type: types.TypeString(t, (*types.Package).Name), Node: id, Pos: f.g.Nodes[id].Pos.String(), Axis: string(axis)}
	return r
}

// pathOf is the variable and the field that an expression names, if it does.
func (l *lowerer) pathOf(e ast.Expr) (*variable, string) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return l.of[e], ""
	case *ast.SelectorExpr:
		if path, field := l.paths[e]; field && path != "" {
			v, up := l.pathOf(e.X)
			return v, strings.Trim(up+"."+path, ".")
		}
	}
	return nil, ""
}

// exprType is the type of an expression where it is known.
func (l *lowerer) exprType(e ast.Expr) types.Type {
	if id, ok := e.(*ast.Ident); ok {
		if v := l.of[id]; v != nil {
			return v.typ
		}
		return nil
	}
	return l.types[e]
}
