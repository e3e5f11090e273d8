package project

import (
	"cmp"
	"fmt"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"unicode"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/analyze"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/plan"
)

// edgeRow is an edge of a grouping with its name in the generated file.
type edgeRow struct {
	plan.Edge
	ident string
	v     *variable
	part  part // what of it is carried, as one value
	path  string
	to    int
	from  int
	point tree.Stmt
	maybe bool       // it may not be used, in a branch
	batch *tree.Loop // behind which what its rounds sent crosses, or nil

	origins []analyze.Origin
}

// edges lists what crosses, in program order; every program refers to this list.
func (f *flow) edges(prefix string) (rows []*edgeRow) {
	f.listEdges(f.tree.Body, fdg.Freq{}, &rows)
	names, under := map[string]int{}, f.conditions()
	for i, r := range rows {
		if c := under[r.point]; c.on&(counters|madeBy(r.to)) != 0 {
			r.Under, _ = f.src.Node(c.at)
			r.Lasting = c.lasting
		}
		if names[r.Name]++; names[r.Name] > 1 { // a run knows edges by their names
			r.Name = fmt.Sprintf("%s#%d", r.Name, names[r.Name])
		}
		r.ident = f.unused(prefix + joinedWords(r.Name))
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

// listEdges lists the edges of a block that is executed as often as freq says.
func (f *flow) listEdges(b tree.Block, freq fdg.Freq, rows *[]*edgeRow) {
	for _, s := range b {
		inner := f.inner(s, freq)
		first := len(*rows)
		switch s := s.(type) {
		case *tree.Assign:
			*rows = append(*rows, f.collectives(f.actions[s])...)
		case *tree.Branch:
			for _, a := range s.Arms {
				f.listEdges(a.Body, inner, rows)
			}
		case *tree.Loop:
			f.listEdges(s.Body, inner, rows)
			f.batch(s, (*rows)[first:], freq)
		case *tree.Call:
			f.listEdges(s.Body, inner, rows)
		}
		for _, v := range f.all[s].sorted() { // which members gather from each other
			r := f.value(s, v, whole, "", f.agents(), f.agents())
			r.Operator, r.Axis = fdg.AllGather, fdg.Agents
			*rows = append(*rows, r)
		}
		*rows = append(*rows, f.crossing(s)...)
		for _, r := range (*rows)[first:] {
			r.Often, r.maybe = cmp.Or(r.Often, f.g.Often(freq)), r.maybe || freq.Maybe
		}
	}
}

// inner returns how often what is in a statement is executed.
func (f *flow) inner(s tree.Stmt, freq fdg.Freq) fdg.Freq {
	switch s := s.(type) {
	case *tree.Branch:
		freq.Maybe = true
	case *tree.Loop:
		if id, ok := f.src.Node(s); ok {
			freq.Loops = append(slices.Clip(freq.Loops), id)
		}
	}
	return freq
}

// joinedWords returns a name without what cannot be in an identifier.
func joinedWords(name string) (out string) {
	for word := range strings.FieldsFuncSeq(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		out += title(word)
	}
	return out
}

// crossing returns the edges behind a statement, in the order in which both ends use
// them.
func (f *flow) crossing(s tree.Stmt) (out []*edgeRow) {
	for g := range f.groups {
		l := f.sent[spot{s, g}]
		for _, v := range l.sorted() {
			from := f.from[spot{s, g}][v]
			if v.resource >= 0 {
				out = append(out, f.copied(s, v, from, g))
				continue
			}
			own := l[v].elementwise()
			pieces, _ := f.loads(s, v, l[v].merged())
			for _, piece := range pieces {
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
	part part
}

// loads returns the values as which a part of a variable crosses; ok is false if some
// of it cannot. A variable that is made here crosses as one, unless it holds fields
// that only its package sees.
func (f *flow) loads(s tree.Stmt, v *variable, p part) (out []load, ok bool) {
	ok = true
	add := func(path string, p part) {
		more, sent := f.exported(typeAt(v.typ, path), path, p)
		out, ok = append(out, more...), ok && sent
	}
	made := f.defines(s, v)
	for _, path := range made {
		if sub := p.get(path); !sub.none() { // of several fields not all need cross
			add(path, sub)
		}
	}
	if len(made) == 0 {
		for _, path := range p {
			add(path, whole)
		}
	}
	return out, ok
}

// exported splits a value until no part of it hides a field; ok is false if there is
// a part that cannot be split.
func (f *flow) exported(t types.Type, path string, p part) (out []load, ok bool) {
	if f.carries(t) {
		return []load{{path, p}}, true
	}
	fields := f.open(t)
	ok = fields != nil
	for _, field := range fields {
		if sub := p.get(field.Name()); !sub.none() {
			more, sent := f.exported(field.Type(), strings.Trim(path+"."+field.Name(), "."), sub)
			out, ok = append(out, more...), ok && sent
		}
	}
	return out, ok
}

// crosses reports whether a part of a variable can be sent: as one value, or field
// by field.
func (f *flow) crosses(s tree.Stmt, v *variable, p part) bool {
	if v.resource >= 0 {
		return true
	}
	_, ok := f.loads(s, v, p.merged())
	return ok
}

// carries reports whether all of a value is seen from outside its package.
func (f *flow) carries(t types.Type) bool {
	return !tree.Holds(t, func(t types.Type) tree.Verdict {
		fields := tree.StructFields(t)
		n, named := types.Unalias(t).(*types.Named)
		switch {
		case named && n.Obj().Pkg() != nil && strings.HasPrefix(n.Obj().Pkg().Path(), module) && n.Obj().Pkg() != f.src.Pkg && f.open(t) == nil:
			return tree.No // a tensor, a tree, a gradient
		case slices.ContainsFunc(fields, func(v *types.Var) bool { return !v.Exported() }):
			return tree.Yes
		case fields != nil || tree.Element(t) != nil:
			return tree.Deeper
		}
		return tree.No
	})
}

// byMember makes an edge of a slice with an element for every member carry to and
// from whoever has the member.
func (f *flow) byMember(r *edgeRow, s tree.Stmt, own bool) {
	switch {
	case r.from == f.agents() && f.filled(s, r.v):
		r.Operator, r.Axis = fdg.Gather, fdg.Agents
	case r.to == f.agents() && own:
		r.Operator, r.Axis = fdg.Scatter, fdg.Agents
	}
}

// merged returns a part with elements of slices taken for all of them.
func (p part) merged() (out part) {
	if p.none() {
		return whole
	}
	for _, path := range p {
		up, _, _ := strings.Cut("."+path, "."+element)
		out = out.plus(at(strings.TrimPrefix(up, ".")))
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

// row makes an edge behind a statement.
func (f *flow) row(s tree.Stmt, from, to, node int, e plan.Edge) *edgeRow {
	e.From, e.To, e.Node, e.Pos = f.groups[from].Name, f.groups[to].Name, node, f.g.Nodes[node].Pos.String()
	return &edgeRow{Edge: e, from: from, to: to, point: s}
}

func (f *flow) copied(s tree.Stmt, v *variable, from, to int) *edgeRow {
	res := f.g.Resources[v.resource]
	r := f.row(s, from, to, f.writer(s, v.resource), plan.Edge{Name: res.Name, Operator: fdg.Broadcast, Type: res.Type, Axis: res.Axis})
	r.v = v
	return r
}

// writer returns the last node in a statement that writes a resource.
func (f *flow) writer(s tree.Stmt, resource int) (id int) {
	for _, a := range f.inside(s) {
		if a.node >= 0 && slices.Contains(f.g.Nodes[a.node].Writes, resource) {
			id = a.node
		}
	}
	return id
}

func (f *flow) value(s tree.Stmt, v *variable, p part, path string, from, to int) *edgeRow {
	var origins []analyze.Origin // the parts of nodes' results that cross
	for _, sub := range p {
		origins = append(origins, f.origins(s, true, v, strings.Trim(path+"."+sub, "."))...)
	}
	axis, node := fdg.None, 0
	for _, o := range origins {
		if a := f.src.Axis(o); axis == fdg.None {
			axis = a
		}
		node = o.Node
	}
	t := typeAt(v.typ, path)
	r := f.row(s, from, to, node, plan.Edge{
		Name: strings.TrimSuffix(v.name+"."+path, "."), Operator: f.kind(s.At().Pos, t, axis, from, to), Axis: axis,
		Type: types.TypeString(t, (*types.Package).Name), Log: f.logged(origins, to), Given: f.once(s, origins) && f.given(origins, to),
	})
	r.v, r.part, r.path, r.origins = v, p, path, origins
	return r
}

// once reports whether what crosses behind a statement was made there: behind a
// loop or a branch it may be the value of a round before.
func (f *flow) once(s tree.Stmt, origins []analyze.Origin) bool {
	_, ok := s.(*tree.Assign)
	if call, isCall := s.(*tree.Call); isCall {
		ok = true
		for s := range tree.Each[*tree.Loop](call.Body) {
			ok = ok && !slices.ContainsFunc(f.inside(s), func(a *action) bool {
				return slices.ContainsFunc(origins, func(o analyze.Origin) bool { return o.Node == a.node })
			})
		}
	}
	return ok
}

// kind returns how a value of type t crosses from one group to another.
func (f *flow) kind(pos token.Pos, t types.Type, axis fdg.Axis, from, to int) fdg.Operator {
	switch grads := f.src.Type(t).Gradient; {
	case grads && !f.replicated(to):
		return fdg.Reduce
	case from == to: // among members
		return fdg.AllGather
	case grads && !f.replicated(from):
		f.bad(pos, fmt.Sprintf("a gradient of %s would be applied by every replica of %s, and its memory is used up by the first: let one group have both", f.groups[from].Name, f.groups[to].Name))
		return fdg.Send
	case f.replicated(from) && f.replicated(to):
		f.bad(pos, fmt.Sprintf("%s and %s are both replicated, and a value goes between them: let one of them be one, or make them one group", f.groups[from].Name, f.groups[to].Name))
		return fdg.Send
	case axis == fdg.None:
		return fdg.Send
	case f.replicated(from):
		return fdg.Gather
	case f.replicated(to):
		return fdg.Scatter
	}
	return fdg.Send
}

// takers returns the edges of the graph by which nodes get a part of what was made.
func (f *flow) takers(o analyze.Origin) (out []fdg.Edge) {
	for _, e := range f.g.Edges {
		if e.From == o.Node && e.Kind != fdg.OfResource && overlap(e.Part, o.Part) {
			out = append(out, e)
		}
	}
	return out
}

// taker returns the group that an edge of the graph leads to.
func (f *flow) taker(e fdg.Edge) (group int, ok bool) {
	group, ok = f.group[f.g.Nodes[e.To].Fragment]
	return group, ok
}

// logged reports whether what crosses is only logged.
func (f *flow) logged(origins []analyze.Origin, to int) (found bool) {
	for _, o := range origins {
		for _, e := range f.takers(o) {
			if g, ok := f.taker(e); ok && g == to || e.Kind == fdg.OfControl {
				if found = true; f.g.Nodes[e.To].Kind != fdg.Log {
					return false
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
		if slices.ContainsFunc(f.takers(o), func(e fdg.Edge) bool { g, ok := f.taker(e); return !ok || g != to }) {
			return false
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
		return []*edgeRow{f.collective(a, sig.Params().At(0), 0, fdg.AllReduce, fdg.None)}
	}
	for i := range sig.Params().Len() {
		if axis := f.sharded(a.node, sig.Params().At(i).Name()); axis != fdg.None {
			out = append(out, f.collective(a, sig.Params().At(i), i, fdg.AllGather, axis))
		}
	}
	if recv := sig.Recv(); recv != nil && f.src.IsBatch(recv.Type()) {
		if axis := f.sharded(a.node, recv.Name()); axis != fdg.None {
			out = append(out, f.collective(a, recv, -1, fdg.AllGather, axis))
		}
	}
	return out
}

func (f *flow) collective(a *action, param *types.Var, i int, kind fdg.Operator, axis fdg.Axis) *edgeRow {
	t, name := param.Type(), a.Op.Fn.Name()
	if args := a.Op.Call.Args; i >= 0 && i < len(args) {
		if now := f.typeOf(args[i]); now != nil {
			t = now
		}
		if v, path := f.tree.Path(args[i]); v != nil {
			name = strings.Trim(v.Name()+"."+path, ".")
		}
	}
	r := f.row(a.Assign, a.owner, a.owner, a.node, plan.Edge{Name: name, Operator: kind, Type: types.TypeString(t, (*types.Package).Name), Axis: axis})
	r.path = param.Name()
	return r
}
