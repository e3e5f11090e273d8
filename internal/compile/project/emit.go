package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// emitter writes the program of one group.
type emitter struct {
	*flow
	me     int
	rows   []*edgeRow
	x      *variable // the end of the edges
	run    *variable
	t      *variable
	entire bool               // the program is the whole loop, or
	chosen map[tree.Stmt]bool // these statements of it
	rolls  func(*tree.Call) bool
	met    map[*edgeRow]int // how often the program uses an edge
}

func newEmitter(f *flow, me int, rows []*edgeRow) *emitter {
	m := &emitter{flow: f, me: me, rows: rows, x: f.variable("x", nil), met: map[*edgeRow]int{}}
	m.x.fixed, m.rolls = true, m.closed
	for _, v := range append([]*types.Var{f.tree.Recv}, f.tree.Args...) {
		switch {
		case v == nil:
		case f.src.Type(v.Type()).Run:
			m.run = f.vars[v]
		default:
			m.t = f.vars[v]
		}
	}
	if m.t == nil { // the author's function has no name for it
		m.t = f.variable("t", nil)
		m.t.fixed = true
	}
	return m
}

// program returns the group's program. It is an error if it lacks something.
func (m *emitter) program() ([]*line, error) {
	lines := m.tidy(m.block(m.tree.Body))
	return lines, m.complete(lines)
}

func (m *emitter) block(b tree.Block) (out []*line) {
	for _, s := range b {
		out = append(out, m.stmt(s)...)
		out = append(out, m.flush(s)...)
		out = append(out, m.transfers(s)...)
	}
	return out
}

func (m *emitter) stmt(s tree.Stmt) []*line {
	switch s := s.(type) {
	case *tree.Assign:
		return m.simple(s)
	case *tree.Branch:
		return m.branch(s)
	case *tree.Loop:
		return m.goLoop(s)
	case *tree.Call:
		if m.rolls(s) {
			return []*line{m.rolled(s)}
		}
		return m.block(s.Body)
	case *tree.Jump:
		return m.leaving(s, s.Tok, nil)
	case *tree.Return:
		return m.leaving(s, token.RETURN, m.copies(s.Results))
	}
	return nil
}

// leaving returns a jump or a return, which a part of a loop has only if it is chosen.
func (m *emitter) leaving(s tree.Stmt, tok token.Token, results []ast.Expr) []*line {
	if m.chosen != nil && !m.chosen[s] {
		return nil
	}
	return []*line{{pos: s.At().Pos, tok: tok, rhs: results, from: []tree.Stmt{s}}}
}

// follows reports whether the program has a loop or a branch.
func (m *emitter) follows(s tree.Stmt) bool {
	if m.entire {
		return m.chosen == nil || m.chosen[s]
	}
	return m.keep[spot{s, m.me}]
}

// executes reports whether the program has an assignment.
func (m *emitter) executes(s *tree.Assign) bool {
	if m.entire {
		return m.chosen == nil || m.chosen[s]
	}
	_, mine := m.does[spot{s, m.me}]
	return mine
}

// inner returns the statements that a program has of a block whose loop or branch it
// leaves out: none, unless it is a part of the loop alone.
func (m *emitter) inner(b tree.Block) []*line {
	if m.chosen == nil {
		return nil
	}
	return m.block(b)
}

func (m *emitter) branch(s *tree.Branch) []*line {
	if !m.follows(s) {
		var out []*line
		for _, a := range s.Arms {
			out = append(out, m.inner(a.Body)...)
		}
		return out
	}
	n := &line{pos: s.Pos, word: "if", head: []ast.Expr{m.copy(s.Cond)}, from: []tree.Stmt{s}}
	for _, a := range s.Arms {
		n.arms = append(n.arms, m.block(a.Body))
	}
	return []*line{n}
}

