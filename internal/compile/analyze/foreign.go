package analyze

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"
)

// pure are the foreign packages, with those of their functions, if not all, that
// only compute on their arguments.
var pure = map[string][]string{
	"math": nil, "math/bits": nil, "math/cmplx": nil, "strings": nil, "strconv": nil, "errors": nil, "cmp": nil, "unicode": nil,
	"fmt":    {"Sprint", "Sprintf", "Sprintln", "Errorf"},
	"slices": {"Clone", "Concat", "Contains", "Equal", "Index", "IsSorted", "Max", "Min", "Repeat", "BinarySearch", "Sorted"},
}

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

// foreign calls a function whose source is not read.
func (x *interp) foreign(call *ast.CallExpr, fn *types.Func, recv *value, args []*value) *value {
	if x.phase == tracing {
		x.trace(recv, args)
		x.opaque(call)
	}
	if x.phase != training {
		return nil
	}
	if why, instead := impure(fn); why != "" {
		x.bad(call.Pos(), "foreign", why, instead)
		return nil
	}
	for _, a := range call.Args {
		switch t := x.typeOf(a); {
		case isBatch(t):
			x.bad(a.Pos(), "foreign", fmt.Sprintf("a batch is given to %s, which cannot be followed", fn.FullName()), "compute in a graph function")
			return nil
		case x.isComponent(t):
			x.bad(a.Pos(), "foreign", fmt.Sprintf("a component is given to %s, which cannot be followed", fn.FullName()), "use its operations")
			return nil
		}
	}
	out := computed(append(args, recv)...)
	if t, ok := x.typeOf(call).(*types.Tuple); ok {
		many := &value{}
		for range t.Len() {
			many.tuple = append(many.tuple, out)
		}
		return many
	}
	return out
}

// impure says why a foreign function may not be called in a loop.
func impure(fn *types.Func) (why, instead string) {
	if fn.Pkg() == nil {
		return "", "" // the error interface
	}
	path := fn.Pkg().Path()
	if instead, ok := hidden[path]; ok {
		return fmt.Sprintf("%s.%s is a hidden input or effect: a run would not be repeatable", path, fn.Name()), instead
	}
	list, ok := pure[path]
	if !ok {
		return fmt.Sprintf("package %s is not known to compute only", path), "call it in the constructor, or compute in a graph function"
	}
	if list != nil && !slices.Contains(list, fn.Name()) {
		return fmt.Sprintf("%s.%s has an effect beyond its result", path, fn.Name()), "return values instead, and log with run.Log"
	}
	return "", ""
}

// scan checks that a helper only computes: it neither writes what it is given
// nor depends on anything else.
func (x *interp) scan(fn *types.Func, src source) {
	if x.scanned[fn] {
		return
	}
	x.scanned[fn] = true
	s := &purity{x: x, info: src.unit.info, shared: map[types.Object]bool{}}
	sig := fn.Signature()
	for i := range sig.Params().Len() {
		s.shared[sig.Params().At(i)] = true
	}
	if d := src.decl; d.Recv != nil {
		for _, g := range d.Recv.List {
			for _, name := range g.Names {
				s.shared[s.info.Defs[name]] = true
			}
		}
	}
	for _, g := range src.decl.Type.Params.List {
		for _, name := range g.Names {
			s.shared[s.info.Defs[name]] = true
		}
	}
	s.aliases(src.decl.Body)
	outer := x.once
	x.once = true
	ast.Inspect(src.decl.Body, s.visit)
	x.once = outer
}

type purity struct {
	x      *interp
	info   *types.Info
	shared map[types.Object]bool // what the caller can see through
}

// aliases finds the variables that refer to what the helper was given.
func (s *purity) aliases(body *ast.BlockStmt) {
	for more := true; more; {
		more = false
		ast.Inspect(body, func(n ast.Node) bool {
			a, ok := n.(*ast.AssignStmt)
			if !ok || len(a.Lhs) != len(a.Rhs) {
				return true
			}
			for i, l := range a.Lhs {
				id, ok := l.(*ast.Ident)
				if !ok || !refers(s.info.TypeOf(l)) {
					continue
				}
				if o := s.info.ObjectOf(id); o != nil && !s.shared[o] && s.shared[s.root(a.Rhs[i])] {
					s.shared[o], more = true, true
				}
			}
			return true
		})
	}
}

