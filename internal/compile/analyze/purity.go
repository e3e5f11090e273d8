package analyze

import (
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

// summary is what a helper does to memory: a function of the author's that
// contains no operation. It is found from all statements of the function whatever
// their order, so that it is easy to believe.
type summary struct {
	x     *interp
	fn    *types.Func
	info  *types.Info
	body  *ast.BlockStmt
	owner map[types.Object]owners // whose memory a variable may share
	fills []int                   // parameters whose memory it writes, and -1 for the receiver
	calls []*types.Func           // helpers that it calls
}

// owners are parameters by number, the receiver being -1, and strangers.
type owners map[int]bool

// stranger owns memory that a helper neither made nor was given.
const stranger = -2

// summary returns that of a helper, and finds those of the helpers that it calls.
func (x *interp) summary(fn *types.Func) *summary {
	if s, ok := x.summaries[fn]; ok {
		return s
	}
	var list []*summary
	var reach func(fn *types.Func)
	reach = func(fn *types.Func) {
		src, ok := x.p.funcs[fn]
		if !ok || x.summaries[fn] != nil {
			return
		}
		s := x.newSummary(fn, src)
		x.summaries[fn] = s
		list = append(list, s)
		for _, f := range s.calls {
			reach(f)
		}
	}
	reach(fn)
	for changed := true; changed; {
		changed = false
		for _, s := range list {
			changed = s.scan() || changed
		}
	}
	return x.summaries[fn]
}

func (x *interp) newSummary(fn *types.Func, src source) *summary {
	s := &summary{x: x, fn: fn, info: src.unit.info, body: src.decl.Body, owner: map[types.Object]owners{}}
	sig := fn.Signature()
	for i := range sig.Params().Len() {
		if v := sig.Params().At(i); points(v.Type()) {
			s.owner[v] = owners{i: true}
		}
	}
	if recv := sig.Recv(); recv != nil && points(recv.Type()) {
		s.owner[recv] = owners{-1: true}
	}
	ast.Inspect(s.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if f := tree.Callee(s.info, n); f != nil && x.p.funcs[f].decl != nil && !slices.Contains(s.calls, f) {
				s.calls = append(s.calls, f)
			}
		case *ast.FuncLit: // what it is called with is not known
			for _, g := range n.Type.Params.List {
				for _, name := range g.Names {
					s.owner[s.info.Defs[name]] = owners{stranger: true}
				}
			}
		}
		return true
	})
	return s
}

// scan finds more of what variables share and of what is written, and reports
// whether there was any.
func (s *summary) scan() (more bool) {
	ast.Inspect(s.body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, l := range n.Lhs {
				more = s.bind(l, n.Rhs[min(i, len(n.Rhs)-1)]) || more
				more = s.through(l) && s.fill(l) || more
			}
		case *ast.ValueSpec:
			for i, name := range n.Names {
				if len(n.Values) > 0 {
					more = s.bind(name, n.Values[min(i, len(n.Values)-1)]) || more
				}
			}
		case *ast.RangeStmt:
			for _, l := range []ast.Expr{n.Key, n.Value} {
				if l != nil {
					more = s.bind(l, n.X) || more
				}
			}
		case *ast.IncDecStmt:
			more = s.through(n.X) && s.fill(n.X) || more
		case *ast.CallExpr:
			for _, e := range s.filled(n) {
				more = s.fill(e) || more
			}
		}
		return true
	})
	return more
}

// bind notes that a place is given a value, and so shares its memory.
func (s *summary) bind(place, value ast.Expr) (more bool) {
	root := s.root(place)
	if root == nil || !points(s.info.TypeOf(place)) {
		return false
	}
	for o := range s.of(value) {
		if !s.owner[root][o] {
			if s.owner[root] == nil {
				s.owner[root] = owners{}
			}
			s.owner[root][o], more = true, true
		}
	}
	return more
}

