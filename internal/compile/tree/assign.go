package tree

import (
	"go/ast"
	"go/token"
	"go/types"
)

// assignment reads an assignment or a definition.
func (b *builder) assignment(s *ast.AssignStmt) {
	switch {
	case s.Tok != token.ASSIGN && s.Tok != token.DEFINE:
		text := oneLine(types.ExprString(s.Lhs[0]) + " " + s.Tok.String() + " " + types.ExprString(s.Rhs[0]))
		value := b.expr(s.Rhs[0])
		b.emit(&Assign{Site: b.site(s.Pos()), Lhs: []ast.Expr{b.place(s.Lhs[0])}, Tok: s.Tok, Rhs: []ast.Expr{value}, Text: text})
	case len(s.Lhs) == 1 && len(s.Rhs) == 1:
		b.single(s, s.Lhs[0], s.Rhs[0])
	case len(s.Lhs) == len(s.Rhs):
		b.parallel(s)
	default:
		b.several(s)
	}
}

// single reads an assignment of one value.
func (b *builder) single(s *ast.AssignStmt, lhs, rhs ast.Expr) {
	text := oneLine(types.ExprString(lhs) + " = " + types.ExprString(rhs))
	if call, ok := ast.Unparen(rhs).(*ast.CallExpr); ok {
		if c := b.called(call); c.kind == Through {
			if v := b.target(lhs); v != nil && types.Identical(v.Type(), b.typeOf(rhs)) {
				b.through(c, []*types.Var{v})
				return
			}
		} else if c.kind.Operation() || len(c.fills) > 0 {
			a := b.operation(c, text)
			a.Lhs, a.Define = []ast.Expr{b.place(lhs)}, b.defines(lhs)
			b.emit(a)
			return
		}
	}
	value := b.expr(rhs)
	b.emit(&Assign{Site: b.site(s.Pos()), Lhs: []ast.Expr{b.place(lhs)}, Tok: token.ASSIGN, Rhs: []ast.Expr{value}, Define: b.defines(lhs), Text: text})
}

// target returns the variable that a definition declares, which nothing that is
// called on its right can know of; nil for any other place.
func (b *builder) target(lhs ast.Expr) *types.Var {
	if id, ok := lhs.(*ast.Ident); ok && id.Name != "_" {
		if o := b.fr.Info.Defs[id]; o != nil {
			return b.local(o)
		}
	}
	return nil
}

// defines reports whether a place is a variable that is declared here.
func (b *builder) defines(lhs ast.Expr) bool { return b.target(lhs) != nil }

// several reads an assignment of the results of one expression.
func (b *builder) several(s *ast.AssignStmt) {
	call, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
	if !ok { // v, ok := of a map, an assertion or a channel
		value := b.expr(s.Rhs[0])
		b.emit(&Assign{Site: b.site(s.Pos()), Lhs: b.places(s.Lhs), Tok: token.ASSIGN, Rhs: []ast.Expr{value}, Text: assigned(s)})
		return
	}
	results := make([]*types.Var, len(s.Lhs))
	tuple, _ := b.typeOf(call).(*types.Tuple)
	direct := true
	for i, l := range s.Lhs {
		results[i] = b.target(l)
		direct = direct && (results[i] != nil && tuple != nil && types.Identical(results[i].Type(), tuple.At(i).Type()) || isBlank(l))
	}
	c := b.called(call)
	if direct || c.kind != Through && !b.crossed(s.Lhs) {
		if c.kind == Through {
			b.through(c, results)
			return
		}
		a := b.operation(c, assigned(s))
		a.Lhs = b.places(s.Lhs)
		a.Define = direct
		b.emit(a)
		return
	}
	var temps []ast.Expr
	for i := range results {
		results[i] = b.temp("r", tuple.At(i).Type())
		temps = append(temps, b.p.Ref(results[i]))
	}
	if c.kind == Through {
		b.through(c, results)
	} else {
		a := b.operation(c, assigned(s))
		for _, v := range results {
			a.Lhs = append(a.Lhs, b.p.Ref(v))
		}
		b.emit(a)
	}
	b.assignAll(s, b.heldPlaces(s.Lhs), temps)
}

func assigned(s *ast.AssignStmt) string {
	text := ""
	for i, l := range s.Lhs {
		if i > 0 {
			text += ", "
		}
		text += types.ExprString(l)
	}
	return oneLine(text + " = " + types.ExprString(s.Rhs[0]))
}

