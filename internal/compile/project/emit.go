package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/compile/analyze"
)

// emitter writes the program of one group.
type emitter struct {
	*flow
	me     int
	rows   []*edgeRow
	x      *variable // the end of the edges
	run    *variable
	t      *variable
	entire bool // the program is the whole loop
}

func newEmitter(f *flow, me int, rows []*edgeRow) *emitter {
	m := &emitter{flow: f, me: me, rows: rows}
	m.x = f.variable("x", nil)
	m.x.fixed = true
	for _, v := range f.vars {
		if v.fixed && v.call == analyze.Root {
			if p, ok := v.typ.(*types.Pointer); ok && strings.HasSuffix(types.TypeString(p, nil), "weft/rl.Run") {
				m.run = v
			} else {
				m.t = v
			}
		}
	}
	if m.t == nil { // the author's function has no name for it
		m.t = f.variable("t", nil)
		m.t.fixed = true
	}
	return m
}

func (m *emitter) program() []*line { return m.tidy(m.block(m.tree)) }

func (m *emitter) block(b block) (out []*line) {
	for _, s := range b {
		out = append(out, m.stmt(s)...)
		out = append(out, m.transfers(s)...)
	}
	return out
}

func (m *emitter) stmt(s stmt) []*line {
	switch s := s.(type) {
	case *action:
		return m.action(s)
	case *branch:
		return m.branch(s)
	case *loop:
		return m.loop(s)
	case *jump:
		return []*line{{pos: s.pos, stmt: &ast.BranchStmt{Tok: s.tok}}}
	case *result:
		return []*line{{pos: s.pos, stmt: &ast.ReturnStmt{Results: m.copies(s.values)}}}
	case *note:
		return []*line{{pos: s.pos, stmt: &ast.DeclStmt{Decl: s.decl}}}
	}
	return nil
}

func (m *emitter) branch(s *branch) []*line {
	if !m.entire && !m.keep[s][m.me] {
		return nil
	}
	n := &line{pos: s.pos, word: "if"}
	if s.choice {
		n.word = "switch"
	}
	if s.cond != nil {
		n.head = []ast.Expr{m.copy(s.cond)}
	}
	for _, a := range s.arms {
		n.arms = append(n.arms, lineArm{m.copies(a.list), m.block(a.block)})
	}
	return []*line{n}
}

func (m *emitter) loop(s *loop) []*line {
	if !m.entire && !m.keep[s][m.me] {
		return nil
	}
	n := &line{pos: s.pos, word: "for", ranged: s.isRange, counts: s.counts, define: s.define, key: s.key, value: s.value}
	if s.next {
		n.word = "next"
	}
	one := func(a *action) *line {
		if a == nil {
			return nil
		}
		return &line{pos: a.pos, stmt: m.whole(a)}
	}
	n.init, n.post = one(s.init), one(s.post)
	if s.isRange {
		n.head = []ast.Expr{m.copy(s.over)}
	} else if s.cond != nil {
		n.head = []ast.Expr{m.copy(s.cond)}
	}
	n.arms = []lineArm{{body: m.block(s.body)}}
	if m.shared(s, m.me) {
		m.memberLoop(s, n)
	}
	return []*line{n}
}

// whole is an action as it stands.
func (m *emitter) whole(a *action) ast.Stmt {
	switch {
	case a.tok == token.INC || a.tok == token.DEC:
		return &ast.IncDecStmt{X: m.copy(a.lhs[0]), Tok: a.tok}
	case len(a.lhs) == 0:
		return &ast.ExprStmt{X: m.copy(a.rhs[0])}
	}
	return &ast.AssignStmt{Lhs: m.copies(a.lhs), Tok: a.tok, Rhs: m.copies(a.rhs)}
}

