package analyze

import (
	"fmt"
	"go/ast"
	"go/types"

	"github.com/weft-rl/weft/fdg"
)

// deepest is how many calls are read through, one inside another. Constructors
// and graph functions may recurse, on data that the analyser does not follow.
const deepest = 40

// inline reads a function of the author's as if its body stood at the call.
func (x *interp) inline(call *ast.CallExpr, fn *types.Func, src source, recv *value, args []*value) *value {
	for f := x.f; f != nil; f = f.up {
		if f.fn == fn {
			x.bad(call.Pos(), "recursion", fmt.Sprintf("%s calls itself around operations", fn.Name()), "write a loop")
			return nil
		}
	}
	if len(x.f.calls) > deepest {
		return nil
	}
	f := &frame{
		unit: src.unit, fn: fn, call: x.key(call.Pos(), ""), calls: append(x.f.calls[:len(x.f.calls):len(x.f.calls)], call.Pos()),
		up: x.f, loops: len(x.loops), conds: len(x.conds), targs: x.instance(call, fn),
	}
	if x.phase == training {
		x.frames[f.call] = f
	}
	return x.enter(f, src, recv, args)
}

// enter reads a function's body in its own frame.
func (x *interp) enter(f *frame, src source, recv *value, args []*value) *value {
	caller := x.f
	x.f = f
	x.params(src.decl, recv, args)
	x.under(src.unit.marks.funcs[src.decl], func() { x.block(src.decl.Body.List) })
	if x.phase == training {
		x.st = merge(f.exit, x.st)
	}
	if len(f.named) > 0 && f.ret == nil && !x.st.dead {
		f.ret = x.st.vars[x.variable(f.named[0])]
	}
	for _, k := range f.vars { // a call's variables end with it
		delete(x.st.vars, k)
	}
	x.f = caller
	return f.ret
}

// params gives a function's receiver, parameters and named results their values.
func (x *interp) params(d *ast.FuncDecl, recv *value, args []*value) {
	set := func(name *ast.Ident, v *value) {
		if o := x.info().Defs[name]; o != nil {
			x.declare(o, v)
		}
	}
	if d.Recv != nil && len(d.Recv.List) == 1 && len(d.Recv.List[0].Names) == 1 {
		set(d.Recv.List[0].Names[0], recv)
	}
	at := 0
	for _, group := range d.Type.Params.List {
		_, variadic := group.Type.(*ast.Ellipsis)
		for _, name := range group.Names {
			switch {
			case variadic && at < len(args):
				set(name, joinAll(args[at:]))
			case at < len(args):
				set(name, args[at])
			default:
				set(name, nil)
			}
			at++
		}
		at += max(0, 1-len(group.Names))
	}
	if d.Type.Results == nil {
		return
	}
	for _, group := range d.Type.Results.List {
		for _, name := range group.Names {
			set(name, nil)
			if v, ok := x.info().Defs[name].(*types.Var); ok {
				x.f.named = append(x.f.named, v)
			}
		}
	}
}

// instance says what a generic function's type parameters stand for in a call.
func (x *interp) instance(call *ast.CallExpr, fn *types.Func) map[*types.TypeParam]types.Type {
	out := map[*types.TypeParam]types.Type{}
	ast.Inspect(call.Fun, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok {
			return true
		}
		inst, ok := x.info().Instances[id]
		if !ok || x.info().ObjectOf(id) == nil || fn.Name() != id.Name {
			return true
		}
		for i, p := 0, fn.Signature().TypeParams(); i < p.Len() && i < inst.TypeArgs.Len(); i++ {
			out[p.At(i)] = x.f.subst(inst.TypeArgs.At(i))
		}
		return true
	})
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		if s, ok := x.info().Selections[sel]; ok {
			method, _ := s.Obj().(*types.Func)
			if method != nil && method.Signature().Recv() != nil {
				named := namedOf(x.f.subst(method.Signature().Recv().Type()))
				for i, p := 0, fn.Signature().RecvTypeParams(); named != nil && i < p.Len() && i < named.TypeArgs().Len(); i++ {
					out[p.At(i)] = x.f.subst(named.TypeArgs().At(i))
				}
			}
		}
	}
	return out
}

