package analyze

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// callExpr returns the results of a call that is no operation: a conversion, a
// builtin, a word without a node, a function that only computes.
func (x *interp) callExpr(call *ast.CallExpr) []*value {
	if x.unsafe(call) {
		x.args(call)
		x.bad(where(call), refusal{"pointer", "package unsafe goes round what can be seen of a value", "use the value itself"})
		return nil
	}
	if x.info().Types[ast.Unparen(call.Fun)].IsType() {
		return []*value{x.conversion(call)}
	}
	if name := tree.Builtin(x.info(), call); name != "" {
		return []*value{x.builtin(call, name)}
	}
	fn := tree.Callee(x.info(), call)
	if fn == nil {
		return x.indirect(call)
	}
	return x.invoke(call, fn, x.receiverOf(call), x.args(call))
}

// unsafe reports whether a call is of package unsafe: a conversion to its Pointer,
// or one of its functions that is no constant.
func (x *interp) unsafe(call *ast.CallExpr) bool {
	if t := x.info().Types[ast.Unparen(call.Fun)]; t.IsType() {
		return types.Identical(t.Type, types.Typ[types.UnsafePointer])
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return false
	}
	o := x.info().Uses[sel.Sel]
	return o != nil && o.Pkg() == types.Unsafe
}

func (x *interp) args(call *ast.CallExpr) []*value {
	out := make([]*value, len(call.Args))
	for i, a := range call.Args {
		out[i] = x.eval(a)
	}
	return out
}

// receiverOf returns what a method is called on, or nil.
func (x *interp) receiverOf(call *ast.CallExpr) *value {
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	if s, ok := x.info().Selections[sel]; ok && s.Kind() != types.FieldVal {
		return x.receiver(sel, s)
	}
	return nil
}

func (x *interp) conversion(call *ast.CallExpr) *value {
	v, t := x.eval(call.Args[0]), x.typeOf(call)
	from := x.typeOf(call.Args[0])
	if types.IsInterface(t) && x.p.isBatch(from) {
		x.bad(where(call), hiddenBatch)
	}
	if x.t.Refers(t) && !x.t.Refers(from) { // bytes of a string
		return x.fresh(call, v)
	}
	return v
}

func (x *interp) builtin(call *ast.CallExpr, name string) *value {
	if name == "make" || name == "new" {
		return x.makes(call, name)
	}
	args := x.args(call)
	switch name {
	case "append":
		out := x.fresh(call, joinAll(args...))
		for _, a := range args { // it may share memory with what it grew from, and with slices in it
			if a != nil && x.phase == training {
				out.sites = union(out.sites, a.sites, cmp.Compare[int])
			}
		}
		return varied(settled(out), varies(args...))
	case "len", "cap":
		if _, isBasic := x.typeOf(call.Args[0]).Underlying().(*types.Basic); !isBasic {
			return varied(nil, varies(args...)) // how many there are does not depend on what they hold
		}
	case "delete":
		x.bad(where(call), noMap)
		return nil
	}
	if why := effectOf(name); why.message != "" {
		x.bad(where(call), why)
		return nil
	}
	return computed(args...)
}

// makes evaluates make and new.
func (x *interp) makes(call *ast.CallExpr, name string) *value {
	var size variation
	for _, a := range call.Args[1:] {
		if varies(x.eval(a)) != 0 {
			size = longer
		}
	}
	if name == "new" {
		x.bad(where(call), refusal{"pointer", "new makes a variable that can be changed from elsewhere", "declare a variable"})
		if x.phase == training {
			return nil
		}
		return ofObjects(x.object(call, where(call), plain, x.typeOf(call.Args[0])))
	}
	switch x.typeOf(call).Underlying().(type) {
	case *types.Map:
		x.bad(where(call), noMap)
	case *types.Chan:
		x.bad(where(call), refusal{"channel", "a channel hides where its values go", "pass values as arguments and results"})
	}
	return x.fresh(call, join(x.zero(x.typeOf(call)), &value{varies: size}))
}

// indirect calls a function value. Only schedules, which are pure functions of
// the progress, may be called in a loop.
func (x *interp) indirect(call *ast.CallExpr) []*value {
	v := x.eval(call.Fun)
	args := x.args(call)
	switch {
	case x.p.typ(x.typeOf(call.Fun)).Pure:
		return []*value{computed(append(args, v)...)}
	case x.phase != training && v != nil && len(v.fns) > 0:
		return x.either(call, v.fns, args)
	}
	x.opaque(call)
	x.bad(where(call), unreadable)
	return []*value{varied(nil, varies(append(args, v)...))}
}

