package tree

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
)

// Callee returns the origin of the declared function or method that a call names,
// or nil.
func Callee(info *types.Info, call *ast.CallExpr) *types.Func {
	fun := ast.Unparen(call.Fun)
	switch f := fun.(type) {
	case *ast.IndexExpr:
		fun = f.X
	case *ast.IndexListExpr:
		fun = f.X
	}
	var id *ast.Ident
	switch f := ast.Unparen(fun).(type) {
	case *ast.Ident:
		id = f
	case *ast.SelectorExpr:
		id = f.Sel
	default:
		return nil
	}
	fn, _ := info.ObjectOf(id).(*types.Func)
	if fn == nil {
		return nil
	}
	return fn.Origin()
}

// called is a call that is being read.
type called struct {
	source *ast.CallExpr
	fn     *types.Func // what runs; nil for a builtin, a conversion or a function value
	kind   Kind
	fills  []int
	recv   ast.Expr // in the tree, if it was read to find out what runs
}

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

// fillsAny reports whether a call writes memory that it is given.
func (b *builder) fillsAny(call *ast.CallExpr) bool {
	return len(b.fillsOf(call, Callee(b.fr.Info, call))) > 0
}

func (b *builder) fillsOf(call *ast.CallExpr, fn *types.Func) []int {
	if fn != nil {
		return b.Fills(fn)
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if f, ok := b.fr.Info.ObjectOf(id).(*types.Builtin); ok && (f.Name() == "copy" || f.Name() == "clear" || f.Name() == "append") {
			return []int{0}
		}
	}
	return nil
}

// called finds out what a call runs.
func (b *builder) called(call *ast.CallExpr) called {
	c := called{source: call, fn: Callee(b.fr.Info, call), kind: b.kind(call)}
	if c.kind == Through && c.fn != nil && isDynamic(c.fn) {
		sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
		if !ok {
			return c
		}
		c.recv = b.expr(sel.X)
		if s := b.fr.Info.Selections[sel]; s != nil {
			c.recv = b.embedded(c.recv, s)
		}
		if c.kind = Refused; !b.resolve(&c) {
			return c
		}
	}
	c.fills = b.fillsOf(call, c.fn)
	if c.kind == Through {
		if _, ok := b.Source(c.fn); !ok {
			c.kind = Pure
		}
	}
	return c
}

// resolve finds the method behind an interface.
func (b *builder) resolve(c *called) bool {
	fn := b.Resolve(b.p, c.recv, c.fn)
	if fn == nil {
		return false
	}
	c.fn = fn.Origin()
	c.kind = b.Classify(c.source, c.fn, b.typeOf)
	return true
}

// isDynamic reports whether a function is an interface's method.
func isDynamic(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}

// call reads a call inside an expression.
func (b *builder) call(e *ast.CallExpr) ast.Expr {
	c := b.called(e)
	switch {
	case c.kind == Through:
		t := b.typeOf(e)
		if tuple, ok := t.(*types.Tuple); ok && tuple.Len() != 1 {
			return b.spread(c, tuple)
		}
		v := b.temp(b.hint(c), t)
		b.through(c, []*types.Var{v})
		return b.p.Ref(v)
	case c.kind.Operation() || len(c.fills) > 0:
		a := b.operation(c, oneLine(types.ExprString(e)))
		v := b.temp(b.hint(c), b.typeOf(e))
		if tuple, ok := v.Type().(*types.Tuple); ok {
			if tuple.Len() > 0 {
				b.report(e.Pos(), "statement", "several results cannot be taken apart where they stand", "assign them to variables first")
			}
			b.emit(a)
			return a.Rhs[0]
		}
		a.Lhs, a.Define = []ast.Expr{b.p.Ref(v)}, true
		b.emit(a)
		return b.p.Ref(v)
	}
	return b.bareCall(c)
}

// spread reads f(g()), where g returns several results.
func (b *builder) spread(c called, tuple *types.Tuple) ast.Expr {
	results := make([]*types.Var, tuple.Len())
	for i := range results {
		results[i] = b.temp("r", tuple.At(i).Type())
	}
	b.through(c, results)
	if len(results) > 0 {
		b.report(c.source.Pos(), "statement", "several results cannot be taken apart where they stand", "assign them to variables first")
		return b.p.Ref(results[0])
	}
	return ast.NewIdent("_")
}

// hint is what a call's result may be called.
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
	c := b.called(call)
	if c.kind == Through {
		results := []*types.Var{}
		for i := range c.fn.Signature().Results().Len() {
			results = append(results, b.temp("r", b.resultType(call, i)))
		}
		b.through(c, results)
		return
	}
	b.emit(b.operation(c, oneLine(types.ExprString(e))))
}

// resultType is the type of one of a call's results.
func (b *builder) resultType(call *ast.CallExpr, i int) types.Type {
	t := b.typeOf(call)
	if tuple, ok := t.(*types.Tuple); ok {
		return tuple.At(i).Type()
	}
	return t
}

