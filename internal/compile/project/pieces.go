package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

// simple reads an assignment or a call: whole if one group alone has a part in it.
func (l *lowerer) simple(fr *frame, s ast.Stmt) block {
	p := &pieces{l: l, fr: fr, s: s}
	switch s := s.(type) {
	case *ast.ExprStmt:
		if l.scan(fr, s).single() {
			p.emit(nil, token.ILLEGAL, []ast.Expr{l.clone(fr, s.X)}, l.scan(fr, s))
			return p.out
		}
		if e := p.flat(s.X, true, ""); !isName(e) {
			p.emit(nil, token.ILLEGAL, []ast.Expr{e}, p.left(s.X))
		}
	case *ast.IncDecStmt:
		p.emit([]ast.Expr{l.clone(fr, s.X)}, s.Tok, nil, l.scan(fr, s))
	case *ast.AssignStmt:
		p.assignment(s)
	}
	return p.out
}

func isName(e ast.Expr) bool { _, ok := e.(*ast.Ident); return ok }

// pieces are what one statement of the author's becomes.
type pieces struct {
	l   *lowerer
	fr  *frame
	s   ast.Stmt
	out block
}

func (p *pieces) site() site { return p.l.site(p.fr, p.s) }

func (p *pieces) assignment(s *ast.AssignStmt) {
	l, fr := p.l, p.fr
	f := l.scan(fr, s)
	switch {
	case s.Tok != token.ASSIGN && s.Tok != token.DEFINE:
		e := p.flat(s.Rhs[0], f.single(), "x")
		if !f.single() {
			f = found{}
			l.computed(fr, s.Lhs, &f)
		}
		p.emit(l.clones(fr, s.Lhs), s.Tok, []ast.Expr{e}, f)
	case len(s.Lhs) > 1 && len(s.Lhs) == len(s.Rhs):
		p.parallel(s)
	case f.single():
		p.emit(l.clones(fr, s.Lhs), s.Tok, l.clones(fr, s.Rhs), f)
	default:
		p.single(s)
	}
}

// single takes an assignment from one expression apart.
func (p *pieces) single(s *ast.AssignStmt) {
	l, fr := p.l, p.fr
	if call, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr); ok && p.reads(call) {
		if targets, ok := p.targets(s); ok {
			p.inline(call, targets, l.site(fr, s).after)
			return
		}
		results := p.results(call)
		var rhs []ast.Expr
		for _, t := range results {
			rhs = append(rhs, l.ref(t.v))
		}
		p.inline(call, results, "")
		for i := range s.Lhs {
			p.emit([]ast.Expr{l.clone(fr, s.Lhs[i])}, token.ASSIGN, rhs[i:i+1], found{})
		}
		return
	}
	e := p.flat(s.Rhs[0], true, "")
	f := p.left(s.Rhs[0])
	l.computed(fr, s.Lhs, &f)
	p.emit(l.clones(fr, s.Lhs), s.Tok, []ast.Expr{e}, f)
}

// targets are the variables that an assignment gives the results of a call to, if
// it is to variables alone.
func (p *pieces) targets(s *ast.AssignStmt) (out []target, ok bool) {
	for _, e := range s.Lhs {
		id, ok := ast.Unparen(e).(*ast.Ident)
		if !ok {
			return nil, false
		}
		if id.Name == "_" {
			out = append(out, target{})
			continue
		}
		if _, computed := p.l.src.Node(analyze.Place(p.fr.Place, id.Pos()), analyze.OfAssign); computed {
			return nil, false
		}
		out = append(out, target{p.l.local(p.fr, p.fr.Info.ObjectOf(id)), p.fr.Info.Defs[id] != nil})
	}
	return out, true
}

// results are temporaries for what a call that is read through returns.
func (p *pieces) results(call *ast.CallExpr) (out []target) {
	place := analyze.Place(p.fr.Place, call.Pos())
	c, _ := p.l.src.Inlined(place)
	res := c.Fn.Signature().Results()
	for i := range res.Len() {
		name := res.At(i).Name()
		if name == "" || name == "_" {
			name = lower(c.Fn.Name())
		}
		v := p.l.variable(name, c.Subst(res.At(i).Type()))
		v.temp, v.origin = true, func(path string) []analyze.Origin { return p.l.src.Returned(place, i, path) }
		out = append(out, target{v, true})
	}
	return out
}

// parallel splits a tuple assignment, unless a later value would see what an
// earlier one assigned.
func (p *pieces) parallel(s *ast.AssignStmt) {
	l, fr := p.l, p.fr
	if l.scan(fr, s).single() && p.entangled(s.Lhs, s.Rhs) {
		p.emit(l.clones(fr, s.Lhs), s.Tok, l.clones(fr, s.Rhs), l.scan(fr, s))
		return
	}
	rhs := s.Rhs
	var kept []ast.Expr
	if p.entangled(s.Lhs, s.Rhs) {
		for _, e := range rhs {
			kept = append(kept, p.flat(e, false, ""))
		}
		p.emit(l.clones(fr, s.Lhs), s.Tok, kept, found{})
		return
	}
	for i := range s.Lhs {
		tok := s.Tok
		if id, ok := s.Lhs[i].(*ast.Ident); ok && tok == token.DEFINE && fr.Info.Defs[id] == nil {
			tok = token.ASSIGN
		}
		p.assignment(&ast.AssignStmt{Lhs: s.Lhs[i : i+1], TokPos: s.TokPos, Tok: tok, Rhs: rhs[i : i+1]})
	}
}