// either calls one of several functions.
func (x *interp) either(call *ast.CallExpr, fns []closure, args []*value) (out []*value) {
	before := x.st
	var after *state
	for _, c := range fns {
		x.st = before.clone()
		for i, v := range x.invoke(call, c.fn, c.recv, args) {
			if i == len(out) {
				out = append(out, nil)
			}
			out[i] = join(out[i], v)
		}
		after = merge(after, x.st)
	}
	x.st = after
	return out
}

// invoke calls a declared function that is no part of the tree as it stands.
func (x *interp) invoke(call *ast.CallExpr, fn *types.Func, recv *value, args []*value) []*value {
	w, word := x.p.word(fn)
	switch {
	case word && x.phase == building:
		return x.makesComponent(call, w, recv, args)
	case word && x.phase == tracing:
		x.traceWord(call, w, recv, args)
		return nil
	case word:
		return []*value{x.word(call, w, recv, args)}
	case x.phase == training:
		return x.pure(call, fn, recv, args)
	case tree.Dynamic(fn):
		return x.behind(call, fn, recv, args)
	case x.p.funcs[fn].decl == nil:
		if x.phase == tracing {
			x.trace(recv, args)
			x.opaque(call)
		}
		return x.strangers(fn, x.laden(call, recv), args)
	}
	return x.enter(call, fn, recv, args)
}

// behind calls the methods that may be behind an interface's.
func (x *interp) behind(call *ast.CallExpr, fn *types.Func, recv *value, args []*value) []*value {
	fns := methods(recv, fn)
	if len(fns) == 0 || slices.Contains(recv.objs, x.unknown) {
		x.opaque(call)
	}
	if len(fns) == 0 {
		return x.strangers(fn, recv, args)
	}
	return x.either(call, fns, args)
}

// strangers returns the results of a function that is not read.
func (x *interp) strangers(fn *types.Func, recv *value, args []*value) (out []*value) {
	for v := range fn.Signature().Results().Variables() {
		out = append(out, varied(x.stranger(v.Type()), varies(append(args, recv)...)))
	}
	return out
}

// methods returns the methods that are behind an interface's, called on a value.
func methods(recv *value, fn *types.Func) (out []closure) {
	for _, o := range objectsOf(recv) {
		if m := methodOf(o, fn); m != nil {
			out = joinClosures(out, []closure{{m, ofObjects(o)}})
		}
	}
	return out
}

// methodOf returns the method of an object that is behind an interface's, or nil.
func methodOf(o *object, fn *types.Func) *types.Func {
	t := o.typ
	if t == nil {
		return nil
	}
	if !types.IsInterface(t) && !tree.IsPointer(t) {
		t = types.NewPointer(t)
	}
	m, _, _ := types.LookupFieldOrMethod(t, true, fn.Pkg(), fn.Name())
	method, ok := m.(*types.Func)
	if !ok || tree.Dynamic(method) {
		return nil
	}
	return method.Origin()
}

// enter reads a function that is called through a value or an interface, in a tree
// of its own for each call.
func (x *interp) enter(call *ast.CallExpr, fn *types.Func, recv *value, args []*value) []*value {
	if x.running[fn] {
		return x.strangers(fn, recv, args)
	}
	x.running[fn] = true
	defer delete(x.running, fn)
	type key struct {
		call *ast.CallExpr
		fn   *types.Func
	}
	p := x.open(key{call, fn}, fn, recv)
	if p == nil {
		return nil
	}
	return x.run(p, recv, args)
}

// word returns the result of a word that has no node.
func (x *interp) word(call *ast.CallExpr, w vocabulary.Word, recv *value, args []*value) *value {
	if w.Use != vocabulary.Pure {
		return x.foreign(joinAll(append(args, recv)...))
	}
	all := []*value{}
	for i, a := range args {
		if !x.p.isBatch(x.typeOf(call.Args[i])) {
			all = append(all, a)
		}
	}
	out := x.foreign(computed(all...))
	if x.p.typ(x.typeOf(call)).Key {
		out.keys = []int{x.newKey(call)}
	}
	return out
}

