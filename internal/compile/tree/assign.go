package tree

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// assignment reads an assignment or a definition.
func (b *builder) assignment(s *ast.AssignStmt) {
	switch {
	case s.Tok != token.ASSIGN && s.Tok != token.DEFINE:
		text := OneLine(types.ExprString(s.Lhs[0]) + " " + s.Tok.String() + " " + types.ExprString(s.Rhs[0]))
		place := b.place(s.Lhs[0])
		b.emit(&Assign{Site: b.site(s.Pos()), Lhs: []ast.Expr{place}, Tok: s.Tok, Rhs: []ast.Expr{b.expr(s.Rhs[0])}, Text: text})
	case len(s.Lhs) == len(s.Rhs) && !b.entangled(s):
		for i := range s.Lhs {
			b.single(s, s.Lhs[i:i+1], s.Rhs[i])
		}
	case len(s.Lhs) == len(s.Rhs):
		b.parallel(s)
	default:
		b.single(s, s.Lhs, s.Rhs[0])
	}
}

// single reads an assignment of one value, or of the results of one expression.
func (b *builder) single(s *ast.AssignStmt, lhs []ast.Expr, rhs ast.Expr) {
	text := assigned(lhs, rhs)
	if call, ok := ast.Unparen(rhs).(*ast.CallExpr); ok {
		c := b.called(call)
		if c.alone() || len(lhs) > 1 {
			b.results(s, c, lhs, text)
			return
		}
	}
	value := b.expr(rhs) // v, ok := of a map, an assertion or a channel has two places
	define := len(lhs) == 1 && b.target(lhs[0]) != nil
	b.emit(&Assign{Site: b.site(s.Pos()), Lhs: b.places(lhs), Tok: token.ASSIGN, Rhs: []ast.Expr{value}, Define: define, Text: text})
}

// results assigns the results of a call. A function that is read through gives them
// to variables that nothing in it can know of: to those that the statement defines,
// else to temporaries.
func (b *builder) results(s *ast.AssignStmt, c called, lhs []ast.Expr, text string) {
	vars, direct := make([]*types.Var, len(lhs)), true
	for i, l := range lhs {
		vars[i] = b.target(l)
		direct = direct && (vars[i] != nil && types.Identical(vars[i].Type(), b.resultType(c.source, i)) || len(lhs) > 1 && isBlank(l))
	}
	switch {
	case c.kind == Through && direct:
		b.through(c, vars)
		return
	case c.kind != Through && !b.crossed(lhs) && !slices.ContainsFunc(lhs, isElement):
		a := b.operation(c, text)
		a.Lhs, a.Define = b.places(lhs), direct || len(lhs) == 1 && vars[0] != nil
		b.emit(a)
		return
	}
	hint := "r"
	if len(lhs) == 1 {
		hint = b.hint(c)
	}
	temps := make([]ast.Expr, len(lhs))
	for i := range vars {
		vars[i] = b.temp(hint, b.resultType(c.source, i))
		temps[i] = b.p.Ref(vars[i])
	}
	b.into(c, vars, text)
	places := b.places(lhs)
	if len(lhs) > 1 {
		b.holdIndices(places)
	}
	for i, place := range places {
		b.give(s, lhs[i], place, temps[i], c.source)
	}
}

// into calls a function whose results variables take, nil for one that nobody wants.
func (b *builder) into(c called, vars []*types.Var, text string) {
	if c.kind == Through {
		b.through(c, vars)
		return
	}
	a := b.operation(c, text)
	for _, v := range vars {
		a.Lhs = append(a.Lhs, b.resultPlace(v))
	}
	b.emit(a)
}

// target returns the variable that a definition declares, nil for any other place.
func (b *builder) target(lhs ast.Expr) *types.Var {
	if id, ok := lhs.(*ast.Ident); ok && id.Name != "_" {
		if o := b.fr.Info.Defs[id]; o != nil {
			return b.local(o)
		}
	}
	return nil
}

func assigned(lhs []ast.Expr, rhs ast.Expr) string {
	var list []string
	for _, l := range lhs {
		list = append(list, types.ExprString(l))
	}
	return OneLine(strings.Join(list, ", ") + " = " + types.ExprString(rhs))
}

func isName(e ast.Expr) bool {
	_, ok := e.(*ast.Ident)
	return ok
}

func isBlank(e ast.Expr) bool { return isName(e) && e.(*ast.Ident).Name == "_" }

// isElement reports whether a place is an element, or a part of one.
func isElement(e ast.Expr) bool {
	switch e := ast.Unparen(e).(type) {
	case *ast.IndexExpr:
		return true
	case *ast.SelectorExpr:
		return isElement(e.X)
	}
	return false
}

// parallel reads a tuple assignment by way of temporaries.
func (b *builder) parallel(s *ast.AssignStmt) {
	places := b.places(s.Lhs)
	b.holdIndices(places)
	values := b.operands(s.Rhs)
	for i, v := range values {
		values[i] = b.held(v, "v", b.typeOf(s.Lhs[i]))
	}
	for i, place := range places {
		b.give(s, s.Lhs[i], place, values[i], s.Rhs[i])
	}
}

// give assigns a value that stands for the author's.
func (b *builder) give(s *ast.AssignStmt, lhs, place, value, rhs ast.Expr) {
	if !isBlank(place) {
		b.emit(&Assign{Site: b.site(s.Pos()), Lhs: []ast.Expr{place}, Tok: token.ASSIGN, Rhs: []ast.Expr{value}, Define: b.target(lhs) != nil, Text: assigned([]ast.Expr{lhs}, rhs)})
	}
}