// points reports whether a copy of a value of this type shares memory with it:
// also what a pointer points to.
func points(t types.Type) bool {
	return holds(t, func(t types.Type) verdict {
		if isPointer(t) || refers(t) {
			return yes
		}
		if ours(t) {
			return no
		}
		switch t.Underlying().(type) {
		case *types.Signature, *types.Chan:
			return yes
		}
		return deeper
	})
}

// base returns the expression that a place is in: without the fields, elements and
// pointers on the way to it.
func (s *summary) base(e ast.Expr) ast.Expr {
	switch n := e.(type) {
	case *ast.ParenExpr:
		return s.base(n.X)
	case *ast.SelectorExpr:
		if s.info.Selections[n] != nil {
			return s.base(n.X)
		}
		return n.Sel
	case *ast.IndexExpr:
		return s.base(n.X)
	case *ast.SliceExpr:
		return s.base(n.X)
	case *ast.StarExpr:
		return s.base(n.X)
	case *ast.UnaryExpr:
		return s.base(n.X)
	}
	return e
}

// root returns the variable that a place is in, or nil.
func (s *summary) root(e ast.Expr) types.Object {
	if id, ok := s.base(e).(*ast.Ident); ok {
		return s.info.ObjectOf(id)
	}
	return nil
}

// of returns whose memory the value of an expression may share.
func (s *summary) of(e ast.Expr) owners {
	out := owners{}
	add := func(list ...ast.Expr) {
		for _, e := range list {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				e = kv.Value
			}
			if points(s.info.TypeOf(e)) {
				maps.Copy(out, s.of(e))
			}
		}
	}
	switch e := s.base(e).(type) {
	case *ast.Ident:
		if o := s.info.ObjectOf(e); packageVar(o) != nil {
			out[stranger] = true
		} else {
			maps.Copy(out, s.owner[o])
		}
	case *ast.TypeAssertExpr:
		add(e.X)
	case *ast.CompositeLit:
		add(e.Elts...)
	case *ast.CallExpr:
		s.ofCall(e, out, add)
	}
	return out
}

// ofCall finds whose memory a call may return: what it is given, and for a word
// that shows a tensor's own memory, a stranger's.
func (s *summary) ofCall(e *ast.CallExpr, out owners, add func(...ast.Expr)) {
	fn := tree.Callee(s.info, e)
	if fn != nil {
		if w, ok := s.x.p.word(fn); ok {
			out[stranger] = out[stranger] || w.Shows
			return
		}
		if elem := elementType(s.info.TypeOf(e)); clones[fn.FullName()] && !points(elem) {
			return
		}
	}
	add(e.Args...)
	if sel, ok := ast.Unparen(e.Fun).(*ast.SelectorExpr); ok && s.info.Selections[sel] != nil {
		add(sel.X)
	}
}

// through reports whether assigning to a place leaves the variable itself: by an
// index into a slice, or a pointer.
func (s *summary) through(l ast.Expr) bool {
	switch l := ast.Unparen(l).(type) {
	case *ast.IndexExpr:
		_, array := s.info.TypeOf(l.X).Underlying().(*types.Array)
		return !array || s.through(l.X)
	case *ast.StarExpr:
		return true
	case *ast.SelectorExpr:
		sel := s.info.Selections[l]
		return isPointer(s.info.TypeOf(l.X)) || sel != nil && sel.Indirect() || s.through(l.X)
	}
	return false
}

// fill notes that the memory behind an expression is written.
func (s *summary) fill(e ast.Expr) (more bool) {
	for o := range s.of(e) {
		if o != stranger && s.lends(o) && !slices.Contains(s.fills, o) {
			s.fills = append(s.fills, o)
			slices.Sort(s.fills)
			more = true
		}
	}
	return more
}

// lends reports whether a caller can give a parameter memory of its own: a slice,
// or a variable that a method has a pointer to. Pointers in a loop are to what the
// constructor made, and the last parameter of a variadic function is several.
func (s *summary) lends(o int) bool {
	sig := s.fn.Signature()
	return o == -1 || !isPointer(sig.Params().At(o).Type()) && !(sig.Variadic() && o == sig.Params().Len()-1)
}

