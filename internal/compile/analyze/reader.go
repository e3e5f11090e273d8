package analyze

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// config returns what the program tells whoever builds its trees.
func (x *interp) config(open bool) *tree.Config {
	c := &tree.Config{
		Fset: x.p.fset, Open: open, Classify: x.classify, Resolve: x.resolve, Fills: x.fills,
		Source: func(fn *types.Func) (tree.Source, bool) {
			src, ok := x.p.funcs[fn]
			if !ok {
				return tree.Source{}, false
			}
			return tree.Source{Decl: src.decl, Info: src.unit.info, Pkg: src.unit.pkg}, true
		},
		Next: func(fn *types.Func) bool {
			w, _ := x.p.word(fn)
			return w.Use == vocabulary.Next
		},
		Frozen: x.frozen, Fresh: fresh,
		Shows: func(fn *types.Func) bool {
			w, _ := x.p.word(fn)
			return w.Shows
		},
		Pin: func(n ast.Node) string { return x.p.mark(n)["fragment"] },
		Report: func(p tree.Problem) {
			x.out.add(Finding{at: p.Pos, Code: p.Code, Message: p.Message, Instead: p.Instead, Calls: x.positions(p.Calls), sticky: true})
		},
	}
	if open {
		c.Classify = func(_ *ast.CallExpr, fn *types.Func, _ func(ast.Expr) types.Type) tree.Kind {
			if _, ok := x.p.funcs[fn]; ok {
				return tree.Through
			}
			return tree.Pure
		}
		c.Fills = func(*types.Func) []int { return nil }
		c.Report = func(tree.Problem) {}
	}
	return c
}

// fresh reports whether what a function returns shares no memory with its
// arguments: also not the elements of a clone.
func fresh(fn *types.Func) bool {
	_, word := wordOf(fn)
	return word || fn.Pkg() != nil && (fn.Pkg().Path() == "strings" || fn.Pkg().Path() == "strconv")
}

// frozen reports whether values of a type never change in a loop, or have a home:
// what the vocabulary declares, errors, and pointers, which are to what the
// constructor made.
func (x *interp) frozen(t types.Type) bool {
	return ours(t) || tree.IsPointer(t) || isError(t) || x.isComponent(t)
}

// open returns the tree of a constructor, a graph function or what they call
// through a value. key is what it is kept under.
func (x *interp) open(key any, fn *types.Func, recv *value) *tree.Program {
	p, ok := x.programs[key]
	if !ok {
		p = tree.Build(x.config(true), fn, x.instance(fn, recv))
		if p != nil && !x.check(p, func(*ast.CallExpr, *types.Func) bool { return false }) {
			p = nil
		}
		x.programs[key] = p
	}
	return p
}

// instance says what the type parameters of a method's receiver stand for.
func (x *interp) instance(fn *types.Func, recv *value) map[*types.TypeParam]types.Type {
	out := map[*types.TypeParam]types.Type{}
	for _, o := range objectsOf(recv) {
		if n := namedOf(o.typ); n != nil {
			for i, p := 0, fn.Signature().RecvTypeParams(); i < p.Len() && i < n.TypeArgs().Len(); i++ {
				out[p.At(i)] = n.TypeArgs().At(i)
			}
		}
	}
	return out
}

// classify says what a call in the loop is.
func (x *interp) classify(call *ast.CallExpr, fn *types.Func, typeOf func(ast.Expr) types.Type) tree.Kind {
	if w, ok := x.p.word(fn); ok {
		return x.classifyWord(call, fn, w)
	}
	_, readable := x.p.funcs[fn]
	switch {
	case fn.Pkg() == nil:
		return tree.Pure // the error interface
	case tree.Dynamic(fn):
		return tree.Through
	case !readable:
		return x.classifyForeign(call, fn, typeOf)
	}
	m := x.p.mark(fn)
	switch {
	case m["op"] != "":
		return tree.Author
	case m["rows"] != "":
		return x.classifyRows(call, fn, typeOf)
	case x.contains(fn) || x.runs(fn) || x.yields(fn):
		return tree.Through
	case !x.batches(call, typeOf):
		x.review(fn)
		return tree.Pure
	case x.looks(fn):
		x.review(fn)
		return tree.Helper
	}
	return tree.Through
}

