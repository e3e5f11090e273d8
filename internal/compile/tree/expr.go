package tree

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// know notes the type of an expression of the tree: that of the author's, with
// type parameters replaced.
func (b *builder) know(out, source ast.Expr) {
	if tv, ok := b.fr.Info.Types[source]; ok {
		tv.Type = b.subst(tv.Type)
		b.p.Info.Types[out] = tv
	}
}

// typeOf returns the type of an author's expression, with type parameters
// replaced.
func (b *builder) typeOf(e ast.Expr) types.Type { return b.subst(b.fr.Info.TypeOf(e)) }

// expr reads an expression. Operations in it, and functions that are read through,
// become statements before it, in the order in which they run.
func (b *builder) expr(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	tv := b.fr.Info.Types[e]
	if tv.Value != nil && b.localConstant(e) {
		return b.literal(e, tv)
	}
	if tv.IsType() {
		return b.typeExpr(e)
	}
	switch e := e.(type) {
	case *ast.Ident:
		return b.ident(e)
	case *ast.SelectorExpr:
		return b.selected(e, b.expr(e.X))
	case *ast.CallExpr:
		return b.call(e)
	case *ast.FuncLit:
		return b.function(e)
	case *ast.BinaryExpr:
		if (e.Op == token.LAND || e.Op == token.LOR) && b.complex(e.Y) {
			return b.shortCircuit(e)
		}
	}
	out := Shallow(e)
	places := Parts(out)
	list := make([]ast.Expr, len(places))
	for i, x := range places {
		list[i] = *x
	}
	for i, x := range b.operands(list) {
		*places[i] = x
	}
	b.know(out, e)
	return out
}

// operands reads expressions that are evaluated from left to right. What an
// earlier one calls is called before a later one's statements. A value behind a
// field's name, in a literal, is called like the field.
func (b *builder) operands(list []ast.Expr) []ast.Expr {
	last := -1
	for i, e := range list {
		if b.complex(e) {
			last = i
		}
	}
	out := make([]ast.Expr, len(list))
	hint := "v"
	for i, e := range list {
		if out[i] = b.expr(e); i < last && calls(b.p.Info, out[i]) {
			out[i] = b.held(out[i], hint, nil)
		}
		hint = "v"
		if id, ok := e.(*ast.Ident); ok {
			if f, ok := b.fr.Info.Uses[id].(*types.Var); ok && f.IsField() {
				hint = id.Name
			}
		}
	}
	return out
}

// calls reports whether evaluating an expression calls a function.
func calls(info *types.Info, e ast.Expr) bool {
	for call := range Nodes[*ast.CallExpr](e) {
		if !info.Types[call.Fun].IsType() && info.Types[call].Value == nil {
			return true
		}
	}
	return false
}

// complex reports whether reading an expression makes statements.
func (b *builder) complex(e ast.Expr) (yes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			kind := b.kind(n)
			yes = yes || kind == Through || kind.Operation() || len(b.fillsOf(n, Callee(b.fr.Info, n))) > 0
		case *ast.FuncLit:
			yes = yes || b.Open
			return false
		}
		return !yes
	})
	return yes
}

// shortCircuit reads && or || whose right side holds an operation, which is a
// branch.
func (b *builder) shortCircuit(e *ast.BinaryExpr) ast.Expr {
	v := b.temp("holds", types.Default(b.typeOf(e)))
	text := OneLine(types.ExprString(e))
	set := func(value ast.Expr) {
		b.emit(&Assign{Site: b.site(b.pos), Lhs: []ast.Expr{b.p.Ref(v)}, Tok: token.ASSIGN, Rhs: []ast.Expr{value}, Text: text})
	}
	set(b.expr(e.X))
	var cond ast.Expr = b.p.Ref(v)
	if e.Op == token.LOR {
		cond = b.not(cond)
	}
	n := &Branch{Site: b.site(b.pos), Cond: cond, Text: "if " + OneLine(types.ExprString(e.X))}
	n.Arms = []Arm{{Label: "then", Body: b.inside(func() { set(b.expr(e.Y)) })}}
	b.emit(n)
	return b.p.Ref(v)
}

func (b *builder) ident(e *ast.Ident) ast.Expr {
	o := b.fr.Info.ObjectOf(e)
	if localVar(o) != nil {
		if x, ok := b.fr.subst[o]; ok {
			return b.p.Copy(x)
		}
		out := b.p.Ref(b.local(o))
		out.NamePos = e.NamePos
		return out
	}
	out := &ast.Ident{NamePos: e.NamePos, Name: e.Name}
	if o != nil {
		b.p.Info.Uses[out] = o
	}
	b.know(out, e)
	return out
}