func isBlank(e ast.Expr) bool {
	id, ok := e.(*ast.Ident)
	return ok && id.Name == "_"
}

// parallel reads a tuple assignment: one after another where no value and no place
// has a part in what was assigned before, else by way of temporaries.
func (b *builder) parallel(s *ast.AssignStmt) {
	if !b.entangled(s) {
		for i := range s.Lhs {
			b.single(s, s.Lhs[i], s.Rhs[i])
		}
		return
	}
	places := b.heldPlaces(s.Lhs)
	values := b.operands(s.Rhs)
	for i, v := range values {
		values[i] = b.held(v, "v", b.typeOf(s.Lhs[i]))
	}
	b.assignAll(s, places, values)
}

// assignAll assigns values, one after another.
func (b *builder) assignAll(s *ast.AssignStmt, places, values []ast.Expr) {
	for i, place := range places {
		if isBlank(place) && b.p.Var(place) == nil {
			continue
		}
		b.emit(&Assign{Site: b.site(s.Pos()), Lhs: []ast.Expr{place}, Tok: token.ASSIGN, Rhs: []ast.Expr{values[i]}, Define: b.defines(s.Lhs[i]), Text: oneLine(types.ExprString(s.Lhs[i]) + " = " + types.ExprString(s.Rhs[min(i, len(s.Rhs)-1)]))})
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
// earlier one writes memory that a later one may read.
func (b *builder) entangled(s *ast.AssignStmt) bool {
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
	for _, e := range lhs {
		if _, plain := ast.Unparen(e).(*ast.Ident); !plain && b.mentions(e, roots) {
			return true
		}
	}
	return false
}

// mentions reports whether an expression names one of some variables.
func (b *builder) mentions(e ast.Expr, vars map[types.Object]bool) (yes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		yes = yes || ok && id.Name != "_" && vars[b.fr.Info.ObjectOf(id)]
		return !yes
	})
	return yes
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

// place reads what is assigned to: a variable, a field or an element.
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
	return b.expr(e)
}

// heldPlaces reads places whose indices later assignments cannot change.
func (b *builder) heldPlaces(list []ast.Expr) (out []ast.Expr) {
	for _, e := range list {
		place := b.place(e)
		b.holdIndices(place)
		out = append(out, place)
	}
	return out
}

func (b *builder) holdIndices(place ast.Expr) {
	switch e := place.(type) {
	case *ast.SelectorExpr:
		b.holdIndices(e.X)
	case *ast.IndexExpr:
		b.holdIndices(e.X)
		e.Index = b.held(e.Index, "at", nil)
		if _, slice := b.p.Info.TypeOf(e.X).Underlying().(*types.Slice); slice {
			e.X = b.held(e.X, "of", nil)
		}
	}
}

// give assigns the results of a function that is read through.
func (b *builder) give(pos token.Pos, to []*types.Var, results []ast.Expr) {
	if len(results) == 1 && len(to) > 1 { // return f()
		c := b.called(ast.Unparen(results[0]).(*ast.CallExpr))
		if c.kind == Through {
			b.through(c, to)
			return
		}
		a := b.operation(c, types.ExprString(results[0]))
		for _, v := range to {
			a.Lhs = append(a.Lhs, b.resultPlace(v))
		}
		b.emit(a)
		return
	}
	if len(results) == 1 {
		if call, ok := ast.Unparen(results[0]).(*ast.CallExpr); ok {
			c := b.called(call)
			switch {
			case c.kind == Through && types.Identical(b.typeOf(call), to[0].Type()):
				b.through(c, to)
				return
			case c.kind.Operation() || len(c.fills) > 0 && c.kind != Through:
				a := b.operation(c, types.ExprString(call))
				a.Lhs = []ast.Expr{b.resultPlace(to[0])}
				b.emit(a)
				return
			}
		}
	}
	for i, e := range b.operands(results) {
		b.emit(&Assign{Site: b.site(pos), Lhs: []ast.Expr{b.resultPlace(to[i])}, Tok: token.ASSIGN, Rhs: []ast.Expr{e}, Text: oneLine(types.ExprString(results[i]))})
	}
}

func (b *builder) resultPlace(v *types.Var) ast.Expr {
	if v == nil {
		return ast.NewIdent("_")
	}
	return b.p.Ref(v)
}