// operation is a call that stays one, as a statement without places.
func (b *builder) operation(c called, text string) *Assign {
	x := b.bareCall(c)
	a := &Assign{Tok: token.ASSIGN, Rhs: []ast.Expr{x}, Text: text}
	call, _ := x.(*ast.CallExpr)
	if c.kind.Operation() && call != nil {
		a.Op = &Op{Kind: c.kind, Call: call, Fn: c.fn, Source: c.source, Node: -1}
	}
	for _, i := range c.fills {
		switch sel, _ := ast.Unparen(call.Fun).(*ast.SelectorExpr); {
		case i >= 0 && i < len(call.Args):
			a.Fills = append(a.Fills, call.Args[i])
		case i < 0 && sel != nil:
			a.Fills = append(a.Fills, sel.X)
		}
	}
	a.Site = b.site(b.pos)
	a.Site.Pos = c.source.Pos()
	return a
}

// bareCall copies a call as it stands, with its operands: what a method is called
// on is the first of them.
func (b *builder) bareCall(c called) ast.Expr {
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
	for f := b.fr; f != nil; f = f.up {
		if f.fn == c.fn {
			b.report(c.source.Pos(), "recursion", fmt.Sprintf("%s calls itself around operations", c.fn.Name()), "write a loop")
			b.zero(results)
			return
		}
	}
	if len(b.fr.calls) > deepest {
		b.zero(results)
		return
	}
	src, _ := b.Source(c.fn)
	call := b.bareCall(c).(*ast.CallExpr)
	region := &Call{Site: b.site(b.pos), Fn: c.fn, Expr: call, Source: c.source, Results: results}
	region.Pos = c.source.Pos()
	fr := &frame{
		Source: src, up: b.fr, fn: c.fn, region: region, targs: b.instantiated(c), vars: map[types.Object]*types.Var{}, subst: map[types.Object]ast.Expr{},
		calls: append(b.fr.calls[:len(b.fr.calls):len(b.fr.calls)], c.source.Pos()), results: results, exit: &exit{},
	}
	caller, jumps := b.fr, b.jumps
	b.jumps = nil
	region.Body = b.inside(func() {
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
	ast.Inspect(c.source.Fun, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		inst, ok := b.fr.Info.Instances[id]
		if !ok || id.Name != c.fn.Name() {
			return true
		}
		for i, p := 0, c.fn.Signature().TypeParams(); i < p.Len() && i < inst.TypeArgs.Len(); i++ {
			out[p.At(i)] = b.subst(inst.TypeArgs.At(i))
		}
		return true
	})
	if named := b.receiverType(c); named != nil {
		for i, p := 0, c.fn.Signature().RecvTypeParams(); i < p.Len() && i < named.TypeArgs().Len(); i++ {
			out[p.At(i)] = b.subst(named.TypeArgs().At(i))
		}
	}
	return out
}

// receiverType is the declared type that a method's receiver has, or nil.
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

// subst replaces the type parameters of the function that is being read.
func (b *builder) subst(t types.Type) types.Type { return substitute(t, b.fr.targs) }

// substitute replaces type parameters.
func substitute(t types.Type, by map[*types.TypeParam]types.Type) types.Type {
	if len(by) == 0 || t == nil {
		return t
	}
	switch t := t.(type) {
	case *types.TypeParam:
		if now, ok := by[t]; ok {
			return now
		}
	case *types.Alias:
		return substitute(types.Unalias(t), by)
	case *types.Named:
		if args := t.TypeArgs(); args.Len() > 0 {
			now := make([]types.Type, args.Len())
			for i := range now {
				now[i] = substitute(args.At(i), by)
			}
			if inst, err := types.Instantiate(nil, t.Origin(), now, false); err == nil {
				return inst
			}
		}
	case *types.Slice:
		return types.NewSlice(substitute(t.Elem(), by))
	case *types.Pointer:
		return types.NewPointer(substitute(t.Elem(), by))
	case *types.Array:
		return types.NewArray(substitute(t.Elem(), by), t.Len())
	case *types.Map:
		return types.NewMap(substitute(t.Key(), by), substitute(t.Elem(), by))
	case *types.Struct:
		return substituteStruct(t, by)
	case *types.Signature:
		if t.TypeParams().Len() == 0 {
			params, _ := substitute(t.Params(), by).(*types.Tuple)
			results, _ := substitute(t.Results(), by).(*types.Tuple)
			return types.NewSignatureType(nil, nil, nil, params, results, t.Variadic())
		}
	case *types.Tuple:
		vars := make([]*types.Var, t.Len())
		for i := range vars {
			v := t.At(i)
			vars[i] = types.NewVar(v.Pos(), v.Pkg(), v.Name(), substitute(v.Type(), by))
		}
		return types.NewTuple(vars...)
	}
	return t
}

func substituteStruct(t *types.Struct, by map[*types.TypeParam]types.Type) types.Type {
	fields, tags, changed := make([]*types.Var, t.NumFields()), make([]string, t.NumFields()), false
	for i := range fields {
		f := t.Field(i)
		now := substitute(f.Type(), by)
		changed = changed || now != f.Type()
		fields[i], tags[i] = types.NewField(f.Pos(), f.Pkg(), f.Name(), now, f.Embedded()), t.Tag(i)
	}
	if !changed {
		return t
	}
	return types.NewStruct(fields, tags)
}
