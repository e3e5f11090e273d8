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
	"github.com/weft-rl/weft/internal/compile/tree"
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
	point tree.Stmt

	origins []analyze.Origin
}

// edges lists what crosses, in program order; every program refers to this list.
func (f *flow) edges(prefix string) (rows []*edgeRow) {
	f.listEdges(f.tree.Body, &rows)
	taken, names := map[string]bool{}, map[string]int{}
	for i, r := range rows {
		if names[r.Name]++; names[r.Name] > 1 { // a run knows edges by their names
			r.Name = fmt.Sprintf("%s#%d", r.Name, names[r.Name])
		}
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

func (f *flow) listEdges(b tree.Block, rows *[]*edgeRow) {
	for _, s := range b {
		switch s := s.(type) {
		case *tree.Assign:
			*rows = append(*rows, f.collectives(f.actions[s])...)
		case *tree.Branch:
			for _, a := range s.Arms {
				f.listEdges(a.Body, rows)
			}
		case *tree.Loop:
			f.listEdges(s.Body, rows)
		case *tree.Call:
			f.listEdges(s.Body, rows)
		}
		*rows = append(*rows, f.joined(s)...)
		*rows = append(*rows, f.crossing(s)...)
	}
}

// joined returns the slices that members gather from each other behind a statement.
func (f *flow) joined(s tree.Stmt) (out []*edgeRow) {
	for _, v := range f.all[s].sorted() {
		r := f.value(s, v, whole, "", f.agents(), f.agents())
		r.Kind, r.Axis = edge.AllGathers, string(fdg.Agents)
		out = append(out, r)
	}
	return out
}

// edgeName returns an unused identifier for the constant that is an edge's number.
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

// crossing returns the edges behind a statement, in the order in which both ends use
// them.
func (f *flow) crossing(s tree.Stmt) (out []*edgeRow) {
	for g := range f.groups {
		l := f.sent[s][g]
		for _, v := range l.sorted() {
			from := f.from[s][g][v]
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

// load is a field of a variable that crosses as one value. part says which of its
// own fields do.
type load struct {
	path string
	part *part
}

// loads returns the values as which a part of a variable crosses. A variable that is
// made here crosses as one, unless it holds fields that only its package sees.
func (f *flow) loads(s tree.Stmt, v *variable, p *part) (out []load) {
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

// crosses reports whether a part of a variable can be sent: as one value, or field
// by field.
func (f *flow) crosses(v *variable, p *part) bool {
	var sent func(t types.Type) bool
	sent = func(t types.Type) bool {
		fields := f.open(t)
		return f.carries(t) || fields != nil && !slices.ContainsFunc(fields, func(x *types.Var) bool { return !sent(x.Type()) })
	}
	return v.resource >= 0 || !slices.ContainsFunc(p.merged().paths(), func(path string) bool { return !sent(typeAt(v.typ, path)) })
}

// carries reports whether all of a value is seen from outside its package.
func (f *flow) carries(t types.Type) bool { return f.seen(t, map[types.Type]bool{}) }

// seen does what carries does. inside are the types around t, one of which t may be.
func (f *flow) seen(t types.Type, inside map[types.Type]bool) bool {
	if n, ok := types.Unalias(t).(*types.Named); ok && n.Obj().Pkg() != nil && strings.HasPrefix(n.Obj().Pkg().Path(), module) && n.Obj().Pkg() != f.src.Pkg && f.open(t) == nil {
		return true // a tensor, a tree, a gradient
	}
	if inside[t] {
		return true
	}
	inside[t] = true
	switch u := t.Underlying().(type) {
	case *types.Struct:
		for field := range u.Fields() {
			if !field.Exported() || !f.seen(field.Type(), inside) {
				return false
			}
		}
	case *types.Slice:
		return f.seen(u.Elem(), inside)
	case *types.Array:
		return f.seen(u.Elem(), inside)
	}
	return true
}

// byMember makes an edge of a slice with an element for every member carry to and
// from whoever has the member.
func (f *flow) byMember(r *edgeRow, s tree.Stmt, own bool) {
	switch {
	case r.from == f.agents() && f.filled(s, r.v):
		r.Kind, r.Axis = edge.Gathers, string(fdg.Agents)
	case r.to == f.agents() && own:
		r.Kind, r.Axis = edge.Scatters, string(fdg.Agents)
	}
}

// merged returns a part with elements of slices taken for all of them.
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

// defines returns the paths at which a statement gives a variable a value.
func (f *flow) defines(s tree.Stmt, v *variable) (out []string) {
	switch s := s.(type) {
	case *tree.Assign:
		for _, d := range f.actions[s].defs {
			if d.v == v && !d.weak {
				out = append(out, d.path)
			}
		}
	case *tree.Call:
		if slices.Contains(s.Results, v.obj) {
			return []string{""}
		}
	}
	return out
}

func (f *flow) copied(s tree.Stmt, v *variable, from, to int) *edgeRow {
	res := f.g.Resources[v.resource]
	r := &edgeRow{v: v, from: from, to: to, point: s}
	r.Edge = edge.Edge{Name: res.Name, Kind: edge.Copies, From: f.groups[from].Name, To: f.groups[to].Name, Type: res.Type, Axis: string(res.Axis), Node: f.writer(s, v.resource)}
	r.Pos = f.g.Nodes[r.Node].Pos.String()
	return r
}

// writer returns the last node in a statement that writes a resource.
func (f *flow) writer(s tree.Stmt, resource int) (id int) {
	tree.Block{s}.Walk(func(s tree.Stmt) bool {
		if a, ok := s.(*tree.Assign); ok {
			if n := f.actions[a].node; n >= 0 && slices.Contains(f.g.Nodes[n].Writes, resource) {
				id = n
			}
		}
		return true
	})
	return id
}

func (f *flow) value(s tree.Stmt, v *variable, p *part, path string, from, to int) *edgeRow {
	r := &edgeRow{v: v, part: p, path: path, from: from, to: to, point: s}
	t := typeAt(v.typ, path)
	r.Edge = edge.Edge{
		Name: strings.TrimSuffix(f.nameOf(v)+"."+path, "."), From: f.groups[from].Name, To: f.groups[to].Name,
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
	r.Kind = f.kind(s.At().Pos, t, axis, from, to)
	r.Log, r.Given, r.origins = f.logged(origins, to), f.once(s, origins) && f.given(origins, to), origins
	return r
}

// nameOf returns what a variable is called on an edge: one that is not the author's
// after what it is given to.
func (f *flow) nameOf(v *variable) string {
	name := v.name
	if !v.temp {
		return name
	}
	f.tree.Body.Walk(func(s tree.Stmt) bool {
		a, ok := s.(*tree.Assign)
		if !ok || len(a.Lhs) != 1 || len(a.Rhs) != 1 {
			return true
		}
		to, path := f.tree.Path(a.Lhs[0])
		if field, ok := f.within(a.Rhs[0], v); ok && to != nil {
			name = strings.Trim(f.nameOf(f.vars[to])+"."+strings.Trim(path+"."+field, "."), ".")
		}
		return true
	})
	return name
}

// within returns the field of a value that a variable becomes.
func (f *flow) within(e ast.Expr, v *variable) (path string, ok bool) {
	if f.of(e) == v {
		return "", true
	}
	lit, isLit := e.(*ast.CompositeLit)
	for i, field := range fieldsOf(f.typeOf(e)) {
		if !isLit || i >= len(lit.Elts) {
			break
		}
		x, name := lit.Elts[i], field.Name()
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			x, name = kv.Value, kv.Key.(*ast.Ident).Name
		}
		if rest, ok := f.within(x, v); ok {
			return strings.Trim(name+"."+rest, "."), true
		}
	}
	return "", false
}

// once reports whether what crosses behind a statement was made there: behind a
// loop or a branch it may be the value of a round before.
func (f *flow) once(s tree.Stmt, origins []analyze.Origin) bool {
	call, ok := s.(*tree.Call)
	if !ok {
		_, ok = s.(*tree.Assign)
		return ok
	}
	call.Body.Walk(func(s tree.Stmt) bool {
		n, isLoop := s.(*tree.Loop)
		if isLoop {
			n.Body.Walk(func(s tree.Stmt) bool {
				a, isAssign := s.(*tree.Assign)
				ok = ok && !(isAssign && slices.ContainsFunc(origins, func(o analyze.Origin) bool { return o.Node == f.actions[a].node }))
				return ok
			})
		}
		return ok && !isLoop
	})
	return ok
}

// carried returns the parts of nodes' results that cross.
func (f *flow) carried(s tree.Stmt, v *variable, p *part, path string) (out []analyze.Origin) {
	for _, sub := range p.paths() {
		out = append(out, f.origins(s, true, v, strings.Trim(path+"."+sub, "."))...)
	}
	return out
}

func isGrads(t types.Type) bool {
	return t != nil && strings.HasSuffix(types.TypeString(t, nil), "weft/rl.Grads")
}

// kind returns how a value of type t crosses from one group to another.
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

// collectives returns the edges between the replicas of a group that an operation
// needs.
func (f *flow) collectives(a *action) (out []*edgeRow) {
	if a.owner == everywhere || !f.special(a.node) || f.g.Nodes[a.node].Kind == fdg.Log {
		return nil
	}
	sig := a.Op.Fn.Signature()
	if f.g.Nodes[a.node].Kind == fdg.Apply {
		return []*edgeRow{f.collective(a, sig.Params().At(0), 0, edge.AllReduces, fdg.None)}
	}
	for i := range sig.Params().Len() {
		if axis := f.sharded(a.node, sig.Params().At(i).Name()); axis != fdg.None {
			out = append(out, f.collective(a, sig.Params().At(i), i, edge.AllGathers, axis))
		}
	}
	if recv := sig.Recv(); recv != nil && f.src.IsBatch(recv.Type()) {
		if axis := f.sharded(a.node, recv.Name()); axis != fdg.None {
			out = append(out, f.collective(a, recv, -1, edge.AllGathers, axis))
		}
	}
	return out
}

func (f *flow) collective(a *action, param *types.Var, i int, kind edge.Kind, axis fdg.Axis) *edgeRow {
	g := f.groups[a.owner].Name
	r := &edgeRow{from: a.owner, to: a.owner, point: a.Assign, path: param.Name()}
	t, name := param.Type(), a.Op.Fn.Name()
	if args := a.Op.Call.Args; i >= 0 && i < len(args) {
		if now := f.typeOf(args[i]); now != nil {
			t = now
		}
		if v, path := f.tree.Path(args[i]); v != nil {
			name = strings.Trim(f.nameOf(f.vars[v])+"."+path, ".")
		}
	}
	r.Edge = edge.Edge{Name: name, Kind: kind, From: g, To: g, Type: types.TypeString(t, (*types.Package).Name), Node: a.node, Pos: f.g.Nodes[a.node].Pos.String(), Axis: string(axis)}
	return r
}