// held returns an expression that later assignments cannot change the value of.
func (b *builder) held(e ast.Expr, hint string, t types.Type) ast.Expr {
	if tv := b.p.Info.Types[e]; tv.Value != nil || tv.IsNil() {
		return e
	}
	if v := b.p.Var(e); v != nil && b.p.Temps[v] {
		return e
	}
	if t == nil {
		t = types.Default(b.p.Info.TypeOf(e))
	}
	v := b.temp(hint, t)
	b.emit(&Assign{Site: b.site(b.pos), Lhs: []ast.Expr{b.p.Ref(v)}, Tok: token.ASSIGN, Rhs: []ast.Expr{e}, Define: true, Text: v.Name() + " = " + types.ExprString(e)})
	return b.p.Ref(v)
}

// entangled reports whether a tuple assignment must not be taken apart as it
// stands: a later value or place mentions what an earlier one assigns, or an
// earlier one writes memory that a later one may read. Operations in places run before
// those in values.
func (b *builder) entangled(s *ast.AssignStmt) bool {
	if slices.ContainsFunc(s.Lhs, b.complex) && slices.ContainsFunc(s.Rhs, b.complex) {
		return true
	}
	roots := map[types.Object]bool{}
	for i := range s.Lhs {
		if i > 0 && (b.mentions(s.Rhs[i], roots) || !isBlank(s.Lhs[i]) && b.reads(s.Lhs[i], roots)) {
			return true
		}
		lhs := ast.Unparen(s.Lhs[i])
		if id, ok := lhs.(*ast.Ident); ok {
			if b.fr.Info.Defs[id] == nil {
				roots[b.fr.Info.ObjectOf(id)] = true
			}
			continue
		}
		if i < len(s.Lhs)-1 { // a field or an element: what shares its memory is not known here
			return true
		}
	}
	return false
}

// crossed reports whether a place reads a variable that the same statement
// assigns.
func (b *builder) crossed(lhs []ast.Expr) bool {
	roots := map[types.Object]bool{}
	for _, e := range lhs {
		if id, ok := ast.Unparen(e).(*ast.Ident); ok {
			roots[b.fr.Info.ObjectOf(id)] = true
		}
	}
	return slices.ContainsFunc(lhs, func(e ast.Expr) bool { return b.reads(e, roots) })
}

// mentions reports whether an expression names one of some variables.
func (b *builder) mentions(e ast.Expr, vars map[types.Object]bool) bool {
	for id := range Nodes[*ast.Ident](e) {
		if id.Name != "_" && vars[b.fr.Info.ObjectOf(id)] {
			return true
		}
	}
	return false
}

// reads reports whether assigning to a place reads one of some variables.
func (b *builder) reads(place ast.Expr, vars map[types.Object]bool) bool {
	if _, plain := ast.Unparen(place).(*ast.Ident); plain {
		return false
	}
	return b.mentions(place, vars)
}

// places reads what is assigned to.
func (b *builder) places(list []ast.Expr) (out []ast.Expr) {
	for _, e := range list {
		out = append(out, b.place(e))
	}
	return out
}

// place reads what is assigned to: a variable, a field or an element. One of what a call or
// a type assertion returns is that of a temporary.
func (b *builder) place(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return b.place(e.X)
	case *ast.Ident:
		if e.Name == "_" {
			return ast.NewIdent("_")
		}
		if o := b.fr.Info.Defs[e]; o != nil {
			return b.p.Ref(b.local(o))
		}
	}
	out := b.expr(e)
	if at := base(&out); !isName(*at) {
		*at = b.held(*at, "of", nil)
	}
	return out
}

// holdIndices keeps the indices of places, which later assignments may change.
func (b *builder) holdIndices(places []ast.Expr) {
	for _, place := range places {
		switch e := place.(type) {
		case *ast.SelectorExpr:
			b.holdIndices([]ast.Expr{e.X})
		case *ast.IndexExpr:
			b.holdIndices([]ast.Expr{e.X})
			e.Index = b.held(e.Index, "at", nil)
			if _, slice := b.p.Info.TypeOf(e.X).Underlying().(*types.Slice); slice {
				e.X = b.held(e.X, "of", nil)
			}
		}
	}
}

// returned assigns the results of a function that is read through.
func (b *builder) returned(pos token.Pos, to []*types.Var, results []ast.Expr) {
	if len(results) == 1 {
		if call, ok := ast.Unparen(results[0]).(*ast.CallExpr); ok {
			c := b.called(call)
			same := len(to) > 1 || types.Identical(b.typeOf(call), to[0].Type())
			if c.kind == Through && same || c.kind.Operation() || c.kind != Through && (len(c.fills) > 0 || len(to) > 1) {
				b.into(c, to, types.ExprString(call))
				return
			}
		}
	}
	for i, e := range b.operands(results) {
		b.emit(&Assign{Site: b.site(pos), Lhs: []ast.Expr{b.resultPlace(to[i])}, Tok: token.ASSIGN, Rhs: []ast.Expr{e}, Text: OneLine(types.ExprString(results[i]))})
	}
}

func (b *builder) resultPlace(v *types.Var) ast.Expr {
	if v == nil {
		return ast.NewIdent("_")
	}
	return b.p.Ref(v)
}