// filled returns the expressions whose memory a call writes.
func (s *summary) filled(call *ast.CallExpr) (out []ast.Expr) {
	fn := tree.Callee(s.info, call)
	var list []int
	switch {
	case fn == nil:
		if id, ok := ast.Unparen(call.Fun).(*ast.Ident); ok {
			if b, ok := s.info.Uses[id].(*types.Builtin); ok && slices.Contains([]string{"append", "copy", "clear", "delete"}, b.Name()) {
				list = []int{0}
			}
		}
	case s.x.summaries[fn] != nil:
		list = s.x.summaries[fn].fills
	default:
		list = filling[fn.FullName()]
	}
	for _, i := range list {
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); i < 0 && ok {
			if isPointer(s.info.TypeOf(sel.X)) || s.through(sel.X) || points(s.info.TypeOf(sel.X)) {
				out = append(out, sel.X)
			}
		} else if i >= 0 && i < len(call.Args) {
			out = append(out, call.Args[i])
		}
	}
	return out
}

// review reports what a helper, or one that it calls, does besides computing on
// what it is given.
func (x *interp) review(fn *types.Func) {
	s := x.summary(fn)
	if s == nil || x.reviewed[fn] {
		return
	}
	x.reviewed[fn] = true
	r := &reviewer{s}
	ast.Inspect(s.body, r.visit)
	for _, f := range s.calls {
		if !x.contains(f) {
			x.review(f)
		}
	}
}

// reviewer looks at the statements of a helper.
type reviewer struct{ *summary }

func (r *reviewer) bad(at ast.Node, code, message, instead string) {
	r.x.refuse(at, code, message, instead)
}

func (r *reviewer) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		r.bad(n, "goroutine", "a goroutine hides who computes what, and when", "call the function: a policy decides what runs beside what")
	case *ast.DeferStmt:
		r.bad(n, "defer", "a deferred call runs at a point that the function does not show", "write the call where it is to happen")
	case *ast.SelectStmt, *ast.SendStmt:
		r.bad(n, "channel", "a channel hides where a value goes", "pass values as arguments and results")
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			r.bad(n, "channel", "a channel hides where its values come from", "pass values as arguments and results")
		}
	case *ast.AssignStmt:
		for _, l := range n.Lhs {
			r.place(l)
		}
	case *ast.IncDecStmt:
		r.place(n.X)
	case *ast.RangeStmt:
		r.ranges(n)
	case *ast.Ident:
		if v := packageVar(r.info.Uses[n]); v != nil && !sentinel(v) {
			r.bad(n, "global", fmt.Sprintf("the package variable %s may be changed by anybody while the loop runs", v.Name()), "make it a constant, a setting or a field that the constructor sets")
		}
	case *ast.SelectorExpr:
		if f, ok := r.info.Uses[n.Sel].(*types.Var); ok && f.IsField() {
			if message, instead := r.x.uneven(n, f); message != "" {
				r.bad(n.Sel, "component", message, instead)
			}
		}
	case *ast.CallExpr:
		r.called(n)
	}
	return true
}

func (r *reviewer) ranges(n *ast.RangeStmt) {
	switch r.info.TypeOf(n.X).Underlying().(type) {
	case *types.Map:
		r.bad(n, "map", "a map is gone through in another order every time", "range over a sorted slice of its keys, made in the constructor")
	case *types.Signature:
		r.bad(n, "function", "an iterator is a function value, which cannot be read through", "range over a number or a slice")
	}
}

// place reports a write to memory that is not the helper's own and that no caller
// can lend it.
func (r *reviewer) place(l ast.Expr) {
	if r.through(l) {
		r.written(l)
	}
}

