package tree

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strconv"
)

func boolean(value any) types.TypeAndValue {
	tv := types.TypeAndValue{Type: types.Typ[types.Bool]}
	if v, ok := value.(bool); ok {
		tv.Value = constant.MakeBool(v)
	}
	return tv
}

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
	if tv := b.fr.Info.Types[e]; tv.Value != nil && b.localConstant(e) {
		return b.literal(e, tv)
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		out := &ast.ParenExpr{Lparen: e.Lparen, X: b.expr(e.X), Rparen: e.Rparen}
		b.know(out, e)
		return out
	case *ast.Ident:
		return b.ident(e)
	case *ast.SelectorExpr:
		return b.selector(e)
	case *ast.CallExpr:
		return b.call(e)
	case *ast.BinaryExpr:
		return b.binaryExpr(e)
	case *ast.FuncLit:
		return b.function(e)
	case *ast.CompositeLit:
		return b.composite(e)
	}
	return b.rest(e)
}

// rest reads the expressions that are copied as they stand, with their operands.
func (b *builder) rest(e ast.Expr) (out ast.Expr) {
	switch e := e.(type) {
	case *ast.BasicLit:
		out = &ast.BasicLit{ValuePos: e.ValuePos, Kind: e.Kind, Value: e.Value}
	case *ast.UnaryExpr:
		out = &ast.UnaryExpr{OpPos: e.OpPos, Op: e.Op, X: b.expr(e.X)}
	case *ast.StarExpr:
		out = &ast.StarExpr{Star: e.Star, X: b.expr(e.X)}
	case *ast.TypeAssertExpr:
		out = &ast.TypeAssertExpr{X: b.expr(e.X), Lparen: e.Lparen, Type: b.typeExpr(e.Type)}
	case *ast.KeyValueExpr:
		list := b.operands([]ast.Expr{e.Key, e.Value}, nil)
		out = &ast.KeyValueExpr{Key: list[0], Colon: e.Colon, Value: list[1]}
	case *ast.IndexExpr:
		if b.fr.Info.Types[e.Index].IsType() {
			out = &ast.IndexExpr{X: b.expr(e.X), Lbrack: e.Lbrack, Index: b.typeExpr(e.Index), Rbrack: e.Rbrack}
			break
		}
		list := b.operands([]ast.Expr{e.X, e.Index}, nil)
		out = &ast.IndexExpr{X: list[0], Lbrack: e.Lbrack, Index: list[1], Rbrack: e.Rbrack}
	case *ast.IndexListExpr:
		n := &ast.IndexListExpr{X: b.expr(e.X), Lbrack: e.Lbrack, Rbrack: e.Rbrack}
		for _, t := range e.Indices {
			n.Indices = append(n.Indices, b.typeExpr(t))
		}
		out = n
	case *ast.SliceExpr:
		list := b.operands([]ast.Expr{e.X, e.Low, e.High, e.Max}, nil)
		out = &ast.SliceExpr{X: list[0], Lbrack: e.Lbrack, Low: list[1], High: list[2], Max: list[3], Slice3: e.Slice3, Rbrack: e.Rbrack}
	default:
		return b.typeExpr(e)
	}
	b.know(out, e)
	return out
}

// operands reads expressions that are evaluated from left to right. What an
// earlier one calls is called before a later one's statements.
func (b *builder) operands(list []ast.Expr, hints []string) []ast.Expr {
	last := -1
	for i, e := range list {
		if e != nil && b.complex(e) {
			last = i
		}
	}
	out := make([]ast.Expr, len(list))
	for i, e := range list {
		if out[i] = b.expr(e); i < last && out[i] != nil && calls(b.p.Info, out[i]) {
			hint := "v"
			if i < len(hints) && hints[i] != "" {
				hint = hints[i]
			}
			out[i] = b.held(out[i], hint, nil)
		}
	}
	return out
}

// calls reports whether evaluating an expression calls a function.
func calls(info *types.Info, e ast.Expr) (yes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && !info.Types[call.Fun].IsType() && info.Types[call].Value == nil {
			yes = true
		}
		return !yes
	})
	return yes
}

