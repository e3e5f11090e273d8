package tree

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// Callee returns the origin of the declared function or method that a call names,
// or nil.
func Callee(info *types.Info, call *ast.CallExpr) *types.Func {
	id := calleeName(call)
	if id == nil {
		return nil
	}
	fn, _ := info.ObjectOf(id).(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// Builtin returns the name of the builtin function that a call names, or nothing.
func Builtin(info *types.Info, call *ast.CallExpr) string {
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if f, ok := info.ObjectOf(id).(*types.Builtin); ok {
			return f.Name()
		}
	}
	return ""
}

// calleeName returns the name of what is called, or nil.
func calleeName(call *ast.CallExpr) *ast.Ident {
	fun := ast.Unparen(call.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = ast.Unparen(f.X)
	case *ast.IndexListExpr:
		fun = ast.Unparen(f.X)
	}
	switch f := fun.(type) {
	case *ast.Ident:
		return f
	case *ast.SelectorExpr:
		return f.Sel
	}
	return nil
}

// called is a call that is being read.
type called struct {
	source *ast.CallExpr
	fn     *types.Func // what runs; nil for a builtin, a conversion or a function value
	kind   Kind
	fills  []int
	recv   ast.Expr // in the tree, if it was read to find out what runs
}

// alone reports whether a call is a statement, or several, of its own.
func (c called) alone() bool { return c.kind == Through || c.kind.Operation() || len(c.fills) > 0 }

// kind says what a call is, without reading its receiver.
func (b *builder) kind(call *ast.CallExpr) Kind {
	if b.fr.Info.Types[call.Fun].IsType() {
		return Pure
	}
	fn := Callee(b.fr.Info, call)
	if fn == nil {
		return Pure
	}
	return b.Classify(call, fn, b.typeOf)
}

// fillsOf returns which of its arguments a call writes to, and -1 for the receiver.
func (b *builder) fillsOf(call *ast.CallExpr, fn *types.Func) []int {
	if fn != nil {
		return b.Fills(fn)
	}
	if slices.Contains([]string{"copy", "clear", "append"}, Builtin(b.fr.Info, call)) {
		return []int{0}
	}
	return nil
}

// called finds out what a call runs.
func (b *builder) called(call *ast.CallExpr) called {
	c := called{source: call, fn: Callee(b.fr.Info, call), kind: b.kind(call)}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if ok && c.kind == Through && Dynamic(c.fn) {
		c.recv = b.expr(sel.X)
		if s := b.fr.Info.Selections[sel]; s != nil {
			c.recv = b.embedded(c.recv, s)
		}
		behind := b.Resolve(b.p, c.recv, c.fn)
		if behind == nil {
			c.kind = Refused
			return c
		}
		c.fn = behind.Origin()
		c.kind = b.Classify(call, c.fn, b.typeOf)
	}
	c.fills = b.fillsOf(call, c.fn)
	if _, ok := b.Source(c.fn); c.kind == Through && !ok {
		c.kind = Pure
	}
	return c
}

// call reads a call inside an expression.
func (b *builder) call(e *ast.CallExpr) ast.Expr {
	c := b.called(e)
	if !c.alone() {
		return b.bareCall(c)
	}
	if tuple, ok := b.typeOf(e).(*types.Tuple); ok {
		if tuple.Len() > 0 {
			b.report(e.Pos(), "statement", "several results cannot be taken apart where they stand", "assign them to variables first")
		}
		for _, v := range b.drop(c, e) {
			return b.p.Ref(v)
		}
		return ast.NewIdent("_")
	}
	if c.kind == Through {
		v := b.temp(b.hint(c), b.typeOf(e))
		b.through(c, []*types.Var{v})
		return b.p.Ref(v)
	}
	a := b.operation(c, OneLine(types.ExprString(e)))
	v := b.temp(b.hint(c), b.typeOf(e))
	a.Lhs, a.Define = []ast.Expr{b.p.Ref(v)}, true
	b.emit(a)
	return b.p.Ref(v)
}

// hint returns what a call's result may be called.
func (b *builder) hint(c called) string {
	name := "v"
	if c.fn != nil {
		name = c.fn.Name()
		if sel, ok := ast.Unparen(c.source.Fun).(*ast.SelectorExpr); ok {
			if held, ok := ast.Unparen(sel.X).(*ast.SelectorExpr); ok && (name == "Call" || name == "Rows" || name == "Get") {
				name = held.Sel.Name
			}
		}
	}
	return lower(name)
}

// effect reads a call for its effect.
func (b *builder) effect(e ast.Expr) {
	call, ok := ast.Unparen(e).(*ast.CallExpr)
	if !ok {
		b.report(e.Pos(), "statement", "this statement does nothing", "leave it out")
		return
	}
	b.drop(b.called(call), e)
}

// drop calls a function whose results nobody wants, and returns the variables that have them.
func (b *builder) drop(c called, e ast.Expr) (results []*types.Var) {
	if c.kind == Through {
		results = make([]*types.Var, c.fn.Signature().Results().Len())
		b.through(c, results)
	} else {
		b.emit(b.operation(c, OneLine(types.ExprString(e))))
	}
	return results
}

// resultType returns the type of one of a call's results.
func (b *builder) resultType(call *ast.CallExpr, i int) types.Type {
	t := b.typeOf(call)
	if tuple, ok := t.(*types.Tuple); ok {
		return tuple.At(i).Type()
	}
	return t
}

// operation returns a call that stays one, as a statement without places.
func (b *builder) operation(c called, text string) *Assign {
	call := b.bareCall(c)
	a := &Assign{Site: b.site(c.source.Pos()), Tok: token.ASSIGN, Rhs: []ast.Expr{call}, Text: text}
	if c.kind.Operation() {
		a.Op = &Op{Kind: c.kind, Call: call, Fn: c.fn, Source: c.source}
	}
	for _, i := range c.fills {
		switch sel, _ := ast.Unparen(call.Fun).(*ast.SelectorExpr); {
		case i >= 0 && i < len(call.Args):
			a.Fills = append(a.Fills, call.Args[i])
		case i < 0 && sel != nil:
			a.Fills = append(a.Fills, sel.X)
		}
	}
	return a
}

// bareCall copies a call as it stands, with its operands: what a method is called
// on is the first of them.
func (b *builder) bareCall(c called) *ast.CallExpr {
	e := c.source
	out := &ast.CallExpr{Lparen: e.Lparen, Ellipsis: e.Ellipsis, Rparen: e.Rparen}
	sel, method := ast.Unparen(e.Fun).(*ast.SelectorExpr)
	switch {
	case c.recv != nil:
		out.Fun, out.Args = b.selected(sel, c.recv), b.operands(e.Args)
	case method && b.fr.Info.Selections[sel] != nil:
		list := b.operands(append([]ast.Expr{sel.X}, e.Args...))
		out.Fun, out.Args = b.selected(sel, list[0]), list[1:]
	default:
		out.Args = b.operands(e.Args)
		out.Fun = b.expr(e.Fun)
	}
	b.know(out, e)
	return out
}

// deepest is how many functions are read through, one inside another.
// Constructors and graph functions may recurse, on data that nobody follows.
const deepest = 40

// through reads a function as if its body stood here. Its results end up in
// variables; nil is for one that nobody wants.
func (b *builder) through(c called, results []*types.Var) {
	for i, v := range results {
		if v == nil {
			results[i] = b.temp("r", b.resultType(c.source, i))
		}
	}
	again := len(b.fr.calls) > deepest
	for f := b.fr; f != nil; f = f.up {
		if f.fn == c.fn {
			again = true
			b.report(c.source.Pos(), "recursion", fmt.Sprintf("%s calls itself around operations", c.fn.Name()), "write a loop")
			break
		}
	}
	if again {
		b.zero(results)
		return
	}
	src, _ := b.Source(c.fn)
	call := b.bareCall(c)
	region := &Call{Site: b.site(c.source.Pos()), Fn: c.fn, Expr: call, Source: c.source, Results: results}
	fr := &frame{
		Source: src, up: b.fr, fn: c.fn, returns: src.Decl.Type.Results, targs: b.instantiated(c), vars: map[types.Object]*types.Var{}, subst: map[types.Object]ast.Expr{},
		calls: append(b.fr.calls[:len(b.fr.calls):len(b.fr.calls)], c.source.Pos()), results: results, exit: &exit{},
	}
	caller, jumps := b.fr, b.jumps
	b.jumps = nil
	region.Body = b.within(region, func() {
		b.fr = fr
		b.bind(caller, c, call)
		b.pinned(src.Decl, func() { b.body(fr) })
	})
	b.fr, b.jumps = caller, jumps
	b.emit(region)
}

// zero gives variables their zero values, where a function is not read.
func (b *builder) zero(results []*types.Var) {
	for _, v := range results {
		b.declare(b.pos, v)
	}
}

// body reads the body of a function. Results that are given values in several
// places begin with none.
func (b *builder) body(fr *frame) {
	if len(fr.results) > 0 && returnsIn(fr.Decl.Body) > 1 {
		b.zero(fr.results)
	}
	b.namedResults()
	b.out = append(b.out, b.eliminate(b.block(fr.Decl.Body.List), fr.exit)...)
}

// returnsIn counts the returns of a function.
func returnsIn(body *ast.BlockStmt) (n int) {
	ast.Inspect(body, func(x ast.Node) bool {
		if _, ok := x.(*ast.ReturnStmt); ok {
			n++
		}
		_, inner := x.(*ast.FuncLit)
		return !inner
	})
	return n
}

// instantiated says what the type parameters of a call's function stand for.
func (b *builder) instantiated(c called) map[*types.TypeParam]types.Type {
	out := map[*types.TypeParam]types.Type{}
	inst := b.fr.Info.Instances[calleeName(c.source)]
	for i, p := 0, c.fn.Signature().TypeParams(); i < p.Len() && i < inst.TypeArgs.Len(); i++ {
		out[p.At(i)] = b.subst(inst.TypeArgs.At(i))
	}
	if named := b.receiverType(c); named != nil {
		for i, p := 0, c.fn.Signature().RecvTypeParams(); i < p.Len() && i < named.TypeArgs().Len(); i++ {
			out[p.At(i)] = b.subst(named.TypeArgs().At(i))
		}
	}
	return out
}

// receiverType returns the declared type that a method's receiver has, or nil.
func (b *builder) receiverType(c called) *types.Named {
	sel, ok := ast.Unparen(c.source.Fun).(*ast.SelectorExpr)
	if !ok || b.fr.Info.Selections[sel] == nil {
		return nil
	}
	method, _ := b.fr.Info.Selections[sel].Obj().(*types.Func)
	if method == nil || method.Signature().Recv() == nil {
		return nil
	}
	t := b.subst(method.Signature().Recv().Type())
	if p, ok := types.Unalias(t).(*types.Pointer); ok {
		t = p.Elem()
	}
	named, _ := types.Unalias(t).(*types.Named)
	return named
}
