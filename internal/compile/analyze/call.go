package analyze

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// callee is the declared function or method that a call names, or nil.
func (x *interp) callee(call *ast.CallExpr) *types.Func { return calleeOf(x.info(), call) }

func calleeOf(info *types.Info, call *ast.CallExpr) *types.Func {
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

// isOp reports whether a call is, or contains, an operation.
func (x *interp) isOp(call *ast.CallExpr) bool {
	fn := x.callee(call)
	return fn != nil && x.contains(fn)
}

// contains reports whether a function is an operation or reads like one: whether
// nodes come out of it.
func (x *interp) contains(fn *types.Func) bool {
	if yes, known := x.ops[fn]; known {
		return yes
	}
	x.ops[fn] = false // a recursive call does not count for itself
	yes := x.search(fn)
	x.ops[fn] = yes
	return yes
}

func (x *interp) search(fn *types.Func) bool {
	if name, ok := wordOf(fn); ok {
		w, known := words[name]
		return known && w.kind != "" && !w.taint || !known && dynamic(fn)
	}
	if dynamic(fn) {
		return true
	}
	src, ok := x.p.funcs[fn]
	if !ok {
		return false
	}
	if m := src.unit.marks.funcs[src.decl]; m != nil && (m.rows || m.op != "") {
		return m.op != ""
	}
	found := false
	ast.Inspect(src.decl.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && !found {
			if f := calleeOf(src.unit.info, call); f != nil && x.contains(f) {
				found = true
			}
		}
		return !found
	})
	return found
}

// looks reports whether a function looks at the numbers of a batch, or calls
// something that cannot be read.
func (x *interp) looks(fn *types.Func) bool {
	if yes, known := x.looking[fn]; known {
		return yes
	}
	x.looking[fn] = false
	src, ok := x.p.funcs[fn]
	if !ok {
		name, ours := wordOf(fn)
		return !ours || words[name].taint
	}
	found := false
	ast.Inspect(src.decl.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && !found {
			f := calleeOf(src.unit.info, call)
			found = f != nil && x.looks(f)
		}
		return !found
	})
	x.looking[fn] = found
	return found
}

// moves reports whether batches go through a call: one that only puts them
// together, or takes them apart, is read through.
func (x *interp) moves(call *ast.CallExpr) bool {
	if holdsBatch(x.typeOf(call)) {
		return true
	}
	return slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return isBatch(x.typeOf(a)) })
}

// dynamic reports whether a function is an interface's method.
func dynamic(fn *types.Func) bool {
	recv := fn.Signature().Recv()
	return recv != nil && types.IsInterface(recv.Type())
}

// callExpr reads a call: a conversion, a builtin, an operation, a function of the
// author's or a foreign one.
func (x *interp) callExpr(call *ast.CallExpr) *value {
	if x.unsafe(call) {
		x.args(call)
		x.bad(call.Pos(), "pointer", "package unsafe goes round what can be seen of a value", "use the value itself")
		return nil
	}
	if tv, ok := x.info().Types[ast.Unparen(call.Fun)]; ok && tv.IsType() {
		return x.conversion(call, tv.Type)
	}
	if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
		if b, ok := x.info().ObjectOf(id).(*types.Builtin); ok {
			return x.builtin(call, b.Name())
		}
	}
	fn := x.callee(call)
	if fn == nil {
		return x.indirect(call)
	}
	var recv *value
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		if s, ok := x.info().Selections[sel]; ok {
			recv = x.receiver(sel, s)
		}
	}
	args := x.args(call)
	return x.invoke(call, fn, recv, args)
}

// unsafe reports whether a call is of package unsafe: a conversion to its Pointer,
// or one of its functions that is no constant.
func (x *interp) unsafe(call *ast.CallExpr) bool {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok || x.info().Types[call].Value != nil {
		return false
	}
	o := x.info().Uses[sel.Sel]
	return o != nil && o.Pkg() == types.Unsafe
}

func (x *interp) args(call *ast.CallExpr) []*value {
	if len(call.Args) == 1 {
		if v := x.eval(call.Args[0]); v != nil && len(v.tuple) > 0 {
			return v.tuple
		} else {
			return []*value{v}
		}
	}
	out := make([]*value, len(call.Args))
	for i, a := range call.Args {
		out[i] = x.eval(a)
	}
	return out
}

