package analyze

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// helper is a function of the author's that contains no operation.
type helper struct {
	t        *tree.Program
	fills    []int // parameters whose memory it writes, and -1 for the receiver
	problems []tree.Problem
}

// helper reads a helper, and those that it calls, until it is known what they write.
func (x *interp) helper(fn *types.Func) *helper {
	if h, ok := x.helpers[fn]; ok {
		return h // or one that is being read, with what was found so far
	}
	h := &helper{}
	x.helpers[fn] = h
	known := maps.Clone(x.helpers)
	for {
		h.problems = nil
		h.t = tree.Build(x.helperConfig(h), fn, nil)
		fills := h.written()
		if slices.Equal(fills, h.fills) {
			return h
		}
		h.fills = fills
		x.helpers = maps.Clone(known) // whoever calls this one is read anew
	}
}

// helperConfig reads all of a function and goes into none that it calls. Other than
// in a loop, a pointer may be to anything.
func (x *interp) helperConfig(h *helper) *tree.Config {
	c := x.config(true)
	c.Classify = func(*ast.CallExpr, *types.Func, func(ast.Expr) types.Type) tree.Kind { return tree.Pure }
	c.Fills = x.fills
	c.Frozen = func(t types.Type) bool { return ours(t) && !tree.IsPointer(t) || isError(t) }
	c.Fresh = func(fn *types.Func) bool { return fresh(fn) || clones[fn.FullName()] }
	c.Report = func(p tree.Problem) { h.problems = append(h.problems, p) }
	return c
}

// places returns the expressions whose memory a statement writes.
func (h *helper) places(a *tree.Assign) []ast.Expr {
	through := slices.DeleteFunc(slices.Clone(a.Lhs), func(l ast.Expr) bool { return !h.t.Through(l) })
	return append(through, a.Fills...)
}