func (r *reviewer) written(e ast.Expr) {
	for o := range r.of(e) {
		if o == stranger || !r.lends(o) {
			r.bad(e, "helper", fmt.Sprintf("this helper writes to what it was given (%s)", types.ExprString(e)), "make a copy, change that and return it")
			return
		}
	}
}

// called reports a call that does more than compute.
func (r *reviewer) called(call *ast.CallExpr) {
	for _, e := range r.filled(call) {
		r.written(e)
	}
	fn := tree.Callee(r.info, call)
	if fn == nil {
		r.indirect(call)
		return
	}
	w, word := r.x.p.word(fn)
	src, readable := r.x.p.funcs[fn]
	switch {
	case word && !known(w):
		instead := w.Instead
		if instead == "" {
			instead = "call it in the constructor, or in a graph function"
		}
		r.bad(call, "word", fmt.Sprintf("%s has no place in a loop", w.Name), instead)
	case word && w.Use == vocabulary.Operation && w.Kind != fdg.Batch:
		r.bad(call, "helper", fmt.Sprintf("this helper contains the operation %s, and is one operation itself", w.Name), "leave //weft:rows out, so that the function is read through")
	case word || fn.Pkg() == nil:
	case dynamic(fn):
		r.bad(call, "interface", fmt.Sprintf("which type is behind this interface is not known here, so %s cannot be read", fn.Name()), "use the concrete type")
	case readable:
		if m := src.unit.marks.funcs[src.decl]; m != nil && m.op != "" {
			r.bad(call, "helper", fmt.Sprintf("this helper contains the operation %s, and is one operation itself", fn.Name()), "leave //weft:rows out, so that the function is read through")
		}
	default:
		if why, instead := impure(fn); why != "" {
			r.bad(call, "foreign", why, instead)
		}
	}
}

// indirect reports the call of a function value, and builtins with an effect.
func (r *reviewer) indirect(call *ast.CallExpr) {
	fun := ast.Unparen(call.Fun)
	if r.info.Types[fun].IsType() || r.x.p.typ(r.info.TypeOf(fun)).Pure {
		return
	}
	if id, ok := fun.(*ast.Ident); ok {
		if b, ok := r.info.Uses[id].(*types.Builtin); ok {
			if slices.Contains([]string{"print", "println", "recover", "close"}, b.Name()) {
				r.bad(call, "effect", b.Name()+" has an effect that no fragment owns", "let operations fail by themselves, and log with run.Log")
			}
			return
		}
	}
	r.bad(call, "function", "a function value cannot be read through: what it does is not in the source", "call a declared function or method")
}

// writes notes the fields of a component that one of its methods may change.
func (x *interp) writes(src source) {
	s := &summary{info: src.unit.info}
	if len(src.decl.Recv.List[0].Names) == 0 {
		return
	}
	recv := s.info.Defs[src.decl.Recv.List[0].Names[0]]
	note := func(e ast.Expr) {
		if s.root(e) != recv {
			return
		}
		ast.Inspect(e, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok && s.root(sel) == recv {
				if f, ok := s.info.Uses[sel.Sel].(*types.Var); ok && f.IsField() {
					x.mutables[f.Origin()] = true
				}
			}
			return true
		})
	}
	ast.Inspect(src.decl.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				note(l)
			}
		case *ast.IncDecStmt:
			note(n.X)
		case *ast.UnaryExpr:
			if n.Op == token.AND {
				note(n.X)
			}
		case *ast.CallExpr:
			for _, a := range n.Args { // of what is filled
				if refers(src.unit.info.TypeOf(a)) {
					note(a)
				}
			}
			if sel, ok := n.Fun.(*ast.SelectorExpr); ok && !isPointer(src.unit.info.TypeOf(sel.X)) {
				if fn := tree.Callee(src.unit.info, n); fn != nil && fn.Signature().Recv() != nil && isPointer(fn.Signature().Recv().Type()) {
					note(sel.X)
				}
			}
		}
		return true
	})
}