// helper calls a function of the author's that contains no operation: one
// statement of the loop, provided that it only computes.
func (x *interp) helper(call *ast.CallExpr, fn *types.Func, src source, m *mark, recv *value, args []*value) *value {
	x.scan(fn, src)
	all := computed(append(args, recv)...)
	result := x.typeOf(call)
	batches := holdsBatch(result)
	for _, a := range call.Args {
		batches = batches || isBatch(x.typeOf(a))
	}
	if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok {
		if s, ok := x.info().Selections[sel]; ok && !isPointer(s.Recv()) {
			batches = batches || isBatch(x.f.subst(s.Recv()))
		}
	}
	if result == nil || isVoid(result) {
		x.bad(call.Pos(), "effect", fmt.Sprintf("%s returns nothing and contains no operation, so it has no effect that the loop could see", fn.Name()), "return what it computes, or mark a component's method //weft:op writes")
		return nil
	}
	if !batches && len(all.defs) == 0 {
		if t, ok := result.(*types.Tuple); ok {
			out := &value{}
			for range t.Len() {
				out.tuple = append(out.tuple, all)
			}
			return out
		}
		return all
	}
	rows := m != nil && m.rows
	n := fdg.Node{Kind: fdg.Compute, Text: oneLine(types.ExprString(call)), Whole: batches && !rows}
	id := x.node(x.key(call.Pos(), "("), call.Pos(), n)
	e := &x.b.extra[id]
	e.helper, e.taint = batches && !rows, batches
	if m != nil {
		e.axis = m.axis
		if m.fragment != "" {
			e.pin = m.fragment
		}
	}
	x.given(id, call, fn, recv, args)
	return x.results(id, call, fn)
}

func isVoid(t types.Type) bool {
	tuple, ok := t.(*types.Tuple)
	return ok && tuple.Len() == 0
}

func holdsBatch(t types.Type) bool {
	tuple, ok := t.(*types.Tuple)
	if !ok {
		return isBatch(t)
	}
	for i := range tuple.Len() {
		if isBatch(tuple.At(i).Type()) {
			return true
		}
	}
	return false
}

// authorOp calls a method that its author declared to be an operation.
func (x *interp) authorOp(call *ast.CallExpr, fn *types.Func, m *mark, recv *value, args []*value) *value {
	n := fdg.Node{Kind: fdg.Op, Op: fn.Name(), Text: oneLine(types.ExprString(call))}
	id := x.node(x.key(call.Pos(), "("), call.Pos(), n)
	e := &x.b.extra[id]
	e.axis = m.axis
	if m.fragment != "" {
		e.pin = m.fragment
	}
	x.given(id, call, fn, recv, args)
	if o := x.one(call, recv, "component"); o != nil {
		if o.kind != componentObject {
			x.bad(call.Pos(), "component", fmt.Sprintf("%s is marked //weft:op, but its type does not implement rl.Component: its state would not be saved", fn.Name()), "implement Axis, Save and Load, and register it with the scope")
			return nil
		}
		r := x.resource(o, "")
		x.b.nodes[id].Whole = m.axis != fdg.Environments && x.b.resources[r].Axis != fdg.Environments
		x.read(id, r)
		if m.op == "writes" {
			x.write(id, r, o)
		}
	}
	for _, a := range args {
		x.lend(id, call, a)
	}
	return x.results(id, call, fn)
}

// lend lets an author's operation read the components that it is given.
func (x *interp) lend(id int, call *ast.CallExpr, v *value) {
	if v == nil {
		return
	}
	for _, o := range v.objs {
		switch o.kind {
		case paramsObject, statsObject:
			x.read(id, x.resource(o, ""))
		case funcObject:
			x.readGraph(id, o)
		case runObject, plain:
		default:
			x.bad(call.Pos(), "component", "an operation is given a component that has another home", "pass what the component returns")
		}
	}
}