// selected returns a selector on an expression of the tree.
func (b *builder) selected(e *ast.SelectorExpr, x ast.Expr) ast.Expr {
	out := &ast.SelectorExpr{X: x, Sel: b.ident(e.Sel).(*ast.Ident)}
	if sel, ok := b.fr.Info.Selections[e]; ok {
		b.p.Info.Selections[out] = sel
		if sel.Kind() == types.FieldVal {
			b.p.fields[out] = Embedded(sel.Recv(), sel)
		}
	}
	b.know(out, e)
	return out
}

// function reads a function literal. In a loop it is refused; elsewhere its body
// may run where it stands.
func (b *builder) function(e *ast.FuncLit) ast.Expr {
	b.report(e.Pos(), "function", "a function value cannot be read through: when and where it runs is not in the source", "write a method, or a graph function declared in the constructor")
	out := &ast.FuncLit{Type: e.Type, Body: &ast.BlockStmt{}}
	b.know(out, e)
	if !b.Open {
		return out
	}
	jumps, outer := b.jumps, *b.fr
	b.jumps, b.fr.exit, b.fr.results, b.fr.returns = nil, &exit{}, nil, e.Type.Results
	sig, _ := b.typeOf(e).(*types.Signature)
	for i := range sig.Results().Len() {
		b.fr.results = append(b.fr.results, b.temp("r", sig.Results().At(i).Type()))
	}
	b.p.strange = append(b.p.strange, b.parameters(e.Type.Params)...)
	b.parameters(e.Type.Results)
	body := b.eliminate(b.block(e.Body.List), b.fr.exit)
	b.jumps, *b.fr = jumps, outer
	b.emit(&Branch{Site: b.site(e.Pos()), Text: "func", Arms: []Arm{{Label: "then", Body: body}}})
	return out
}

// typeExpr copies a type. What it stands for is in Info.Types.
func (b *builder) typeExpr(e ast.Expr) ast.Expr {
	out := &ast.Ident{NamePos: e.Pos(), Name: types.ExprString(e)}
	if id, ok := e.(*ast.Ident); ok {
		if o := b.fr.Info.ObjectOf(id); o != nil {
			b.p.Info.Uses[out] = o
		}
	}
	b.know(out, e)
	return out
}

// localConstant reports whether an expression mentions a constant that is declared
// inside a function, or one that its package keeps to itself.
func (b *builder) localConstant(e ast.Expr) (yes bool) {
	for id := range Nodes[*ast.Ident](e) {
		if c, ok := b.fr.Info.ObjectOf(id).(*types.Const); ok && c.Pkg() != nil {
			yes = yes || c.Parent() != c.Pkg().Scope() || c.Pkg() != b.p.Pkg && !c.Exported()
		}
	}
	return yes
}

// literals are the kinds of constants, as they are written and with the types that
// they have then.
var literals = map[constant.Kind]struct {
	tok token.Token
	t   types.Type
}{
	constant.Bool: {token.IDENT, types.Typ[types.Bool]}, constant.String: {token.STRING, types.Typ[types.String]},
	constant.Int: {token.INT, types.Typ[types.Int]}, constant.Float: {token.FLOAT, types.Typ[types.Float64]},
}

// literal writes a constant out.
func (b *builder) literal(e ast.Expr, tv types.TypeAndValue) ast.Expr {
	t, as := b.subst(tv.Type), literals[tv.Value.Kind()]
	lit := &ast.BasicLit{ValuePos: e.Pos(), Kind: as.tok, Value: tv.Value.ExactString()}
	var out ast.Expr = lit
	switch as.tok {
	case token.IDENT:
		out = b.p.universal(lit.Value)
	case token.FLOAT:
		f, _ := constant.Float64Val(tv.Value)
		lit.Value = fmt.Sprintf("%#v", f)
	}
	b.p.Info.Types[out] = tv
	if basic, ok := t.(*types.Basic); ok && (basic.Info()&types.IsUntyped != 0 || as.t == t) {
		return out
	}
	call := &ast.CallExpr{Fun: b.p.typeName(t), Args: []ast.Expr{out}}
	b.p.Info.Types[call] = types.TypeAndValue{Type: t, Value: tv.Value}
	return call
}

// typeMode is the type checker's record of an expression that is a type.
var typeMode = func() types.TypeAndValue {
	tv, _ := types.Eval(token.NewFileSet(), nil, token.NoPos, "int")
	return tv
}()

// typeExpression returns how a type is known as an expression.
func typeExpression(t types.Type) types.TypeAndValue {
	tv := typeMode
	tv.Type = t
	return tv
}
