package analyze

import (
	"cmp"
	"go/ast"
	"go/types"
	"iter"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// makesComponent returns what a word of the vocabulary makes in a constructor.
func (x *interp) makesComponent(call *ast.CallExpr, w vocabulary.Word, recv *value, args []*value) []*value {
	switch {
	case w.Registers:
		if objs := objectsOf(argument(args, w.ComponentAt)); len(objs) == 1 {
			objs[0].name = argument(args, w.NameAt).name()
		}
		return nil
	case w.Own || x.tells(call, w):
		return slices.Repeat([]*value{{varies: otherwise}}, 2)
	}
	laid := x.lays(call, w, recv, args)
	if !w.Makes {
		return []*value{laid} // a wrapper, at most
	}
	t := x.typeOf(call)
	if tuple, several := t.(*types.Tuple); several {
		t = tuple.At(0).Type()
	}
	if p, ok := t.Underlying().(*types.Pointer); ok {
		t = p.Elem()
	}
	o := x.registered(call, w, t, args)
	if w.GraphAt >= 0 {
		x.graphFunction(call, o, args)
	}
	if w.ParamsAt >= 0 {
		x.paramsOf(o, args)
	}
	return []*value{ofObjects(o)}
}

// tells reports whether a word returns numbers of a component, without saying that they
// are the same everywhere: they may count what one replica has.
func (x *interp) tells(call *ast.CallExpr, w vocabulary.Word) bool {
	fn := tree.Callee(x.info(), call)
	recv := fn.Signature().Recv()
	return w.Use == vocabulary.Unknown && !w.Makes && recv != nil && x.isComponent(recv.Type()) && x.numbers(x.typeOf(call))
}

// argument returns an argument of a call, nil if there are not so many.
func argument(args []*value, at int) *value {
	if at < 0 || at >= len(args) {
		return nil
	}
	return args[at]
}

// registered returns the component that a call makes. A scope has one of a name,
// so that calls in different arms of a branch make the same.
func (x *interp) registered(call *ast.CallExpr, w vocabulary.Word, t types.Type, args []*value) *object {
	if o, ok := x.made[call]; ok {
		return o
	}
	name := argument(args, w.NameAt).name()
	if name != "" && x.depth == 0 && w.GraphAt < 0 {
		for _, o := range x.objects {
			if o.by.Name == w.Name && o.name == name && !o.many && types.Identical(o.typ, t) && slices.Equal(o.scope, objectsOf(args[0])) {
				x.made[call] = o
				return o
			}
		}
	}
	o := x.object(call, where(call), wordObject, t)
	o.by = w
	o.of, _ = x.p.componentOf(t)
	if o.name = name; len(args) > 0 {
		o.scope = objectsOf(args[0])
	}
	return o
}

// paramsOf notes the parameters that an optimiser writes, or that a loss is
// differentiated by. One argument may be any of several.
func (x *interp) paramsOf(o *object, args []*value) {
	var list []*object
	for _, p := range args[min(o.by.ParamsAt, len(args)):] {
		list = union(list, objectsOf(p), compareObjects)
		o.either = o.either || len(objectsOf(p)) > 1
	}
	o.either = o.either || len(o.params) > 0 && !slices.Equal(o.params, list)
	o.params = union(o.params, list, compareObjects)
}

func objectsOf(v *value) []*object {
	if v == nil {
		return nil
	}
	return v.objs
}

// graphFunction notes which declared function a rl.Func or rl.Loss runs.
func (x *interp) graphFunction(call *ast.CallExpr, o *object, args []*value) {
	f := argument(args, o.by.GraphAt)
	if f == nil || len(f.fns) == 0 {
		x.report(where(call.Args[min(o.by.GraphAt, len(call.Args)-1)]), refusal{"function", "a graph function must be a declared function or method, so that what it reads is known from the source", "declare it and name it here"})
		return
	}
	o.graphs = joinClosures(o.graphs, f.fns)
}

// traceWord notes what a word in a graph function reads, and reads through the functions that it is
// given to call.
func (x *interp) traceWord(call *ast.CallExpr, w vocabulary.Word, recv *value, args []*value) {
	x.draws = x.draws || w.Draws
	if w.Traces {
		v := recv
		if w.ComponentAt >= 0 {
			v = argument(args, w.ComponentAt)
		}
		if len(objectsOf(v)) == 0 || slices.Contains(objectsOf(v), x.unknown) {
			x.report(where(call), refusal{"unresolved", "which parameters or statistics are read here is not known from the constructor", "assign the field once, in the constructor, from the function that makes the component"})
		}
	}
	x.trace(recv, args)
	for _, a := range args {
		if a != nil && len(a.fns) > 0 {
			x.either(call, a.fns, nil)
		}
	}
}

// opaque reports a call in a graph function that builds graph out of sight.
func (x *interp) opaque(call *ast.CallExpr) {
	if x.phase == tracing && slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return x.p.typ(x.typeOf(a)).Context }) {
		x.report(where(call), refusal{"unresolved", "what this call reads is not known: the function behind it cannot be found from the constructor", "call a declared function or method"})
	}
}