func (m *emitter) goLoop(s *tree.Loop) (out []*line) {
	if !m.follows(s) {
		return m.inner(s.Body)
	}
	n := &line{pos: s.Pos, word: "for", from: []tree.Stmt{s}, ranged: s.Range, counts: isInteger(m.typeOf(s.Over)), key: m.vars[s.Key], value: m.vars[s.Value]}
	if s.Next {
		n.word = "next"
	}
	if s.Init != nil && m.executes(s.Init) {
		n.init = m.line(s.Init)
		if s.Init.Define {
			n.init.tok = token.DEFINE
			if t := m.natural(n.init.rhs[0]); t == nil || !types.Identical(t, m.typeOf(n.init.lhs[0])) {
				n.init.tok = token.ASSIGN
				out, n.init = append(out, n.init), nil
			}
		}
	}
	if s.Post != nil && m.executes(s.Post) {
		n.post = m.line(s.Post)
	}
	for _, e := range []ast.Expr{s.Over, s.Cond} {
		if e != nil {
			n.head = append(n.head, m.copy(e))
		}
	}
	n.arms = [][]*line{m.block(s.Body)}
	if m.shared(s, m.me) && !m.entire {
		m.memberLoop(s, n)
	}
	return append(out, n)
}

// line returns an assignment as it stands.
func (m *emitter) line(s *tree.Assign) *line {
	return &line{pos: s.Pos, tok: s.Tok, lhs: m.copies(s.Lhs), rhs: m.copies(s.Rhs), from: []tree.Stmt{s}}
}

func (m *emitter) simple(s *tree.Assign) []*line {
	if !m.executes(s) {
		return nil
	}
	a, n := m.actions[s], m.line(s)
	n.pure = a.owner == everywhere && len(s.Fills) == 0
	switch {
	case m.entire:
	case a.owner == everywhere:
		if s.Tok == token.ASSIGN && len(n.lhs) == len(n.rhs) {
			for i := range n.rhs {
				n.rhs[i] = m.only(n.rhs[i], a.wanted(i, m.does[spot{s, m.me}]))
			}
		}
	case m.special(a.node):
		return append([]*line{n}, m.adapt(a, n)...)
	}
	return []*line{n}
}

// only returns a composite literal with those fields alone that are wanted.
func (m *emitter) only(e ast.Expr, p part) ast.Expr {
	names, values := m.elements(e)
	if names == nil || p.none() || p.all() {
		return e
	}
	out := &ast.CompositeLit{Type: ast.Unparen(e).(*ast.CompositeLit).Type}
	same := true
	for i, x := range values {
		now := m.only(x, p.get(names[i]))
		if p.get(names[i]).none() {
			same = false
			continue
		}
		same = same && now == x
		out.Elts = append(out.Elts, &ast.KeyValueExpr{Key: ast.NewIdent(names[i]), Value: now})
	}
	if same {
		return e
	}
	return m.tree.Typed(out, m.typeOf(e))
}