// written returns the parameters whose memory the helper writes.
func (h *helper) written() (out []int) {
	for a := range tree.Each[*tree.Assign](h.t.Body) {
		for _, e := range h.places(a) {
			for v := range h.t.Memory(e) {
				if i, given := h.parameter(v); given && h.lends(i) && !slices.Contains(out, i) {
					out = append(out, i)
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// parameter returns the number of a parameter that has memory of the caller's.
func (h *helper) parameter(v *types.Var) (i int, ok bool) {
	i = slices.Index(h.t.Args, v)
	return i, (i >= 0 || v == h.t.Recv) && h.t.Refers(v.Type())
}

// lends reports whether a caller can give a parameter memory of its own: a slice,
// or a variable that a method has a pointer to. Pointers in a loop are to what the
// constructor made, and the last parameter of a variadic function is several.
func (h *helper) lends(i int) bool {
	sig := h.t.Fn.Signature()
	return i == -1 || !tree.IsPointer(sig.Params().At(i).Type()) && !(sig.Variadic() && i == sig.Params().Len()-1)
}

// review reports what a helper, or one that it calls, does besides computing on
// what it is given.
func (x *interp) review(fn *types.Func) {
	if x.reviewed[fn] {
		return
	}
	x.reviewed[fn] = true
	r := &reviewer{x.helper(fn), x}
	for _, p := range r.problems {
		if slices.Contains([]string{"goroutine", "defer", "channel"}, p.Code) {
			x.out.add(Finding{at: p.Pos, Code: p.Code, Message: p.Message, Instead: p.Instead, sticky: true})
		}
	}
	r.t.Body.Walk(func(s tree.Stmt) bool {
		switch s := s.(type) {
		case *tree.Assign:
			r.writes(s)
		case *tree.Loop:
			if s.Range {
				r.bad(s.Over, unordered(r.t.Info.TypeOf(s.Over)))
			}
		}
		for _, e := range tree.Exprs(s) {
			ast.Inspect(e, r.visit)
		}
		return true
	})
}

// reviewer looks at the statements of a helper.
type reviewer struct {
	*helper
	x *interp
}

func (r *reviewer) bad(at ast.Node, why refusal) { r.x.refuse(at, why) }

// writes reports a write to memory that is not the helper's own and that no caller
// can lend it.
func (r *reviewer) writes(a *tree.Assign) {
	for _, e := range r.places(a) {
		for v := range r.t.Memory(e) {
			if i, given := r.parameter(v); v == tree.Outside || given && !r.lends(i) {
				r.bad(e, refusal{"helper", fmt.Sprintf("this helper writes to what it was given (%s)", types.ExprString(e)), "make a copy, change that and return it"})
				break
			}
		}
	}
}

func (r *reviewer) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			r.bad(n, receives)
		}
	case *ast.Ident:
		if v := packageVar(r.t.Info.Uses[n]); v != nil {
			r.bad(n, readsGlobal(v))
		}
	case *ast.SelectorExpr:
		for _, f := range r.t.Fields(n) {
			r.bad(n.Sel, r.x.uneven(n, f))
		}
	case *ast.CallExpr:
		if fn := tree.Callee(r.t.Info, n); fn != nil {
			r.bad(n, r.called(fn))
		} else {
			r.bad(n, r.indirect(n))
		}
	}
	return true
}

// called says what is wrong with a call, if it does more than compute.
func (r *reviewer) called(fn *types.Func) refusal {
	w, word := r.x.p.word(fn)
	m := r.x.p.mark(fn)
	_, readable := r.x.p.funcs[fn]
	switch {
	case word && !known(w):
		return misplaced(w)
	case word && w.Use == vocabulary.Operation && w.Kind != fdg.Batch, m["op"] != "":
		return refusal{"helper", fmt.Sprintf("this helper contains the operation %s, and is one operation itself", cmp.Or(w.Name, fn.Name())), "leave //weft:rows out, so that the function is read through"}
	case word || fn.Pkg() == nil:
	case tree.Dynamic(fn):
		return refusal{"interface", fmt.Sprintf("which type is behind this interface is not known here, so %s cannot be read", fn.Name()), "use the concrete type"}
	case !readable:
		return impure(fn)
	case !r.x.contains(fn):
		r.x.review(fn)
	}
	return refusal{}
}

// indirect says what is wrong with the call of a function value, or of a builtin.
func (r *reviewer) indirect(call *ast.CallExpr) refusal {
	fun := ast.Unparen(call.Fun)
	if r.t.Info.Types[fun].IsType() || r.x.p.typ(r.t.Info.TypeOf(fun)).Pure {
		return refusal{}
	}
	switch name := tree.Builtin(r.t.Info, call); name {
	case "":
		return unreadable
	case "panic":
		return refusal{}
	default:
		return effectOf(name)
	}
}

// mutable reports whether a field is one that methods of an author's component
// write.
func (x *interp) mutable(f *types.Var) bool {
	if x.mutables == nil {
		x.mutables = map[*types.Var]bool{}
		for fn := range x.p.funcs {
			if recv := fn.Signature().Recv(); recv != nil && x.isComponent(recv.Type()) {
				x.mutates(x.helper(fn).t)
			}
		}
	}
	return x.mutables[f.Origin()]
}

// mutates notes the fields of a component that one of its methods may change.
func (x *interp) mutates(t *tree.Program) {
	note := func(e ast.Expr) {
		if t.Recv == nil || t.Root(e) != t.Recv {
			return
		}
		for sel := range tree.Nodes[*ast.SelectorExpr](e) {
			if t.Root(sel) == t.Recv {
				for _, f := range t.Fields(sel) {
					x.mutables[f.Origin()] = true
				}
			}
		}
	}
	for a := range tree.Each[*tree.Assign](t.Body) {
		for _, l := range a.Lhs {
			note(l)
		}
	}
	for e := range tree.ExprNodes[ast.Expr](t.Body) {
		switch e := e.(type) {
		case *ast.UnaryExpr:
			if e.Op == token.AND {
				note(e.X)
			}
		case *ast.CallExpr:
			for _, a := range e.Args { // of what is filled
				if t.Refers(t.Info.TypeOf(a)) {
					note(a)
				}
			}
			fn := tree.Callee(t.Info, e)
			if sel, ok := e.Fun.(*ast.SelectorExpr); ok && fn != nil && fn.Signature().Recv() != nil && tree.IsPointer(fn.Signature().Recv().Type()) && !tree.IsPointer(t.Info.TypeOf(sel.X)) {
				note(sel.X)
			}
		}
	}
}

// pure are the foreign packages, with those of their functions, if not all, that
// only compute on their arguments. Methods with pointers are not among them.
var pure = map[string][]string{
	"math": nil, "math/bits": nil, "math/cmplx": nil, "strings": nil, "strconv": nil, "cmp": nil, "unicode": nil, "unicode/utf8": nil,
	"errors": {"New", "Is", "Join", "Unwrap"},
	"fmt":    {"Sprint", "Sprintf", "Sprintln", "Errorf"},
	"slices": {
		"Clone", "Concat", "Contains", "ContainsFunc", "Equal", "Index", "IndexFunc", "IsSorted", "Max", "Min", "MaxFunc", "MinFunc", "Repeat", "BinarySearch", "Compare",
		"Sort", "SortFunc", "SortStableFunc", "Reverse",
	},
	"sort": {"Ints", "Float64s", "Strings", "SearchInts", "SearchFloat64s", "SearchStrings", "IntsAreSorted", "Float64sAreSorted", "StringsAreSorted"},
}

// filling are the foreign functions that write memory which they are given, with
// the arguments that they write; -1 is the receiver.
var filling = map[string][]int{
	"slices.Sort": {0}, "slices.SortFunc": {0}, "slices.SortStableFunc": {0}, "slices.Reverse": {0},
	"sort.Ints": {0}, "sort.Float64s": {0}, "sort.Strings": {0},
	"(*strings.Builder).WriteString": {-1}, "(*strings.Builder).WriteByte": {-1}, "(*strings.Builder).WriteRune": {-1},
	"(*strings.Builder).Write": {-1}, "(*strings.Builder).Reset": {-1}, "(*strings.Builder).Grow": {-1},
}

// looking are the methods with pointers that change nothing.
var looking = map[string]bool{"(*strings.Builder).String": true, "(*strings.Builder).Len": true, "(*strings.Builder).Cap": true}

// clones are the functions whose result has memory of its own.
var clones = map[string]bool{"slices.Clone": true, "slices.Concat": true, "slices.Repeat": true, "strings.Split": true, "strings.Fields": true}

// hidden are the packages whose results differ from run to run, with what to use
// in their place.
var hidden = map[string]string{
	"time":         "use the run's counters: run.Iter, run.Steps, run.Progress",
	"math/rand":    "draw by a key: run.Key and the draws of a graph function",
	"math/rand/v2": "draw by a key: run.Key and the draws of a graph function",
	"crypto/rand":  "draw by a key: run.Key and the draws of a graph function",
	"os":           "make it a setting, read before the run",
	"runtime":      "leave threads and memory to the runner",
	"reflect":      "use the types themselves",
	"unsafe":       "use the types themselves",
	"sync":         "leave concurrency to the policy",
	"sync/atomic":  "leave concurrency to the policy",
}

// impure says why a foreign function may not be called in a loop, if it may not.
func impure(fn *types.Func) refusal {
	if fn.Pkg() == nil {
		return refusal{} // the error interface
	}
	path, name, recv := fn.Pkg().Path(), fn.FullName(), fn.Signature().Recv()
	list, ok := pure[path]
	switch instead := hidden[path]; {
	case instead != "":
		return refusal{"foreign", fmt.Sprintf("%s.%s is a hidden input or effect: a run would not be repeatable", path, fn.Name()), instead}
	case !ok:
		return refusal{"foreign", fmt.Sprintf("package %s is not known to compute only", path), "call it in the constructor, or compute in a graph function"}
	case filling[name] != nil || looking[name]:
	case recv != nil && (tree.IsPointer(recv.Type()) || types.IsInterface(recv.Type())):
		return refusal{"foreign", fmt.Sprintf("%s may change what it is called on", name), "compute with functions, or in a method of your own"}
	case recv == nil && list != nil && !slices.Contains(list, fn.Name()):
		return refusal{"foreign", fmt.Sprintf("%s.%s has an effect beyond its result", path, fn.Name()), "return values instead, and log with run.Log"}
	}
	return refusal{}
}