// pure returns the results of a function that only computes on its arguments. It
// may return memory of theirs, or of what they point to.
func (x *interp) pure(call *ast.CallExpr, fn *types.Func, recv *value, args []*value) []*value {
	all := append(slices.Clone(args), recv)
	out := x.fresh(call, computed(all...))
	if !clones[fn.FullName()] || x.t.Refers(tree.Element(x.typeOf(call))) {
		for _, a := range all {
			out.sites = union(out.sites, a.allSites(), cmp.Compare[int])
			if len(objectsOf(a)) > 0 {
				out.sites = union(out.sites, []int{outside}, cmp.Compare[int])
			}
		}
	}
	n := 1
	if t, ok := x.typeOf(call).(*types.Tuple); ok {
		n = t.Len()
	}
	return slices.Repeat([]*value{out}, n)
}

// operation makes the node of a word, of an author's operation or of a helper, and
// returns its results.
func (x *interp) operation(s *tree.Assign) []*value {
	call, fn := s.Op.Call, s.Op.Fn
	recv, args := x.receiverOf(call), x.args(call)
	if x.next == nil && x.iterates {
		x.bad(s.Pos, refusal{"next", "this operation stands outside of the loop over run.Next, so that a run which resumes would do it again, or not at all", "do it inside the loop, or in the constructor"})
	}
	n := fdg.Node{Text: tree.OneLine(types.ExprString(s.Op.Source))}
	w, _ := x.p.word(fn)
	m := x.p.mark(fn)
	switch s.Op.Kind {
	case tree.Word:
		n.Kind, n.Op, n.Whole, n.Shards, n.Turns = w.Kind, w.Name, w.Whole, w.Shards, w.Turns
	case tree.Author:
		n.Kind, n.Op = fdg.Op, fn.Name()
	case tree.Helper:
		n.Kind, n.Whole = fdg.Compute, m["rows"] == ""
	}
	id := x.node(nodeKey{s, 0}, s.Op.Source.Pos(), n)
	e := &x.b.extra[id]
	e.axis, e.pin, e.shape = fdg.Axis(m["axis"]), cmp.Or(m["fragment"], e.pin), shapes[w.Shape]
	e.helper = s.Op.Kind == tree.Helper && n.Whole
	e.taint = s.Op.Kind == tree.Helper || w.Host
	x.given(id, s, recv, args)
	switch s.Op.Kind {
	case tree.Word:
		x.effects(id, call, w, recv, args)
	case tree.Author:
		x.authorOp(id, call, fn, m, recv, args)
	}
	return x.results(id, call, fn)
}

// given makes a node use a call's receiver and arguments.
func (x *interp) given(id int, s *tree.Assign, recv *value, args []*value) {
	call, sig := s.Op.Call, s.Op.Fn.Signature()
	if recv != nil && sig.Recv() != nil {
		x.consume(id, fdg.OfValue, sig.Recv().Name(), recv)
	}
	for i, a := range args {
		p := sig.Params().At(min(i, sig.Params().Len()-1))
		t := x.typeOf(call.Args[i])
		x.consume(id, fdg.OfValue, p.Name(), a)
		if x.t.Refers(t) {
			for _, s := range a.allSites() {
				x.st.handed[s] = true
			}
		}
		if x.p.holdsKey(t) {
			x.giveKey(s, call.Args[i], recv, a)
		}
		if _, generic := p.Type().(*types.TypeParam); !generic && types.IsInterface(p.Type()) && x.p.isBatch(t) {
			x.bad(call.Args[i].Pos(), hiddenBatch)
		}
	}
}

// results returns the parts of a node's result.
func (x *interp) results(id int, call *ast.CallExpr, fn *types.Func) []*value {
	e := &x.b.extra[id]
	e.result = x.typeOf(call)
	tuple, ok := e.result.(*types.Tuple)
	if !ok {
		return []*value{x.strip(x.foreign(ofDefs(def{id, "", -1})), e.result)}
	}
	var out []*value
	e.names = nil
	for i := range tuple.Len() {
		name := fn.Signature().Results().At(i).Name()
		if name == "" || name == "_" {
			name = fmt.Sprint(i)
		}
		e.names = append(e.names, name)
		out = append(out, x.strip(x.foreign(ofDefs(def{id, name, -1})), tuple.At(i).Type()))
	}
	return out
}

// partType returns the type of a part of a node's result.
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
		f := fieldNamed(t, name)
		if f == nil {
			return nil
		}
		t = f.Type()
	}
	return t
}