// invoke calls a declared function.
func (x *interp) invoke(call *ast.CallExpr, fn *types.Func, recv *value, args []*value) *value {
	if name, ok := wordOf(fn); ok {
		return x.vocabulary(call, name, fn, recv, args)
	}
	if dynamic(fn) {
		return x.resolve(call, fn, recv, args)
	}
	src, ok := x.p.funcs[fn]
	if !ok {
		return x.foreign(call, fn, recv, args)
	}
	m := src.unit.marks.funcs[src.decl]
	switch {
	case x.phase != training:
		return x.inline(call, fn, src, recv, args)
	case m != nil && m.op != "":
		return x.authorOp(call, fn, m, recv, args)
	case m != nil && m.rows, !x.contains(fn) && (x.looks(fn) || !x.moves(call)):
		return x.helper(call, fn, src, m, recv, args)
	}
	return x.inline(call, fn, src, recv, args)
}

func (x *interp) conversion(call *ast.CallExpr, t types.Type) *value {
	v := x.eval(call.Args[0])
	if from := x.typeOf(call.Args[0]); types.IsInterface(t) && isBatch(from) {
		x.bad(call.Pos(), "interface", "a batch inside an interface cannot be followed", "use its own type")
	}
	return v
}

func (x *interp) builtin(call *ast.CallExpr, name string) *value {
	args := x.args(call)
	switch name {
	case "make", "new":
		if name == "new" {
			x.bad(call.Pos(), "pointer", "new makes a variable that can be changed from elsewhere", "declare a variable")
			if x.phase != training {
				return &value{objs: []*object{x.object(call.Pos(), plain, x.typeOf(call.Args[0]))}}
			}
		}
		if _, isMap := x.typeOf(call).Underlying().(*types.Map); isMap {
			x.bad(call.Pos(), "map", "a map has no order and cannot travel", "use a slice or a struct")
		}
		if _, isChan := x.typeOf(call).Underlying().(*types.Chan); isChan {
			x.bad(call.Pos(), "channel", "a channel hides where its values go", "pass values as arguments and results")
		}
		return x.fresh(call.Pos(), nil)
	case "append":
		var out *value
		for _, a := range args {
			out = join(out, a)
		}
		grown := x.fresh(call.Pos(), out)
		if x.phase == training && len(args) > 0 && args[0] != nil {
			grown.sites = union(grown.sites, args[0].sites, cmp.Compare[int]) // it may share memory with what it grew from
		}
		return grown
	case "len", "cap":
		if _, isBasic := x.typeOf(call.Args[0]).Underlying().(*types.Basic); !isBasic {
			return nil // how many there are does not depend on what they hold
		}
	case "copy", "clear", "delete":
		x.bad(call.Pos(), "immutable", name+" changes what others may hold", "make a new slice in the loop and fill that")
		return nil
	case "panic", "recover", "print", "println", "close":
		x.bad(call.Pos(), "effect", name+" has an effect that no fragment owns", "let operations fail by themselves, and log with run.Log")
		return nil
	}
	return computed(args...)
}

// indirect calls a function value. Only schedules, which are pure functions of
// the progress, may be called in a loop.
func (x *interp) indirect(call *ast.CallExpr) *value {
	v := x.eval(call.Fun)
	args := x.args(call)
	t := x.typeOf(call.Fun)
	switch {
	case isNamed(t, "nn", "Schedule"):
		return computed(args...)
	case x.phase != training && v != nil && v.fn != nil:
		return x.invoke(call, v.fn.fn.Origin(), v.fn.recv, args)
	}
	x.opaque(call)
	x.bad(call.Pos(), "function", "a function value cannot be read through: what it does is not in the source", "call a declared function or method")
	return nil
}

// resolve finds the method behind an interface from what the constructor put
// there.
func (x *interp) resolve(call *ast.CallExpr, fn *types.Func, recv *value, args []*value) *value {
	if recv == nil || len(recv.objs) != 1 {
		x.opaque(call)
		x.bad(call.Pos(), "interface", fmt.Sprintf("which type is behind this interface is not known from the constructor, so %s cannot be read", fn.Name()), "use the concrete type, or put one in the field in the constructor")
		return nil
	}
	o := recv.objs[0]
	t := o.typ
	if !types.IsInterface(t) && !isPointer(t) {
		t = types.NewPointer(t)
	}
	m, _, _ := types.LookupFieldOrMethod(t, true, fn.Pkg(), fn.Name())
	method, ok := m.(*types.Func)
	if !ok || dynamic(method) {
		x.bad(call.Pos(), "interface", fmt.Sprintf("%s cannot be found behind this interface", fn.Name()), "use the concrete type")
		return nil
	}
	return x.invoke(call, method.Origin(), recv, args)
}