func (m *emitter) action(a *action) []*line {
	out, mine := m.has[a][m.me]
	if !mine && !m.entire {
		return nil
	}
	if len(a.rhs) == 0 && a.tok == token.DEFINE {
		return []*line{{pos: a.pos, zero: a.defs[0].v, pure: true}}
	}
	n := &line{pos: a.pos, stmt: m.whole(a), pure: a.owner == everywhere, nodes: a.nodes}
	if m.entire {
		return []*line{n}
	}
	if a.owner == everywhere {
		m.restrict(a, n.stmt, out)
		return []*line{n}
	}
	if m.replicated(m.me) || m.me == m.agents() {
		if now, ok := m.adapt(a); ok {
			if len(a.lhs) == 0 {
				n.stmt = &ast.ExprStmt{X: now.rhs}
			} else {
				n.stmt = &ast.AssignStmt{Lhs: m.copies(a.lhs), Tok: a.tok, Rhs: []ast.Expr{now.rhs}}
			}
			return append([]*line{n}, now.after...)
		}
	}
	return []*line{n}
}

// restrict leaves out of a copy what is not wanted of it.
func (m *emitter) restrict(a *action, s ast.Stmt, out live) {
	n, ok := s.(*ast.AssignStmt)
	if !ok || len(n.Lhs) != len(n.Rhs) || a.tok != token.ASSIGN && a.tok != token.DEFINE {
		return
	}
	var lhs, rhs []ast.Expr
	for i := range n.Lhs {
		d := a.defs[i]
		if d.v == nil {
			continue
		}
		p := out[d.v].get(d.path)
		if d.weak && !out[d.v].none() {
			p = whole
		}
		if p.none() {
			continue
		}
		lhs, rhs = append(lhs, n.Lhs[i]), append(rhs, m.only(n.Rhs[i], p))
	}
	n.Lhs, n.Rhs = lhs, rhs
}

// only is a composite literal with those fields alone that are wanted.
func (m *emitter) only(e ast.Expr, p *part) ast.Expr {
	lit, ok := e.(*ast.CompositeLit)
	if !ok || p.all {
		return e
	}
	fields := fieldsOf(m.types[lit])
	if fields == nil {
		return e
	}
	out := &ast.CompositeLit{Type: lit.Type}
	m.types[out] = m.types[lit]
	for i, x := range lit.Elts {
		name, v := "", x
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			name, v = kv.Key.(*ast.Ident).Name, kv.Value
		} else {
			name = fields[i].Name()
		}
		if sub := p.field(name); !sub.none() {
			out.Elts = append(out.Elts, &ast.KeyValueExpr{Key: ast.NewIdent(name), Value: m.only(v, sub)})
		}
	}
	return out
}

// copy copies an expression, so that one program's names are not another's.
func (m *emitter) copy(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	out := m.copied(e)
	if t, known := m.types[e]; known {
		m.types[out] = t
	}
	if call, ok := e.(*ast.CallExpr); ok {
		m.callee[out.(*ast.CallExpr)] = m.callee[call]
	}
	return out
}

func (m *emitter) copied(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.Ident, *ast.SelectorExpr:
		return m.deep(e)
	case *ast.ParenExpr:
		return &ast.ParenExpr{X: m.copy(e.X)}
	case *ast.CallExpr:
		return &ast.CallExpr{Fun: m.copy(e.Fun), Args: m.copies(e.Args), Ellipsis: e.Ellipsis}
	case *ast.CompositeLit:
		out := &ast.CompositeLit{Type: e.Type, Elts: m.copies(e.Elts)}
		m.types[out] = m.types[e]
		return out
	case *ast.KeyValueExpr:
		return &ast.KeyValueExpr{Key: m.copy(e.Key), Value: m.copy(e.Value)}
	case *ast.UnaryExpr:
		return &ast.UnaryExpr{Op: e.Op, X: m.copy(e.X)}
	case *ast.BinaryExpr:
		return &ast.BinaryExpr{X: m.copy(e.X), Op: e.Op, Y: m.copy(e.Y)}
	case *ast.IndexExpr:
		return &ast.IndexExpr{X: m.copy(e.X), Index: m.copy(e.Index)}
	case *ast.IndexListExpr:
		return &ast.IndexListExpr{X: m.copy(e.X), Indices: m.copies(e.Indices)}
	case *ast.SliceExpr:
		return &ast.SliceExpr{X: m.copy(e.X), Low: m.copy(e.Low), High: m.copy(e.High), Max: m.copy(e.Max), Slice3: e.Slice3}
	case *ast.StarExpr:
		return &ast.StarExpr{X: m.copy(e.X)}
	case *ast.TypeAssertExpr:
		return &ast.TypeAssertExpr{X: m.copy(e.X), Type: e.Type}
	}
	return e
}

