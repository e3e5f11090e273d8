package tree

import (
	"go/ast"
	"go/types"
	"strings"
)

// Fields returns the fields that a selector goes through, embedded ones included;
// nil for a method or a qualified name.
func (p *Program) Fields(e *ast.SelectorExpr) []*types.Var { return p.fields[e] }

// Path returns the variable that an expression is, or is a field of, with the path
// of the field: names joined by dots. It is nil for anything else, also for what
// is behind a pointer.
func (p *Program) Path(e ast.Expr) (v *types.Var, path string) {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return p.Var(e), ""
	case *ast.SelectorExpr:
		fields := p.fields[e]
		v, path = p.Path(e.X)
		if fields == nil || v == nil || isPointer(p.Info.TypeOf(e.X)) {
			return nil, ""
		}
		for i, f := range fields {
			if i < len(fields)-1 && isPointer(f.Type()) {
				return nil, ""
			}
			path = strings.TrimPrefix(path+"."+f.Name(), ".")
		}
		return v, path
	}
	return nil, ""
}

// Select makes an expression that selects a field.
func (p *Program) Select(x ast.Expr, f *types.Var) *ast.SelectorExpr {
	name := ast.NewIdent(f.Name())
	p.Info.Uses[name] = f
	out := &ast.SelectorExpr{X: x, Sel: name}
	p.fields[out] = []*types.Var{f}
	p.Info.Types[out] = types.TypeAndValue{Type: f.Type()}
	return out
}

// Copy copies an expression of the tree, with all that is known of it.
func (p *Program) Copy(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	out := p.copied(e)
	if tv, ok := p.Info.Types[e]; ok {
		p.Info.Types[out] = tv
	}
	return out
}

func (p *Program) copied(e ast.Expr) ast.Expr {
	switch e := e.(type) {
	case *ast.Ident:
		out := &ast.Ident{NamePos: e.NamePos, Name: e.Name}
		if o, ok := p.Info.Uses[e]; ok {
			p.Info.Uses[out] = o
		}
		return out
	case *ast.BasicLit:
		return &ast.BasicLit{ValuePos: e.ValuePos, Kind: e.Kind, Value: e.Value}
	case *ast.ParenExpr:
		return &ast.ParenExpr{Lparen: e.Lparen, X: p.Copy(e.X), Rparen: e.Rparen}
	case *ast.SelectorExpr:
		out := &ast.SelectorExpr{X: p.Copy(e.X), Sel: p.Copy(e.Sel).(*ast.Ident)}
		if s, ok := p.Info.Selections[e]; ok {
			p.Info.Selections[out] = s
		}
		if f, ok := p.fields[e]; ok {
			p.fields[out] = f
		}
		return out
	case *ast.CallExpr:
		return &ast.CallExpr{Fun: p.Copy(e.Fun), Lparen: e.Lparen, Args: p.Copies(e.Args), Ellipsis: e.Ellipsis, Rparen: e.Rparen}
	case *ast.CompositeLit:
		return &ast.CompositeLit{Type: p.Copy(e.Type), Lbrace: e.Lbrace, Elts: p.Copies(e.Elts), Rbrace: e.Rbrace}
	case *ast.KeyValueExpr:
		return &ast.KeyValueExpr{Key: p.Copy(e.Key), Colon: e.Colon, Value: p.Copy(e.Value)}
	case *ast.UnaryExpr:
		return &ast.UnaryExpr{OpPos: e.OpPos, Op: e.Op, X: p.Copy(e.X)}
	case *ast.BinaryExpr:
		return &ast.BinaryExpr{X: p.Copy(e.X), OpPos: e.OpPos, Op: e.Op, Y: p.Copy(e.Y)}
	case *ast.IndexExpr:
		return &ast.IndexExpr{X: p.Copy(e.X), Lbrack: e.Lbrack, Index: p.Copy(e.Index), Rbrack: e.Rbrack}
	case *ast.IndexListExpr:
		return &ast.IndexListExpr{X: p.Copy(e.X), Lbrack: e.Lbrack, Indices: p.Copies(e.Indices), Rbrack: e.Rbrack}
	case *ast.SliceExpr:
		return &ast.SliceExpr{X: p.Copy(e.X), Lbrack: e.Lbrack, Low: p.Copy(e.Low), High: p.Copy(e.High), Max: p.Copy(e.Max), Slice3: e.Slice3, Rbrack: e.Rbrack}
	case *ast.StarExpr:
		return &ast.StarExpr{Star: e.Star, X: p.Copy(e.X)}
	case *ast.TypeAssertExpr:
		return &ast.TypeAssertExpr{X: p.Copy(e.X), Lparen: e.Lparen, Type: p.Copy(e.Type), Rparen: e.Rparen}
	}
	return e
}

// Copies copies expressions.
func (p *Program) Copies(list []ast.Expr) (out []ast.Expr) {
	for _, e := range list {
		out = append(out, p.Copy(e))
	}
	return out
}