// complex reports whether reading an expression makes statements.
func (b *builder) complex(e ast.Expr) (yes bool) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			kind := b.kind(n)
			yes = yes || kind == Through || kind.Operation() || b.fillsAny(n)
		case *ast.FuncLit:
			yes = yes || b.Open
			return false
		}
		return !yes
	})
	return yes
}

// binaryExpr reads an operator. The right side of && or || is a branch where it
// holds an operation.
func (b *builder) binaryExpr(e *ast.BinaryExpr) ast.Expr {
	if (e.Op != token.LAND && e.Op != token.LOR) || !b.complex(e.Y) {
		list := b.operands([]ast.Expr{e.X, e.Y}, nil)
		out := &ast.BinaryExpr{X: list[0], OpPos: e.OpPos, Op: e.Op, Y: list[1]}
		b.know(out, e)
		return out
	}
	v := b.temp("holds", types.Default(b.typeOf(e)))
	text := oneLine(types.ExprString(e))
	set := func(value ast.Expr) {
		b.emit(&Assign{Site: b.site(b.pos), Lhs: []ast.Expr{b.p.Ref(v)}, Tok: token.ASSIGN, Rhs: []ast.Expr{value}, Text: text})
	}
	set(b.expr(e.X))
	var cond ast.Expr = b.p.Ref(v)
	if e.Op == token.LOR {
		cond = b.not(cond)
	}
	n := &Branch{Site: b.site(b.pos), Cond: cond, Text: "if " + oneLine(types.ExprString(e.X))}
	n.Arms = []Arm{{Label: "then", Body: b.inside(func() { set(b.expr(e.Y)) })}}
	b.emit(n)
	return b.p.Ref(v)
}

func (b *builder) ident(e *ast.Ident) ast.Expr {
	o := b.fr.Info.ObjectOf(e)
	v, ok := o.(*types.Var)
	if ok && !v.IsField() && !(v.Pkg() != nil && v.Parent() == v.Pkg().Scope()) {
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

func (b *builder) selector(e *ast.SelectorExpr) ast.Expr {
	sel, ok := b.fr.Info.Selections[e]
	name := &ast.Ident{NamePos: e.Sel.NamePos, Name: e.Sel.Name}
	b.p.Info.Uses[name] = b.fr.Info.ObjectOf(e.Sel)
	b.know(name, e.Sel)
	if !ok { // a qualified name
		x := &ast.Ident{NamePos: e.Pos(), Name: e.X.(*ast.Ident).Name}
		b.p.Info.Uses[x] = b.fr.Info.ObjectOf(e.X.(*ast.Ident))
		out := &ast.SelectorExpr{X: x, Sel: name}
		b.know(out, e)
		return out
	}
	out := &ast.SelectorExpr{X: b.expr(e.X), Sel: name}
	b.p.Info.Selections[out] = sel
	if sel.Kind() == types.FieldVal {
		b.p.fields[out] = through(sel.Recv(), sel.Index())
	}
	b.know(out, e)
	return out
}

// through are the fields that a selection goes through.
func through(t types.Type, index []int) (out []*types.Var) {
	for _, i := range index {
		if p, ok := t.Underlying().(*types.Pointer); ok {
			t = p.Elem()
		}
		s, ok := t.Underlying().(*types.Struct)
		if !ok {
			return out
		}
		out = append(out, s.Field(i))
		t = s.Field(i).Type()
	}
	return out
}

func (b *builder) composite(e *ast.CompositeLit) ast.Expr {
	out := &ast.CompositeLit{Lbrace: e.Lbrace, Rbrace: e.Rbrace}
	if e.Type != nil {
		out.Type = b.typeExpr(e.Type)
	}
	b.know(out, e)
	t := b.typeOf(e)
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	_, isStruct := t.Underlying().(*types.Struct)
	values, hints := []ast.Expr{}, []string{}
	for _, x := range e.Elts {
		hint := ""
		if kv, ok := x.(*ast.KeyValueExpr); ok {
			if id, ok := kv.Key.(*ast.Ident); ok && isStruct {
				hint = id.Name
			}
			x = kv.Value
		}
		values, hints = append(values, x), append(hints, hint)
	}
	for i, x := range b.operands(values, hints) {
		kv, ok := e.Elts[i].(*ast.KeyValueExpr)
		if !ok {
			out.Elts = append(out.Elts, x)
			continue
		}
		key := ast.Expr(nil)
		if id, isName := kv.Key.(*ast.Ident); isName && isStruct {
			field := &ast.Ident{NamePos: id.NamePos, Name: id.Name}
			b.p.Info.Uses[field] = b.fr.Info.ObjectOf(id)
			key = field
		} else {
			key = b.expr(kv.Key)
		}
		out.Elts = append(out.Elts, &ast.KeyValueExpr{Key: key, Colon: kv.Colon, Value: x})
	}
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
	jumps, to, results := b.jumps, b.fr.exit, b.fr.results
	b.jumps, b.fr.exit, b.fr.results = nil, &exit{}, nil
	sig, _ := b.typeOf(e).(*types.Signature)
	for i := range sig.Results().Len() {
		b.fr.results = append(b.fr.results, b.temp("r", sig.Results().At(i).Type()))
	}
	b.parameters(e.Type.Params)
	body := b.inside(func() {
		if e.Type.Results != nil {
			b.parameters(e.Type.Results)
		}
		for _, s := range e.Body.List {
			b.stmt(s)
		}
	})
	body = b.eliminate(body, b.fr.exit)
	b.jumps, b.fr.exit, b.fr.results = jumps, to, results
	b.emit(&Branch{Site: b.site(e.Pos()), Text: "func", Arms: []Arm{{Label: "then", Body: body}}})
	return out
}

// typeExpr copies a type. What it stands for is in Info.Types.
func (b *builder) typeExpr(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
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
	ast.Inspect(e, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if c, ok := b.fr.Info.ObjectOf(id).(*types.Const); ok && c.Pkg() != nil {
				yes = yes || c.Parent() != c.Pkg().Scope() || c.Pkg() != b.p.Pkg && !c.Exported()
			}
		}
		return !yes
	})
	return yes
}