func (m *emitter) copies(list []ast.Expr) (out []ast.Expr) {
	for _, e := range list {
		out = append(out, m.copy(e))
	}
	return out
}

func (m *emitter) deep(e ast.Expr) ast.Expr {
	if sel, ok := e.(*ast.SelectorExpr); ok {
		out := &ast.SelectorExpr{X: m.copy(sel.X), Sel: ast.NewIdent(sel.Sel.Name)}
		if p, ok := m.paths[sel]; ok {
			m.paths[out] = p
		}
		m.types[out] = m.types[sel]
		return out
	}
	return m.again(e)
}

// transfers are what the group sends and receives behind a statement.
func (m *emitter) transfers(s stmt) (out []*line) {
	for _, r := range m.rows {
		if r.point != s || r.v == nil {
			continue
		}
		if r.from == r.to {
			if m.me == r.to {
				out = append(out, m.assign(m.src.Pos(r.Node), m.ref(r.v), m.edgeCall("AllGather", r, m.ref(r.v))))
			}
			continue
		}
		switch m.me {
		case r.from:
			out = append(out, m.send(r)...)
		case r.to:
			out = append(out, m.take(r)...)
		}
	}
	return out
}

// ends are the functions of both ends of an edge.
var ends = map[edge.Kind][2]string{
	edge.Gathers: {"Gather", "Gathered"}, edge.Scatters: {"Scatter", "Scattered"}, edge.Sends: {"Send", "Sent"},
	edge.Copies: {"Publish", "Fetch"}, edge.Reduces: {"Reduce", "Reduced"},
}

func (m *emitter) send(r *edgeRow) []*line {
	pos := m.src.Pos(r.Node)
	if r.Kind == edge.Copies {
		return m.resourceLines(r, ends[r.Kind][0], pos)
	}
	var v ast.Expr = m.ref(r.v)
	if r.path != "" {
		v = m.fieldOf(v, r.path)
	}
	v = m.partOf(v, typeAt(r.v.typ, r.path), r.part)
	return []*line{{pos: pos, stmt: &ast.ExprStmt{X: m.edgeCall(ends[r.Kind][0], r, v)}}}
}

func (m *emitter) take(r *edgeRow) []*line {
	pos := m.src.Pos(r.Node)
	if r.Kind == edge.Copies {
		return m.resourceLines(r, ends[r.Kind][1], pos)
	}
	fun := m.edgeFun(ends[r.Kind][1])
	t := typeAt(r.v.typ, r.path)
	if r.Kind != edge.Reduces {
		fun = &ast.IndexExpr{X: fun, Index: m.typeExpr(t)}
	}
	call := &ast.CallExpr{Fun: fun, Args: []ast.Expr{m.ref(m.x), ast.NewIdent(r.ident)}}
	var lhs ast.Expr = m.ref(r.v)
	if r.path != "" {
		lhs = m.fieldOf(m.ref(r.v), r.path)
	}
	return []*line{m.assign(pos, lhs, call)}
}

func (m *emitter) assign(pos token.Pos, lhs, rhs ast.Expr) *line {
	return &line{pos: pos, stmt: &ast.AssignStmt{Lhs: []ast.Expr{lhs}, Tok: token.ASSIGN, Rhs: []ast.Expr{rhs}}}
}

func (m *emitter) fieldOf(e ast.Expr, path string) ast.Expr {
	for name := range strings.SplitSeq(path, ".") {
		out := &ast.SelectorExpr{X: e, Sel: ast.NewIdent(name)}
		m.paths[out] = name
		e = out
	}
	return e
}