// refers reports whether a copy of a value of this type shares memory with it.
func refers(t types.Type) bool {
	if t == nil {
		return false
	}
	switch u := t.Underlying().(type) {
	case *types.Slice, *types.Pointer, *types.Map:
		return true
	case *types.Struct:
		for i := range u.NumFields() {
			if refers(u.Field(i).Type()) {
				return true
			}
		}
	}
	return false
}

// root is the variable that an expression reaches into.
func (s *purity) root(e ast.Expr) types.Object {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return s.info.ObjectOf(e)
	case *ast.SelectorExpr:
		return s.root(e.X)
	case *ast.IndexExpr:
		return s.root(e.X)
	case *ast.SliceExpr:
		return s.root(e.X)
	case *ast.StarExpr:
		return s.root(e.X)
	case *ast.UnaryExpr:
		return s.root(e.X)
	}
	return nil
}

func (s *purity) visit(n ast.Node) bool {
	x := s.x
	switch n := n.(type) {
	case *ast.GoStmt, *ast.SelectStmt, *ast.SendStmt, *ast.DeferStmt:
		x.refuse(n.(ast.Stmt))
	case *ast.AssignStmt:
		for _, l := range n.Lhs {
			s.written(l)
		}
	case *ast.IncDecStmt:
		s.written(n.X)
	case *ast.RangeStmt:
		if t := s.info.TypeOf(n.X); t != nil {
			if _, isMap := t.Underlying().(*types.Map); isMap {
				x.bad(n.Pos(), "map", "a map is gone through in another order every time", "range over a sorted slice of its keys, made in the constructor")
			}
		}
	case *ast.Ident:
		if v, ok := s.info.Uses[n].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
			x.global(n.Pos(), v)
		}
	case *ast.CallExpr:
		s.called(n)
	}
	return true
}

// written reports a write that the caller could see.
func (s *purity) written(l ast.Expr) {
	if _, plain := ast.Unparen(l).(*ast.Ident); plain {
		return
	}
	if root := s.root(l); root != nil && s.shared[root] && s.through(l) {
		s.x.bad(l.Pos(), "helper", fmt.Sprintf("this helper writes to what it was given (%s)", types.ExprString(l)), "make a copy, change that and return it")
	}
}

// through reports whether an assignment leaves the variable itself: by an index
// into a slice, or a pointer.
func (s *purity) through(l ast.Expr) bool {
	switch l := ast.Unparen(l).(type) {
	case *ast.IndexExpr:
		_, array := s.info.TypeOf(l.X).Underlying().(*types.Array)
		return !array || s.through(l.X)
	case *ast.StarExpr:
		return true
	case *ast.SelectorExpr:
		return isPointer(s.info.TypeOf(l.X)) || s.through(l.X)
	}
	return false
}

func (s *purity) called(call *ast.CallExpr) {
	fn := calleeOf(s.info, call)
	if fn == nil {
		if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
			if b, ok := s.info.Uses[id].(*types.Builtin); ok && (b.Name() == "copy" || b.Name() == "clear" || b.Name() == "delete") && s.shared[s.root(call.Args[0])] {
				s.x.bad(call.Pos(), "helper", fmt.Sprintf("this helper writes to what it was given (%s)", types.ExprString(call.Args[0])), "make a copy, change that and return it")
			}
		}
		return
	}
	if _, ok := wordOf(fn); ok {
		return
	}
	if src, ok := s.x.p.funcs[fn]; ok {
		s.x.scan(fn, src)
		return
	}
	if why, instead := impure(fn); why != "" {
		s.x.bad(call.Pos(), "foreign", why, instead)
	}
}