// trace notes the parameters and statistics that something in a graph function
// is given.
func (x *interp) trace(recv *value, args []*value) {
	for _, v := range append(slices.Clone(args), recv) {
		v.each(func(v *value) { // a network of the vocabulary's holds statistics
			for _, o := range v.objs {
				x.traceObject(o)
			}
		})
	}
}

func (x *interp) traceObject(o *object) {
	_, copied := o.copied()
	switch {
	case copied:
		x.reads[o] = true
	case o.function() && o.by.ParamsAt < 0: // called inside another
		for _, p := range x.graphReads(o) {
			x.reads[p] = true
		}
		x.draws = x.draws || o.draws
	}
}

// graphReads returns the parameters and statistics that a graph function reads,
// found by reading through its body, which also says whether it draws.
func (x *interp) graphReads(o *object) []*object {
	if o.traced || len(o.graphs) == 0 {
		return o.reads
	}
	o.traced = true
	saved := *x
	x.phase, x.reads, x.draws, x.loops, x.next, x.conds = tracing, map[*object]bool{}, false, nil, nil, nil
	for _, g := range o.graphs {
		if p := x.open(g.fn, g.fn, g.recv); p != nil {
			x.st = newState()
			x.run(p, g.recv, nil)
		}
	}
	reads, draws, objects := x.reads, x.draws, x.objects
	*x = saved
	x.objects = objects
	for _, c := range x.objects {
		if reads[c] || o.function() && slices.Contains(o.params, c) { // what a loss is differentiated by, it reads
			o.reads = append(o.reads, c)
		}
	}
	o.draws = draws
	return o.reads
}

// constructors returns the functions that make a trainer: what algo.Define is given,
// or else those that return one and are not called by another.
func (x *interp) constructors(trainer types.Type) []*types.Func {
	if defined := x.defined(); len(defined) > 0 {
		return defined
	}
	var out []*types.Func
	called := map[*types.Func]bool{}
	for _, f := range x.p.main.files {
		for _, fn := range eachCall(f, x.p.main.info) {
			called[fn] = true
		}
	}
	for fn, src := range x.p.funcs {
		if src.unit == x.p.main && fn.Signature().Recv() == nil && x.gives(fn, trainer) {
			out = append(out, fn)
		}
	}
	slices.SortFunc(out, func(a, b *types.Func) int { return cmp.Compare(a.Pos(), b.Pos()) })
	roots := slices.DeleteFunc(slices.Clone(out), func(f *types.Func) bool { return called[f] })
	if len(roots) > 0 {
		return roots
	}
	return out
}

// defined returns the functions that calls of algo.Define name. It leaves out those that another of
// them calls: an algorithm may be another one with settings of its own.
func (x *interp) defined() (out []*types.Func) {
	for _, f := range x.p.main.files {
		for call, fn := range eachCall(f, x.p.main.info) {
			if w, _ := x.p.word(fn); w.Defines && w.GraphAt < len(call.Args) {
				if built := tree.Callee(x.p.main.info, &ast.CallExpr{Fun: call.Args[w.GraphAt]}); built != nil {
					out = append(out, built)
				}
			}
		}
	}
	called := map[*types.Func]bool{}
	for _, built := range out {
		if src, ok := x.p.funcs[built]; ok {
			for _, fn := range eachCall(src.decl, src.unit.info) {
				called[fn] = called[fn] || fn != built
			}
		}
	}
	return slices.DeleteFunc(out, func(f *types.Func) bool { return called[f] })
}

// eachCall returns all calls of declared functions in a node.
func eachCall(n ast.Node, info *types.Info) iter.Seq2[*ast.CallExpr, *types.Func] {
	return func(yield func(*ast.CallExpr, *types.Func) bool) {
		for call := range tree.Nodes[*ast.CallExpr](n) {
			if fn := tree.Callee(info, call); fn != nil && !yield(call, fn) {
				return
			}
		}
	}
}

// gives reports whether a function returns a trainer.
func (x *interp) gives(fn *types.Func, trainer types.Type) bool {
	for v := range fn.Signature().Results().Variables() {
		if sameNamed(v.Type(), trainer) || x.p.typ(v.Type()).Trainer {
			return true
		}
	}
	return false
}

// sameNamed reports whether two types, or what they point to, are of one
// declaration.
func sameNamed(a, b types.Type) bool {
	n, m := namedOf(a), namedOf(b)
	return n != nil && m != nil && n.Origin() == m.Origin()
}

// construct reads a constructor and returns the trainers that it makes.
func (x *interp) construct(fn *types.Func, trainer types.Type) []*object {
	p := x.open(fn, fn, nil)
	if p == nil {
		return nil
	}
	x.phase, x.st = building, newState()
	out := x.run(p, nil, nil)
	for k, v := range x.st.heap {
		x.heap[k] = join(x.heap[k], v)
	}
	if len(out) == 0 {
		return nil
	}
	if varies(out[0]) != 0 {
		x.unequal(p.Decl.Pos(), "which trainer this returns differs from replica to replica: it depends on the rows that one has")
	}
	return slices.DeleteFunc(slices.Clone(objectsOf(out[0])), func(o *object) bool { return o.typ == nil || !sameNamed(o.typ, trainer) })
}
