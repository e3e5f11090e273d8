package project

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// number says who knows a Go number or bool of a loop that becomes a device
// program.
type number uint8

const (
	known   number = 0         // Go, while the program is built
	counted number = 1 << iota // the host, from counters, for every iteration
	traced                     // the device alone
)

// device makes one iteration of the loop a part of a device program.
type device struct {
	*emitter
	numbers map[*variable]number
	given   map[*variable][]gift
	total   map[*variable]int  // mentions
	params  []*variable        // that are given from outside
	loops   map[*line]bool     // that are the program's
	index   map[*variable]bool // of these
	pos     token.Pos          // of the statement that is being written
}

// class returns who knows the value of an expression.
func (d *device) class(e ast.Expr) (n number) {
	switch x := e.(type) {
	case *ast.Ident:
		return d.numbers[d.of(x)]
	case *ast.CompositeLit, *ast.SliceExpr:
		return known
	case *ast.CallExpr:
		switch {
		case d.src.Word(d.callee(x)).Counter:
			return counted
		case d.computes(x):
			return traced
		case !isNumber(d.typeOf(x)):
			return known
		}
	}
	for _, x := range tree.Parts(e) {
		n |= d.class(*x)
	}
	return n
}

// alone reports whether a variable is given one value that the host knows: it
// stands for that.
func (d *device) alone(v *variable) bool {
	return d.numbers[v] == counted && len(d.given[v]) == 1
}

// rewrite translates an expression where Go wants its value.
func (d *device) rewrite(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	if d.class(e) != known {
		d.refuse(e)
		return e
	}
	if call, ok := e.(*ast.CallExpr); ok {
		return d.call(call)
	}
	for _, x := range tree.Parts(e) {
		*x = d.rewrite(*x)
	}
	return e
}

func (d *device) rewriteAll(list []ast.Expr) {
	for i := range list {
		list[i] = d.rewrite(list[i])
	}
}

// refuse says that Go wants a number that it does not have.
func (d *device) refuse(e ast.Expr) {
	who := "the host knows only at each iteration"
	if d.class(e)&traced != 0 {
		who = "only the device knows"
	}
	d.bad(d.pos, fmt.Sprintf("%s is a number that %s, and a device program is built before that; conditions, rl.Scalar and Apply can take it", d.short(e), who))
}

// call translates a call. Its declaration says what a device program calls in its
// place where it is given an index, or a number, of the device's.
func (d *device) call(e *ast.CallExpr) ast.Expr {
	w := d.src.Word(d.callee(e))
	indexed := false
	switch at := w.Number; {
	case w.Device == "":
	case w.Index >= 0:
		indexed = d.indexed(e, w)
	case at >= 0 && at < len(e.Args) && d.class(e.Args[at]) != known:
		x := d.single(e.Args[at])
		if w.Device == argumentItself {
			return x
		}
		e.Fun = d.rewrite(e.Fun)
		for i := range e.Args {
			if i != at {
				e.Args[i] = d.rewrite(e.Args[i])
			}
		}
		e.Args[at] = x
		d.renamed(e, w.Device)
		return e
	}
	e.Fun = d.rewrite(e.Fun)
	d.rewriteAll(e.Args)
	if indexed {
		d.renamed(e, w.Device)
	}
	return e
}

// argumentItself stands for a word in whose place a device program has its
// argument.
const argumentItself = "-"

// indexed gives a call the positions of the program's loops, and reports whether there
// are any among its arguments.
func (d *device) indexed(e *ast.CallExpr, w vocabulary.Word) bool {
	last := min(w.Index+1, len(e.Args))
	if w.Indices {
		last = len(e.Args)
	}
	if !slices.ContainsFunc(e.Args[min(w.Index, last):last], d.isIndex) {
		return false
	}
	for i := w.Index; i < last; i++ {
		if !d.isIndex(e.Args[i]) {
			e.Args[i] = d.rlCall("IntOf", e.Args[i])
		}
	}
	return true
}

func (d *device) isIndex(e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	return ok && d.index[d.of(id)]
}

// renamed calls another function of the same package or receiver. A method whose other
// function is one of package edge, edge.NAME, becomes a call of that on the receiver.
func (d *device) renamed(e *ast.CallExpr, name string) {
	fun := e.Fun
	if i, ok := fun.(*ast.IndexExpr); ok {
		fun = i.X
	}
	sel := fun.(*ast.SelectorExpr)
	if name, ours := strings.CutPrefix(name, "edge."); ours {
		e.Fun, e.Args = d.edgeFun(name), append([]ast.Expr{sel.X}, e.Args...)
		return
	}
	sel.Sel = ast.NewIdent(name)
}

// single returns a number as a float32 scalar.
func (d *device) single(e ast.Expr) ast.Expr {
	if id, ok := ast.Unparen(e).(*ast.Ident); ok && d.alone(d.of(id)) {
		return id
	}
	if d.class(e) == counted {
		return d.runCall("HostFloat", d.closure(e, types.Typ[types.Float64]))
	}
	return d.numberCall("Single", e)
}

// numberCall calls a function of package edge on a number of the program's.
func (d *device) numberCall(name string, e ast.Expr) ast.Expr {
	return &ast.CallExpr{Fun: d.edgeFun(name), Args: []ast.Expr{d.tensor(e)}}
}