// vocabulary calls a word.
func (x *interp) vocabulary(call *ast.CallExpr, name string, fn *types.Func, recv *value, args []*value) *value {
	switch x.phase {
	case building:
		return x.made(call, name, args)
	case tracing:
		x.traceWord(call, name, recv, args)
		return nil
	}
	w, known := words[name]
	switch {
	case !known && dynamic(fn):
		return x.resolve(call, fn, recv, args)
	case !known:
		x.bad(call.Pos(), "word", fmt.Sprintf("%s has no place in a loop", name), "call it in the constructor, or in a graph function")
		return nil
	case w.refuse != "":
		x.bad(call.Pos(), "word", fmt.Sprintf("%s has no place in a loop", name), w.refuse)
		return nil
	case w.plain:
		return x.counter(call, recv, args)
	case w.kind == "":
		return joinAll(append(args, recv))
	}
	return x.operation(call, name, fn, w, recv, args)
}

// counter is a word whose result does not depend on any batch; only on the
// numbers it is given.
func (x *interp) counter(call *ast.CallExpr, recv *value, args []*value) *value {
	out := &value{derived: true}
	for i, a := range args {
		if i < len(call.Args) && !isBatch(x.typeOf(call.Args[i])) {
			out = computed(out, a)
		}
	}
	return out
}

func joinAll(list []*value) (out *value) {
	for _, v := range list {
		out = join(out, v)
	}
	return out
}

// operation makes the node of a word.
func (x *interp) operation(call *ast.CallExpr, name string, fn *types.Func, w word, recv *value, args []*value) *value {
	n := fdg.Node{Kind: w.kind, Op: name, Text: oneLine(types.ExprString(call)), Whole: w.whole}
	id := x.node(x.key(call.Pos(), "("), call.Pos(), n)
	e := &x.b.extra[id]
	e.taint, e.shape = w.taint, w.shape
	x.given(id, call, fn, recv, args)
	x.effects(id, call, name, recv, args)
	return x.results(id, call, fn)
}

// given makes a node use a call's receiver and arguments.
func (x *interp) given(id int, call *ast.CallExpr, fn *types.Func, recv *value, args []*value) {
	params := fn.Signature().Params()
	if recv != nil {
		name := ""
		if r := fn.Signature().Recv(); r != nil {
			name = r.Name()
		}
		x.consume(id, fdg.OfValue, name, recv)
	}
	for i, a := range args {
		name := ""
		if i < params.Len() {
			name = params.At(i).Name()
		} else if params.Len() > 0 {
			name = params.At(params.Len() - 1).Name()
		}
		x.consume(id, fdg.OfValue, name, a)
		for _, s := range a.allSites() {
			x.st.handed[s] = true
		}
		if i < len(call.Args) && x.phase == training && i < params.Len() && types.IsInterface(params.At(i).Type()) && isBatch(x.typeOf(call.Args[i])) {
			if _, generic := params.At(i).Type().(*types.TypeParam); !generic {
				x.bad(call.Args[i].Pos(), "interface", "a batch inside an interface cannot be followed", "use its own type")
			}
		}
	}
}

// results are the parts of a node's result.
func (x *interp) results(id int, call *ast.CallExpr, fn *types.Func) *value {
	e := &x.b.extra[id]
	e.result = x.typeOf(call)
	tuple, ok := e.result.(*types.Tuple)
	if !ok {
		return ofDefs(def{id, "", -1})
	}
	out := &value{}
	e.names = nil
	for i := range tuple.Len() {
		name := fn.Signature().Results().At(i).Name()
		if name == "" || name == "_" {
			name = fmt.Sprint(i)
		}
		e.names = append(e.names, name)
		out.tuple = append(out.tuple, ofDefs(def{id, name, -1}))
	}
	return out
}

// partType is the type of a part of a node's result.
func (b *builder) partType(d def) types.Type {
	e := b.extra[d.node]
	t := e.result
	if d.part == "" {
		return t
	}
	for i, name := range strings.Split(d.part, ".") {
		if tuple, ok := t.(*types.Tuple); ok {
			if at := slices.Index(e.names, name); at >= 0 && i == 0 {
				t = tuple.At(at).Type()
				continue
			}
			return nil
		}
		if t = fieldType(t, name); t == nil {
			return nil
		}
	}
	return t
}

// fieldType is the type of a field, of a struct or of a slice's elements.
func fieldType(t types.Type, name string) types.Type {
	if t == nil {
		return nil
	}
	if s, ok := t.Underlying().(*types.Slice); ok {
		t = s.Elem()
	}
	s, ok := t.Underlying().(*types.Struct)
	if !ok {
		return nil
	}
	for i := range s.NumFields() {
		if s.Field(i).Name() == name {
			return s.Field(i).Type()
		}
	}
	return nil
}