// transfers returns what the group sends and receives behind a statement.
func (m *emitter) transfers(s tree.Stmt) (out []*line) {
	for _, r := range m.rows {
		if r.point != s || r.v == nil {
			continue
		}
		if m.me == r.from || m.me == r.to {
			m.met[r]++
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
var ends = map[fdg.Operator][2]string{
	fdg.Gather: {"Gather", "Gathered"}, fdg.Scatter: {"Scatter", "Scattered"}, fdg.Send: {"Send", "Sent"},
	fdg.Broadcast: {"Publish", "Fetch"}, fdg.Reduce: {"Reduce", "Reduced"},
}

func (m *emitter) send(r *edgeRow) []*line {
	pos := m.src.Pos(r.Node)
	if r.Operator == fdg.Broadcast {
		return m.resourceLines(r, ends[r.Operator][0], pos)
	}
	v := m.partOf(m.fieldOf(m.ref(r.v), r.path), typeAt(r.v.typ, r.path), r.part)
	return []*line{m.effect(pos, m.edgeCall(ends[r.Operator][0], r, v))}
}

func (m *emitter) take(r *edgeRow) []*line {
	pos := m.src.Pos(r.Node)
	if r.Operator == fdg.Broadcast {
		return m.resourceLines(r, ends[r.Operator][1], pos)
	}
	fun := m.edgeFun(ends[r.Operator][1])
	t := typeAt(r.v.typ, r.path)
	if r.Operator != fdg.Reduce {
		fun = &ast.IndexExpr{X: fun, Index: m.typeExpr(t, m.src.Pos(r.Node))}
	}
	call := &ast.CallExpr{Fun: fun, Args: []ast.Expr{m.ref(m.x), ast.NewIdent(r.ident)}}
	return []*line{m.assign(pos, m.fieldOf(m.ref(r.v), r.path), m.tree.Typed(call, t))}
}

func (m *emitter) assign(pos token.Pos, lhs, rhs ast.Expr) *line {
	return &line{pos: pos, tok: token.ASSIGN, lhs: []ast.Expr{lhs}, rhs: []ast.Expr{rhs}}
}

// effect returns a call for its effect.
func (m *emitter) effect(pos token.Pos, call ast.Expr) *line {
	return &line{pos: pos, tok: token.ASSIGN, rhs: []ast.Expr{call}}
}

func (m *emitter) fieldOf(e ast.Expr, path string) ast.Expr {
	if path == "" {
		return e
	}
	for name := range strings.SplitSeq(path, ".") {
		e = m.tree.Select(e, fieldNamed(m.typeOf(e), name))
	}
	return e
}

// partOf returns a value with those fields alone that are carried.
func (m *emitter) partOf(e ast.Expr, t types.Type, p part) ast.Expr {
	fields := m.open(t)
	if m.covers(p, t) {
		return e
	}
	lit := &ast.CompositeLit{Type: m.typeExpr(t, token.NoPos)}
	m.tree.Typed(lit, t)
	for _, f := range fields {
		if s := p.get(f.Name()); !s.none() {
			x := m.fieldOf(m.copy(e), f.Name())
			lit.Elts = append(lit.Elts, &ast.KeyValueExpr{Key: ast.NewIdent(f.Name()), Value: m.partOf(x, f.Type(), s)})
		}
	}
	return lit
}

// covers reports whether a part is all of a value.
func (m *emitter) covers(p part, t types.Type) bool {
	fields := m.open(t)
	return p.all() || fields == nil || !slices.ContainsFunc(fields, func(f *types.Var) bool {
		s := p.get(f.Name())
		return s.none() || !m.covers(s, f.Type())
	})
}

// resourceLines publish or fetch a component, or all of a family.
func (m *emitter) resourceLines(r *edgeRow, word string, pos token.Pos) []*line {
	way, ok := m.src.Way(r.v.resource)
	res := m.g.Resources[r.v.resource]
	if res.Part != "" {
		ok = false // a part of the component
	}
	if !ok {
		if !m.src.Named(r.v.resource) {
			m.bad(pos, res.Name+" cannot be found from the trainer: keep it in a field, or give it a constant name in the constructor")
			return nil
		}
		c := m.runCall("Component", text(res.Name))
		return []*line{m.effect(pos, m.edgeCall(word, r, c))}
	}
	var e ast.Expr = m.ref(m.t)
	var out, inner *line
	for _, s := range way {
		e = &ast.SelectorExpr{X: e, Sel: ast.NewIdent(s.Name)}
		if s.Each {
			member := m.variable("m", nil)
			n := &line{pos: pos, word: "for", ranged: true, value: member, head: []ast.Expr{e}, arms: [][]*line{nil}}
			if inner == nil {
				out = n
			} else {
				inner.arms[0] = []*line{n}
			}
			inner = n
			e = m.ref(member)
		}
	}
	last := m.effect(pos, m.edgeCall(word, r, e))
	if inner == nil {
		return []*line{last}
	}
	inner.arms[0] = []*line{last}
	return []*line{out}
}

// rlName names something of package rl.
func (m *emitter) rlName(name string) ast.Expr {
	return &ast.SelectorExpr{X: ast.NewIdent(m.rlPackage()), Sel: ast.NewIdent(name)}
}

// rlCall calls a function of package rl.
func (m *emitter) rlCall(name string, args ...ast.Expr) ast.Expr {
	return &ast.CallExpr{Fun: m.rlName(name), Args: args}
}

// runCall calls a function of package edge on the run.
func (m *emitter) runCall(name string, args ...ast.Expr) ast.Expr {
	return &ast.CallExpr{Fun: m.edgeFun(name), Args: append([]ast.Expr{m.ref(m.run)}, args...)}
}

// carryAll tells a graph, or a loop or branch of a device program, which variables it
// changes.
func (m *emitter) carryAll(list []*variable) (out []ast.Expr) {
	for _, v := range list {
		out = append(out, m.rlCall("Carry", &ast.UnaryExpr{Op: token.AND, X: m.ref(v)}))
	}
	return out
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

// edgeAt returns the collective edge of an action's argument.
func (m *emitter) edgeAt(a *action, name string) *edgeRow {
	for _, r := range m.rows {
		if r.point == tree.Stmt(a.Assign) && r.from == r.to && r.v == nil && r.path == name {
			m.met[r]++
			return r
		}
	}
	return nil
}