// partOf is a value with those fields alone that are carried.
func (m *emitter) partOf(e ast.Expr, t types.Type, p *part) ast.Expr {
	fields := m.open(t)
	if p.all || fields == nil {
		return e
	}
	all := !slices.ContainsFunc(fields, func(f *types.Var) bool {
		s := p.field(f.Name())
		return s.none() || !m.covers(s, f.Type())
	})
	if all {
		return e
	}
	lit := &ast.CompositeLit{Type: m.typeExpr(t)}
	m.types[lit] = t
	for _, f := range fields {
		if s := p.field(f.Name()); !s.none() {
			x := m.fieldOf(m.copy(e), f.Name())
			lit.Elts = append(lit.Elts, &ast.KeyValueExpr{Key: ast.NewIdent(f.Name()), Value: m.partOf(x, f.Type(), s)})
		}
	}
	return lit
}

// covers reports whether a part is all of a value.
func (m *emitter) covers(p *part, t types.Type) bool {
	if p != nil && p.all {
		return true
	}
	fields := m.open(t)
	return fields == nil || !slices.ContainsFunc(fields, func(f *types.Var) bool {
		s := p.field(f.Name())
		return s.none() || !m.covers(s, f.Type())
	})
}

// resourceLines publish or fetch a component, or all of a family.
func (m *emitter) resourceLines(r *edgeRow, word string, pos token.Pos) []*line {
	way, ok := m.src.Way(r.v.resource)
	res := m.g.Resources[r.v.resource]
	if strings.HasSuffix(res.Name, "/stats") && res.Kind == "statistics" && strings.HasSuffix(res.Type, "Returns") {
		ok = false // a part of the component
	}
	if !ok {
		if !m.src.Named(r.v.resource) {
			m.bad(pos, res.Name+" cannot be found from the trainer: keep it in a field, or give it a constant name in the constructor")
			return nil
		}
		scope := &ast.CallExpr{Fun: &ast.SelectorExpr{X: m.ref(m.run), Sel: ast.NewIdent("Scope")}}
		c := &ast.CallExpr{Fun: &ast.SelectorExpr{X: scope, Sel: ast.NewIdent("Component")}, Args: []ast.Expr{&ast.BasicLit{Kind: token.STRING, Value: `"` + res.Name + `"`}}}
		return []*line{{pos: pos, stmt: &ast.ExprStmt{X: m.edgeCall(word, r, c)}}}
	}
	var e ast.Expr = m.ref(m.t)
	var out, inner *line
	for _, s := range way {
		e = &ast.SelectorExpr{X: e, Sel: ast.NewIdent(s.Name)}
		if s.Each {
			member := m.variable("m", nil)
			n := &line{pos: pos, word: "for", ranged: true, define: true, value: member, head: []ast.Expr{e}, arms: []lineArm{{}}}
			if inner == nil {
				out = n
			} else {
				inner.arms[0].body = []*line{n}
			}
			inner = n
			e = m.ref(member)
		}
	}
	last := &line{pos: pos, stmt: &ast.ExprStmt{X: m.edgeCall(word, r, e)}}
	if inner == nil {
		return []*line{last}
	}
	inner.arms[0].body = []*line{last}
	return []*line{out}
}

func (m *emitter) edgeFun(name string) ast.Expr {
	return &ast.SelectorExpr{X: ast.NewIdent(m.edgePackage()), Sel: ast.NewIdent(name)}
}

// edgeCall calls a function of package edge, on an edge if there is one.
func (m *emitter) edgeCall(name string, r *edgeRow, args ...ast.Expr) ast.Expr {
	list := []ast.Expr{m.ref(m.x)}
	if r != nil {
		list = append(list, ast.NewIdent(r.ident))
	}
	return &ast.CallExpr{Fun: m.edgeFun(name), Args: append(list, args...)}
}

// edgeAt is the collective edge of an action's argument.
func (m *emitter) edgeAt(a *action, name string) *edgeRow {
	for _, r := range m.rows {
		if r.point == stmt(a) && r.from == r.to && r.path == name {
			return r
		}
	}
	return nil
}