func (x *interp) classifyWord(call *ast.CallExpr, fn *types.Func, w vocabulary.Word) tree.Kind {
	switch {
	case w.Use == vocabulary.Unknown && tree.Dynamic(fn):
		return tree.Through
	case w.Use == vocabulary.Next:
		return x.refuse(call, refusal{"word", fmt.Sprintf("%s has no place in a loop", w.Name), "use run.Next as the whole condition of the outermost loop: for run.Next() { ... }"})
	case !known(w):
		return x.refuse(call, misplaced(w))
	case w.Use != vocabulary.Operation:
		return tree.Pure
	}
	return tree.Word
}

// classifyForeign says what a call of a function is whose source is not read.
func (x *interp) classifyForeign(call *ast.CallExpr, fn *types.Func, typeOf func(ast.Expr) types.Type) tree.Kind {
	if kind := x.refuse(call, impure(fn)); kind == tree.Refused {
		return kind
	}
	for _, a := range call.Args {
		switch t := typeOf(a); {
		case x.p.isBatch(t):
			return x.refuse(a, refusal{"foreign", fmt.Sprintf("a batch is given to %s, which cannot be followed", fn.FullName()), "compute in a graph function"})
		case x.isComponent(t):
			return x.refuse(a, refusal{"foreign", fmt.Sprintf("a component is given to %s, which cannot be followed", fn.FullName()), "use its operations"})
		}
	}
	return tree.Pure
}

// classifyRows says what a call of a function marked //weft:rows is.
func (x *interp) classifyRows(call *ast.CallExpr, fn *types.Func, typeOf func(ast.Expr) types.Type) tree.Kind {
	x.review(fn)
	if t := typeOf(call); x.numbers(t) {
		return x.refuse(call, refusal{"whole", fmt.Sprintf("%s is marked //weft:rows and returns %s, of which numbers would be of some rows only", fn.Name(), x.typeName(t)), "return batches with a row for each row, or leave the directive out"})
	}
	return tree.Helper
}

// numbers reports whether a value of a type holds Go numbers or strings, besides
// what packages that are not read keep to themselves.
func (x *interp) numbers(t types.Type) bool {
	return tree.Holds(t, func(t types.Type) tree.Verdict {
		_, basic := t.Underlying().(*types.Basic)
		_, channel := t.Underlying().(*types.Chan)
		n := namedOf(t)
		foreign := n != nil && n.Obj().Pkg() != nil && x.p.units[n.Obj().Pkg()] == nil && !ours(t)
		if basic || channel || tree.IsPointer(t) || foreign || x.p.declared(t) {
			return when(basic)
		}
		return tree.Deeper
	})
}

// contains reports whether a function is an operation or reads like one: whether
// nodes come out of it.
func (x *interp) contains(fn *types.Func) bool {
	if yes, known := x.ops[fn]; known {
		return yes
	}
	x.ops[fn] = false // a recursive call does not count for itself
	w, word := x.p.word(fn)
	src, readable := x.p.funcs[fn]
	yes := false
	switch {
	case word:
		yes = w.Use == vocabulary.Operation && !w.Host || w.Use == vocabulary.Unknown && tree.Dynamic(fn)
	case fn.Pkg() == nil:
	case tree.Dynamic(fn):
		yes = true
	case readable:
		m := x.p.mark(fn)
		yes = m["op"] != "" || m["rows"] == "" && calls(src, x.contains)
	}
	x.ops[fn] = yes
	return yes
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
		w, ours := x.p.word(fn)
		return !ours || w.Host
	}
	x.looking[fn] = calls(src, x.looks)
	return x.looking[fn]
}