// closure returns a function by which the host computes an expression for every
// iteration.
func (d *device) closure(e ast.Expr, t types.Type) ast.Expr {
	run := &ast.Field{Names: []*ast.Ident{d.ref(d.run)}, Type: &ast.StarExpr{X: &ast.SelectorExpr{X: ast.NewIdent(d.rlPackage()), Sel: ast.NewIdent("Run")}}}
	return &ast.FuncLit{
		Type: &ast.FuncType{Params: &ast.FieldList{List: []*ast.Field{run}}, Results: &ast.FieldList{List: []*ast.Field{{Type: d.typeExpr(t, token.NoPos)}}}},
		Body: &ast.BlockStmt{List: []ast.Stmt{&ast.ReturnStmt{Results: []ast.Expr{d.host(d.copy(e))}}}},
	}
}

// host puts what variables stand for into an expression of the host's.
func (d *device) host(e ast.Expr) ast.Expr {
	if x, ok := e.(*ast.Ident); ok {
		v := d.of(x)
		if v == nil || v.fixed {
			return e
		}
		if d.alone(v) {
			in := d.host(d.copy(d.given[v][0].value))
			if _, ok := in.(*ast.BinaryExpr); ok {
				in = &ast.ParenExpr{X: in}
			}
			return in
		}
		if len(d.given[v]) > 1 {
			d.bad(d.pos, fmt.Sprintf("%s changes while the device program is built, and the host would see only what it is at the end; give it another name at each change", v.name))
		}
	}
	for _, x := range tree.Parts(e) {
		*x = d.host(*x)
	}
	return e
}

// tensor returns a number as a scalar of the program, in Go's own precision.
func (d *device) tensor(e ast.Expr) ast.Expr {
	switch d.class(e) {
	case known:
		t, now := types.Default(d.typeOf(e)), d.known(e)
		if n := d.natural(e); d.constant(e) != nil && (n == nil || !types.Identical(n, t)) { // 1 of a float64
			now = &ast.CallExpr{Fun: d.typeExpr(t, token.NoPos), Args: []ast.Expr{now}}
		}
		return d.runCall("Number", now)
	case counted:
		t := types.Default(d.typeOf(e))
		if !computable(t) {
			d.precision(e)
			return e
		}
		if b, ok := t.Underlying().(*types.Basic); ok && b.Kind() == types.Bool {
			return d.runCall("HostBool", d.closure(e, t))
		}
		return d.runCall("Host", d.closure(e, t))
	}
	switch e := e.(type) {
	case *ast.Ident:
		return e
	case *ast.ParenExpr:
		return d.tensor(e.X)
	case *ast.BinaryExpr:
		if calculated[e.Op] {
			return d.runCall("Calc", d.operand(e.X), text(e.Op.String()), d.operand(e.Y))
		}
	case *ast.UnaryExpr:
		switch e.Op {
		case token.NOT:
			return d.runCall("Calc", d.tensor(e.X), text("=="), ast.NewIdent("false"))
		case token.SUB:
			return d.runCall("Calc", d.tensor(e.X), text("*"), &ast.BasicLit{Kind: token.INT, Value: "-1"})
		}
	case *ast.CallExpr:
		return d.tracedCall(e)
	}
	d.refuse(e)
	return e
}

// operand returns a number that is computed with beside one of the program's.
func (d *device) operand(e ast.Expr) ast.Expr {
	if d.class(e) == known {
		return d.known(e)
	}
	return d.tensor(e)
}

// known returns a number of Go's that the program computes with.
func (d *device) known(e ast.Expr) ast.Expr {
	if d.constant(e) == nil && !computable(types.Default(d.typeOf(e))) {
		d.precision(e)
	}
	return d.rewrite(e)
}

// calculated are the operators that edge.Calc knows.
var calculated = map[token.Token]bool{
	token.ADD: true, token.SUB: true, token.MUL: true, token.QUO: true, token.REM: true, token.LSS: true, token.LEQ: true,
	token.GTR: true, token.GEQ: true, token.EQL: true, token.NEQ: true, token.LAND: true, token.LOR: true,
}

// computable reports whether a device program has numbers of a type.
func computable(t types.Type) bool {
	return slices.ContainsFunc([]types.BasicKind{types.Bool, types.Int, types.Int64, types.Float64}, func(k types.BasicKind) bool {
		return t == types.Typ[k]
	})
}

// precision refuses a number of a type that a device program does not have.
func (d *device) precision(e ast.Expr) {
	d.bad(d.pos, fmt.Sprintf("%s is of type %s; numbers of a device program are of type int, int64, float64 or bool", d.short(e), d.typeOf(e)))
}

func (d *device) tracedCall(e *ast.CallExpr) ast.Expr {
	if w := d.src.Word(d.callee(e)); d.computes(e) && w.Device != "" {
		d.tree.Typed(e, d.rlType("Tensor"))
		e.Fun = d.rewrite(e.Fun)
		d.rewriteAll(e.Args)
		d.renamed(e, w.Device)
		return e
	}
	if id, ok := ast.Unparen(e.Fun).(*ast.Ident); ok && len(e.Args) == 1 && d.callee(e) == nil {
		switch id.Name {
		case "float64":
			return d.numberCall("Float", e.Args[0])
		case "int", "int64":
			return d.numberCall("Int", e.Args[0])
		}
	}
	d.refuse(e)
	return e
}

// zeroOf returns a number's zero as Go writes it.
func zeroOf(t types.Type) ast.Expr {
	b := t.Underlying().(*types.Basic)
	switch {
	case b.Info()&types.IsBoolean != 0:
		return ast.NewIdent("false")
	case b.Info()&types.IsFloat != 0:
		return &ast.BasicLit{Kind: token.FLOAT, Value: "0."}
	}
	return &ast.BasicLit{Kind: token.INT, Value: "0"}
}
