package analyze

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
)

// made is what a constructor of the vocabulary returns.
func (x *interp) made(call *ast.CallExpr, name string, args []*value) *value {
	if name == "rl.Scope.Register" && len(args) == 2 {
		for _, o := range objectsOf(args[1]) {
			o.name = args[0].name()
		}
	}
	kind, ok := makers[name]
	if !ok {
		return joinAll(args) // a wrapper, at most
	}
	t := x.typeOf(call)
	tuple, several := t.(*types.Tuple)
	if several {
		t = tuple.At(0).Type()
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	o := x.object(call.Pos(), kind, t)
	if kind != envObject && len(args) > 1 {
		o.name = args[1].name()
	}
	switch kind {
	case funcObject, lossObject:
		x.graphFunction(call, o, args)
		for _, p := range args[min(3, len(args)):] {
			o.params = sortedObjects(append(o.params, objectsOf(p)...))
		}
	case optObject:
		for _, p := range args[min(3, len(args)):] {
			o.params = sortedObjects(append(o.params, objectsOf(p)...))
		}
	}
	out := &value{objs: []*object{o}}
	if several {
		return &value{tuple: []*value{out, nil}}
	}
	return out
}

func objectsOf(v *value) []*object {
	if v == nil {
		return nil
	}
	return v.objs
}

// graphFunction notes which declared function a rl.Func or rl.Loss runs.
func (x *interp) graphFunction(call *ast.CallExpr, o *object, args []*value) {
	if len(args) < 3 || args[2] == nil || args[2].fn == nil {
		x.report(call.Args[min(2, len(call.Args)-1)].Pos(), "function", "a graph function must be a declared function or method, so that what it reads is known from the source", "declare it and name it here")
		return
	}
	if o.graph != nil && (o.graph.fn != args[2].fn.fn) {
		x.report(call.Pos(), "unresolved", "this graph function may be one of several", "make one for each, in fields of their own")
	}
	o.graph = args[2].fn
}

// readers are the words by which a graph function reads state, with where it is
// named: the receiver, or the first argument.
var readers = map[string]bool{"rl.Ctx.Scope": false, "rl.Stats.Norm": true, "rl.Stats.Restore": true, "rl.Stats.Scale": true, "nn.Returns.Scale": true}

// traceWord notes what a word in a graph function reads.
func (x *interp) traceWord(call *ast.CallExpr, name string, recv *value, args []*value) {
	if ofRecv, ok := readers[name]; ok {
		v := recv
		if !ofRecv && len(args) > 0 {
			v = args[0]
		}
		if len(objectsOf(v)) == 0 {
			x.report(call.Pos(), "unresolved", "which parameters or statistics are read here is not known from the constructor", "assign the field once, in the constructor, from the function that makes the component")
		}
	}
	x.trace(recv, args)
}

// opaque reports a call in a graph function that builds graph out of sight.
func (x *interp) opaque(call *ast.CallExpr) {
	if x.phase == tracing && slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return isNamed(x.typeOf(a), "rl", "Ctx") }) {
		x.report(call.Pos(), "unresolved", "what this call reads is not known: the function behind it cannot be found from the constructor", "call a declared function or method")
	}
}

// trace notes the parameters and statistics that something in a graph function
// is given.
func (x *interp) trace(recv *value, args []*value) {
	for _, v := range append(slices.Clone(args), recv) {
		for _, o := range objectsOf(v) {
			switch o.kind {
			case paramsObject, statsObject, returnsObject:
				x.reads[o] = true
			case funcObject: // called inside another
				for _, p := range x.graphReads(o) {
					x.reads[p] = true
				}
			}
		}
	}
}

// graphReads are the parameters and statistics that a graph function reads,
// found by reading through its body.
func (x *interp) graphReads(o *object) []*object {
	if o.graph == nil {
		return nil
	}
	if o.traced {
		return o.reads
	}
	o.traced = true
	src, ok := x.p.funcs[o.graph.fn.Origin()]
	if !ok {
		return nil
	}
	saved := *x
	x.phase, x.reads, x.st, x.loops, x.pins = tracing, map[*object]bool{}, newState(), nil, nil
	f := &frame{unit: src.unit, fn: o.graph.fn.Origin(), call: fmt.Sprintf("graph%d", o.id)}
	x.enter(f, src, o.graph.recv, nil)
	for _, c := range x.objects {
		if x.reads[c] {
			o.reads = append(o.reads, c)
		}
	}
	objects := x.objects
	*x = saved
	x.objects = objects
	for _, p := range o.params { // what a loss is differentiated by, it reads
		if o.kind == lossObject && !slices.Contains(o.reads, p) {
			o.reads = append(o.reads, p)
		}
	}
	o.reads = sortedObjects(o.reads)
	return o.reads
}

// constructors are the functions that make a trainer: what algo.Define is given,
// or else those that return one and are not called by another.
func (x *interp) constructors(trainer types.Type) []*types.Func {
	if defined := x.defined(); len(defined) > 0 {
		return defined
	}
	var out []*types.Func
	called := map[*types.Func]bool{}
	for _, f := range x.p.main.files {
		ast.Inspect(f, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if fn := calleeOf(x.p.main.info, call); fn != nil {
					called[fn] = true
				}
			}
			return true
		})
		for _, d := range f.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok || d.Recv != nil || d.Body == nil {
				continue
			}
			fn, _ := x.p.main.info.Defs[d.Name].(*types.Func)
			if fn != nil && gives(fn, trainer) {
				out = append(out, fn)
			}
		}
	}
	roots := slices.DeleteFunc(slices.Clone(out), func(f *types.Func) bool { return called[f] })
	if len(roots) > 0 {
		return roots
	}
	return out
}

// defined are the functions that calls of algo.Define name.
func (x *interp) defined() (out []*types.Func) {
	for _, f := range x.p.main.files {
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			fn := calleeOf(x.p.main.info, call)
			if fn == nil || len(call.Args) != 4 {
				return true
			}
			if name, _ := wordOf(fn); name == "algo.Define" {
				if built := calleeOf(x.p.main.info, &ast.CallExpr{Fun: call.Args[3]}); built != nil {
					out = append(out, built)
				}
			}
			return true
		})
	}
	return out
}

// gives reports whether a function returns a trainer.
func gives(fn *types.Func, trainer types.Type) bool {
	results := fn.Signature().Results()
	for i := range results.Len() {
		t := results.At(i).Type()
		n, want := namedOf(t), namedOf(trainer)
		if n != nil && want != nil && n.Origin() == want.Origin() || isNamed(t, "rl", "Trainer") {
			return true
		}
	}
	return false
}

// construct reads a constructor and returns the trainer that it makes.
func (x *interp) construct(fn *types.Func, trainer types.Type) *value {
	src, ok := x.p.funcs[fn]
	if !ok {
		return nil
	}
	x.phase = building
	f := &frame{unit: src.unit, fn: fn, call: "new", targs: map[*types.TypeParam]types.Type{}}
	args := make([]*value, fn.Signature().Params().Len())
	v := x.enter(f, src, nil, args)
	if v != nil && len(v.tuple) > 0 {
		v = v.tuple[0]
	}
	if v == nil {
		return nil
	}
	out := *v
	out.objs = slices.DeleteFunc(slices.Clone(v.objs), func(o *object) bool {
		n, want := namedOf(o.typ), namedOf(trainer)
		return n == nil || want == nil || n.Origin() != want.Origin()
	})
	return &out
}