// entangled reports whether a value reads a variable that stands to its left.
func (p *pieces) entangled(lhs, rhs []ast.Expr) bool {
	roots := map[types.Object]bool{}
	for i, e := range rhs {
		hit := false
		ast.Inspect(e, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && roots[p.fr.Info.ObjectOf(id)] {
				hit = true
			}
			return !hit
		})
		if hit {
			return true
		}
		if id := rootOf(lhs[i]); id != nil && p.fr.Info.Defs[id] == nil {
			roots[p.fr.Info.ObjectOf(id)] = true
		}
	}
	return false
}

func rootOf(e ast.Expr) *ast.Ident {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return rootOf(e.X)
	case *ast.IndexExpr:
		return rootOf(e.X)
	}
	return nil
}

// assign gives a function's results to their targets.
func (p *pieces) assign(targets []target, results []ast.Expr) {
	l, fr := p.l, p.fr
	if len(results) == 1 && len(targets) > 1 { // return f()
		call, ok := ast.Unparen(results[0]).(*ast.CallExpr)
		if ok && p.reads(call) {
			p.inline(call, targets, fr.after)
			return
		}
		p.emit(p.refs(targets), token.ASSIGN, []ast.Expr{p.flat(results[0], true, "")}, p.left(results[0]))
		return
	}
	var values []ast.Expr
	var rests []found
	for i, e := range results {
		f := l.scan(fr, e)
		call, isCall := ast.Unparen(e).(*ast.CallExpr)
		switch {
		case isCall && p.reads(call) && i < len(targets) && len(results) == 1:
			p.inline(call, targets, fr.after)
			return
		case f.single():
			values, rests = append(values, l.clone(fr, e)), append(rests, f)
		default:
			values, rests = append(values, p.flat(e, true, "")), append(rests, p.left(e))
		}
	}
	for i, e := range values {
		if i >= len(targets) || targets[i].v == nil {
			if len(rests[i].nodes) > 0 {
				p.emit(nil, token.ILLEGAL, []ast.Expr{e}, rests[i])
			}
			continue
		}
		p.emit(p.refs(targets[i:i+1]), token.ASSIGN, []ast.Expr{e}, rests[i])
	}
}

func (p *pieces) refs(targets []target) (lhs []ast.Expr) {
	for _, t := range targets {
		if t.v == nil {
			lhs = append(lhs, ast.NewIdent("_"))
		} else {
			lhs = append(lhs, p.l.ref(t.v))
		}
	}
	return lhs
}

// reads reports whether a call has to be read through.
func (p *pieces) reads(call *ast.CallExpr) bool {
	place := analyze.Place(p.fr.Place, call.Pos())
	if _, ok := p.l.src.Inlined(place); !ok {
		return false
	}
	return !p.inner(call).single()
}

// inner is what stands in a call that can be read through, without its arguments.
func (p *pieces) inner(call *ast.CallExpr) (f found) {
	p.l.scanCall(p.fr, call, &f)
	return f
}

// left is what remains in an expression whose parts were pulled out: the
// outermost operation, or nothing.
func (p *pieces) left(e ast.Expr) (f found) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		return f
	}
	place := analyze.Place(p.fr.Place, call.Pos())
	if id, ok := p.l.src.Node(place, analyze.OfCall); ok {
		f.add(p.l, id)
		f.fn = p.fr.Callee(call)
	}
	if _, ok := p.l.src.Inlined(place); ok && !p.reads(call) {
		return p.inner(call)
	}
	return f
}

// flat copies an expression and puts operations in it, in the order in which they
// run, before it. top leaves the outermost one where it is.
func (p *pieces) flat(e ast.Expr, top bool, hint string) ast.Expr {
	l, fr := p.l, p.fr
	f := l.scan(fr, e)
	if len(f.nodes) == 0 || top && f.single() {
		return l.clone(fr, e)
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.flat(e.X, top, hint)
	case *ast.CallExpr:
		return p.call(e, f, top, hint)
	case *ast.CompositeLit:
		names := fieldsOf(fr.Subst(fr.Info.TypeOf(e)))
		at := 0
		return l.literal(fr, e, func(_ *frame, x ast.Expr) ast.Expr {
			h := hint
			if kv, ok := e.Elts[at].(*ast.KeyValueExpr); ok && names != nil {
				h = kv.Key.(*ast.Ident).Name
			} else if at < len(names) {
				h = names[at].Name()
			}
			at++
			return p.flat(x, false, h)
		})
	case *ast.BinaryExpr:
		return &ast.BinaryExpr{X: p.flat(e.X, false, hint), Op: e.Op, Y: p.flat(e.Y, false, hint)}
	case *ast.UnaryExpr:
		return &ast.UnaryExpr{Op: e.Op, X: p.flat(e.X, false, hint)}
	case *ast.SelectorExpr:
		out := &ast.SelectorExpr{X: p.flat(e.X, false, hint), Sel: ast.NewIdent(e.Sel.Name)}
		if sel, ok := fr.Info.Selections[e]; ok && sel.Kind() == types.FieldVal {
			l.paths[out] = fieldPath(sel)
		}
		l.types[out] = fr.Subst(fr.Info.TypeOf(e))
		return out
	case *ast.IndexExpr:
		return &ast.IndexExpr{X: p.flat(e.X, false, hint), Index: p.flat(e.Index, false, "at")}
	case *ast.SliceExpr:
		return &ast.SliceExpr{X: p.flat(e.X, false, hint), Low: l.clone(fr, e.Low), High: l.clone(fr, e.High), Max: l.clone(fr, e.Max), Slice3: e.Slice3}
	}
	return l.clone(fr, e)
}