// calls reports whether a function calls one of which f is true.
func calls(src source, f func(*types.Func) bool) bool {
	for _, fn := range eachCall(src.decl.Body, src.unit.info) {
		if f(fn) {
			return true
		}
	}
	return false
}

// runs reports whether a function is given the run.
func (x *interp) runs(fn *types.Func) bool {
	for v := range fn.Signature().Params().Variables() {
		if x.p.typ(v.Type()).Run {
			return true
		}
	}
	return false
}

// yields reports whether a function returns components, what holds them, or keys:
// which ones is found by reading through it.
func (x *interp) yields(fn *types.Func) bool {
	results := fn.Signature().Results()
	return x.p.holdsKey(results) || x.leads(results)
}

// batches reports whether batches go through a call.
func (x *interp) batches(call *ast.CallExpr, typeOf func(ast.Expr) types.Type) bool {
	if x.p.isBatch(typeOf(call)) || slices.ContainsFunc(call.Args, func(a ast.Expr) bool { return x.p.isBatch(typeOf(a)) }) {
		return true
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	return ok && x.p.isBatch(typeOf(sel.X)) && !tree.IsPointer(typeOf(sel.X))
}

// fills returns the parameters whose memory a function writes, and -1 for its
// receiver.
func (x *interp) fills(fn *types.Func) []int {
	if _, ok := wordOf(fn); ok || tree.Dynamic(fn) {
		return nil
	}
	if _, readable := x.p.funcs[fn]; !readable {
		return filling[fn.FullName()]
	}
	if x.p.mark(fn)["op"] != "" || x.contains(fn) {
		return nil
	}
	return x.helper(fn).fills
}

// resolve returns the method behind fn, an interface's, when it is called on an
// expression of a tree that is being built: that of the only type which the
// constructor put there.
func (x *interp) resolve(p *tree.Program, recv ast.Expr, fn *types.Func) *types.Func {
	var found []*types.Func
	objs, known := x.objectsAt(p, recv)
	if !known {
		objs = x.behindAny(p.Info.TypeOf(recv))
	}
	for _, o := range objs {
		if m := methodOf(o, fn); !slices.Contains(found, m) {
			found = append(found, m)
		}
	}
	if len(found) == 1 && found[0] != nil {
		return found[0]
	}
	x.refuse(recv, refusal{"interface", fmt.Sprintf("which type is behind this interface is not known from the constructor, so %s cannot be read", fn.Name()), "use the concrete type, or put one in the field in the constructor"})
	return nil
}

// objectsAt returns the objects that fields and elements of the trainer hold; known
// is false for an expression that is none of these.
func (x *interp) objectsAt(p *tree.Program, e ast.Expr) (objs []*object, known bool) {
	v := p.Root(e)
	if v == nil || v != p.Recv && (!slices.Contains(p.Args, v) || x.p.typ(v.Type()).Run) {
		return nil, false
	}
	saved := *x
	x.phase, x.t, x.st = building, p, newState()
	x.st.vars[v] = x.self
	objs = objectsOf(x.eval(e))
	*x = saved
	return objs, true
}

// behindAny returns all objects that can be behind an interface. A loop makes none
// itself.
func (x *interp) behindAny(t types.Type) (out []*object) {
	face, ok := t.Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	for _, o := range x.objects {
		if o.typ != nil && types.Implements(types.NewPointer(o.typ), face) {
			out = append(out, o)
		}
	}
	for k, v := range x.heap {
		for _, f := range fieldsAt(k.o.typ) {
			if f.Name() == k.field && types.IsInterface(f.Type()) && types.AssignableTo(f.Type(), t) && slices.Contains(objectsOf(v), x.unknown) {
				out = append(out, x.unknown)
			}
		}
	}
	return out
}