// literal writes a constant out.
func (b *builder) literal(e ast.Expr, tv types.TypeAndValue) ast.Expr {
	t := b.subst(tv.Type)
	var out ast.Expr
	switch v := tv.Value; v.Kind() {
	case constant.Bool:
		out = &ast.Ident{NamePos: e.Pos(), Name: strconv.FormatBool(constant.BoolVal(v))}
		b.p.Info.Uses[out.(*ast.Ident)] = types.Universe.Lookup(strconv.FormatBool(constant.BoolVal(v)))
	case constant.String:
		out = &ast.BasicLit{ValuePos: e.Pos(), Kind: token.STRING, Value: strconv.Quote(constant.StringVal(v))}
	case constant.Int:
		out = &ast.BasicLit{ValuePos: e.Pos(), Kind: token.INT, Value: v.ExactString()}
	default:
		f, _ := constant.Float64Val(v)
		out = &ast.BasicLit{ValuePos: e.Pos(), Kind: token.FLOAT, Value: fmt.Sprintf("%#v", f)}
	}
	b.p.Info.Types[out] = tv
	if basic, ok := t.(*types.Basic); ok && (basic.Info()&types.IsUntyped != 0 || types.Default(basicOf(tv.Value)) == t) {
		return out
	}
	name := &ast.Ident{NamePos: e.Pos(), Name: types.TypeString(t, nil)}
	b.p.Info.Types[name] = typeExpression(t)
	call := &ast.CallExpr{Fun: name, Args: []ast.Expr{out}}
	b.p.Info.Types[call] = types.TypeAndValue{Type: t, Value: tv.Value}
	return call
}

// basicOf is the type of an untyped constant of a value's kind.
func basicOf(v constant.Value) types.Type {
	switch v.Kind() {
	case constant.Bool:
		return types.Typ[types.UntypedBool]
	case constant.String:
		return types.Typ[types.UntypedString]
	case constant.Int:
		return types.Typ[types.UntypedInt]
	}
	return types.Typ[types.UntypedFloat]
}

// typeMode is what the type checker knows of an expression that is a type.
var typeMode = func() types.TypeAndValue {
	tv, _ := types.Eval(token.NewFileSet(), nil, token.NoPos, "int")
	return tv
}()

// typeExpression is how a type is known as an expression.
func typeExpression(t types.Type) types.TypeAndValue {
	tv := typeMode
	tv.Type = t
	return tv
}