func (p *pieces) call(e *ast.CallExpr, f found, top bool, hint string) ast.Expr {
	l, fr := p.l, p.fr
	place := analyze.Place(fr.Place, e.Pos())
	if p.reads(e) {
		results := p.results(e)
		if hint != "" && len(results) == 1 {
			results[0].v.name = lower(hint)
		}
		p.inline(e, results, "")
		if len(results) == 0 {
			return ast.NewIdent("_")
		}
		return l.ref(results[0].v)
	}
	_, isOp := l.src.Node(place, analyze.OfCall)
	_, inlined := l.src.Inlined(place)
	held := inlined && len(l.src.Within(place)) > 0
	if f.single() && (isOp || held) { // here !top
		return p.temp(l.clone(fr, e), e, f, hint)
	}
	out := &ast.CallExpr{Fun: p.fun(e.Fun), Ellipsis: e.Ellipsis}
	l.callee[out], l.types[out] = fr.Callee(e), fr.Subst(fr.Info.TypeOf(e))
	names := params(fr.Callee(e))
	for i, a := range e.Args {
		h := hint
		if i < len(names) && names[i] != "" && names[i] != "_" {
			h = names[i]
		}
		out.Args = append(out.Args, p.flat(a, false, h))
	}
	if top || !isOp && !held {
		return out
	}
	return p.temp(out, e, p.left(e), hint)
}

func params(fn *types.Func) (out []string) {
	if fn == nil {
		return nil
	}
	for i := range fn.Signature().Params().Len() {
		out = append(out, fn.Signature().Params().At(i).Name())
	}
	return out
}

// fun copies what is called, with operations in the receiver before it.
func (p *pieces) fun(e ast.Expr) ast.Expr {
	if sel, ok := ast.Unparen(e).(*ast.SelectorExpr); ok && len(p.l.scan(p.fr, sel.X).nodes) > 0 {
		return &ast.SelectorExpr{X: p.flat(sel.X, false, "x"), Sel: ast.NewIdent(sel.Sel.Name)}
	}
	return p.l.clone(p.fr, e)
}

// temp gives an operation's result a name.
func (p *pieces) temp(e ast.Expr, call *ast.CallExpr, f found, hint string) ast.Expr {
	t := p.fr.Subst(p.fr.Info.TypeOf(call))
	if tuple, ok := t.(*types.Tuple); ok {
		if tuple.Len() != 1 {
			p.l.bad(call.Pos(), "several results cannot be taken apart where they stand; assign them to variables first")
			return e
		}
		t = tuple.At(0).Type()
	}
	if len(hint) < 2 {
		hint = calleeName(call)
	}
	v := p.l.variable(lower(hint), t)
	v.temp = true
	place := analyze.Place(p.fr.Place, call.Pos())
	if id, ok := p.l.src.Node(place, analyze.OfCall); ok {
		v.origin = func(path string) []analyze.Origin { return []analyze.Origin{{Node: id, Part: path}} }
	} else {
		v.origin = func(path string) []analyze.Origin { return p.l.src.Returned(place, 0, path) }
	}
	p.emit([]ast.Expr{p.l.ref(v)}, token.DEFINE, []ast.Expr{e}, f)
	return p.l.ref(v)
}

// calleeName is what a call's result may be called: after the function, or, of a
// graph function, after the field that holds it.
func calleeName(call *ast.CallExpr) string {
	fun := ast.Unparen(call.Fun)
	if i, ok := fun.(*ast.IndexExpr); ok {
		fun = i.X
	}
	switch f := fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		if held, ok := ast.Unparen(f.X).(*ast.SelectorExpr); ok && (f.Sel.Name == "Call" || f.Sel.Name == "Rows" || f.Sel.Name == "Get") {
			return held.Sel.Name
		}
		return f.Sel.Name
	}
	return "v"
}

func lower(s string) string {
	if s == strings.ToUpper(s) {
		return strings.ToLower(s)
	}
	return strings.ToLower(s[:1]) + s[1:]
}
