package analyze

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
)

// block reads statements in order. Where an if returns, or leaves the round of a
// loop, what follows it is read as its other arm: so a function has its returns at
// its ends only, and what a guard can prevent stands inside a branch.
func (x *interp) block(list []ast.Stmt) {
	for i, s := range list {
		if x.st.dead {
			return
		}
		if rest := list[i+1:]; x.phase == training && len(rest) > 0 && x.splits(s, rest) {
			return
		}
		x.stmt(s)
	}
}

// splits reads s with the statements after it inside its arms, if it has an arm
// that does not get to them.
func (x *interp) splits(s ast.Stmt, rest []ast.Stmt) bool {
	if n, ok := s.(*ast.SwitchStmt); ok && slices.ContainsFunc(n.Body.List, func(c ast.Stmt) bool { return returns(c.(*ast.CaseClause).Body) }) {
		x.bad(n.Pos(), "return", "a switch that returns in some cases, with statements after it, cannot be taken apart", "return in all cases, or use if and else")
	}
	n, ok := s.(*ast.IfStmt)
	if !ok || !leaves(n.Body.List) && !leaves(elseOf(n)) {
		return false
	}
	x.point(s, Before)
	x.under(x.f.unit.marks.stmts[s], func() {
		x.init(n.Init)
		if leaves(n.Body.List) {
			x.branch(n.Cond, n.Body.List, append(append([]ast.Stmt{}, elseOf(n)...), rest...))
		} else {
			x.branch(n.Cond, append(append([]ast.Stmt{}, n.Body.List...), rest...), elseOf(n))
		}
	})
	return true
}

// leaves reports whether what follows some statements is never reached.
func leaves(list []ast.Stmt) bool {
	return ends(list, func(s ast.Stmt) bool {
		b, jump := s.(*ast.BranchStmt)
		_, ret := s.(*ast.ReturnStmt)
		return ret || jump && b.Label == nil && (b.Tok == token.BREAK || b.Tok == token.CONTINUE)
	})
}

// returns reports whether statements end in a return, whatever happens.
func returns(list []ast.Stmt) bool {
	return ends(list, func(s ast.Stmt) bool { _, ok := s.(*ast.ReturnStmt); return ok })
}

func ends(list []ast.Stmt, with func(ast.Stmt) bool) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *ast.ReturnStmt, *ast.BranchStmt:
		return with(s)
	case *ast.BlockStmt:
		return ends(s.List, with)
	case *ast.IfStmt:
		return ends(s.Body.List, with) && ends(elseOf(s), with)
	}
	return false
}

func elseOf(n *ast.IfStmt) []ast.Stmt {
	switch e := n.Else.(type) {
	case nil:
		return nil
	case *ast.BlockStmt:
		return e.List
	default:
		return []ast.Stmt{e}
	}
}

func (x *interp) init(s ast.Stmt) {
	if s != nil {
		x.stmt(s)
	}
}

func (x *interp) stmt(s ast.Stmt) {
	x.point(s, Before)
	x.under(x.f.unit.marks.stmts[s], func() { x.bare(s) })
	x.point(s, After)
}

// bare reads a statement, its directives being in force.
func (x *interp) bare(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		x.assignment(s)
	case *ast.DeclStmt:
		x.declaration(s)
	case *ast.ExprStmt:
		x.call(s)
	case *ast.IncDecStmt:
		x.assign(s.X, x.eval(s.X).flat(), s.X, s, types.ExprString(s.X)+s.Tok.String())
	case *ast.IfStmt:
		x.init(s.Init)
		x.branch(s.Cond, s.Body.List, elseOf(s))
	case *ast.SwitchStmt:
		x.switches(s)
	case *ast.ForStmt:
		x.forLoop(s)
	case *ast.RangeStmt:
		x.rangeLoop(s)
	case *ast.BlockStmt:
		x.block(s.List)
	case *ast.ReturnStmt:
		x.returnStmt(s)
	case *ast.BranchStmt:
		x.jump(s)
	case *ast.EmptyStmt:
	default:
		x.refuse(s)
	}
}

// refuse reports the statements that no loop may hold.
func (x *interp) refuse(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.GoStmt:
		x.bad(s.Pos(), "goroutine", "a goroutine hides who computes what, and when", "call the function in the loop: a policy decides what runs beside what")
	case *ast.DeferStmt:
		x.bad(s.Pos(), "defer", "a deferred call runs at a point that the loop does not show", "write the call where it is to happen")
	case *ast.SendStmt:
		x.bad(s.Pos(), "channel", "a channel hides where a value goes", "pass the value as an argument or a result")
	case *ast.SelectStmt:
		x.bad(s.Pos(), "channel", "select depends on which channel is ready first", "write the order in which things happen")
	case *ast.LabeledStmt:
		x.bad(s.Pos(), "label", "a label makes control flow that cannot be taken apart", "use break or continue of the innermost loop, or a function that returns")
		x.stmt(s.Stmt)
	case *ast.TypeSwitchStmt:
		x.bad(s.Pos(), "interface", "a type switch depends on a dynamic type that the source does not fix", "decide in the constructor")
	default:
		x.bad(s.Pos(), "statement", fmt.Sprintf("this statement (%T) cannot be taken apart", s), "write it with assignments, if, for and calls")
	}
}

// call reads a call for its effect.
func (x *interp) call(s *ast.ExprStmt) {
	call, ok := ast.Unparen(s.X).(*ast.CallExpr)
	if !ok {
		x.bad(s.Pos(), "statement", "this statement does nothing", "leave it out")
		return
	}
	x.eval(call)
}

func (x *interp) declaration(s *ast.DeclStmt) {
	d, ok := s.Decl.(*ast.GenDecl)
	if !ok || d.Tok != token.VAR {
		return // constants and types are the same everywhere
	}
	for _, spec := range d.Specs {
		spec := spec.(*ast.ValueSpec)
		values := x.values(spec.Values, len(spec.Names))
		for i, name := range spec.Names {
			var rhs ast.Expr
			if len(spec.Values) == len(spec.Names) {
				rhs = spec.Values[i]
			}
			x.assign(name, values[i], rhs, s, name.Name)
		}
	}
}

// values evaluates the right side of an assignment to n things.
func (x *interp) values(list []ast.Expr, n int) []*value {
	out := make([]*value, n)
	if len(list) == 1 && n > 1 {
		v := x.eval(list[0])
		for i := range out {
			if out[i] = v; v != nil && len(v.tuple) > 0 { // else it is of the form v, ok := m[k]
				out[i] = v.result(i)
			}
		}
		return out
	}
	for i, e := range list {
		if i < n {
			out[i] = x.eval(e)
		}
	}
	return out
}

func (x *interp) assignment(s *ast.AssignStmt) {
	if s.Tok != token.ASSIGN && s.Tok != token.DEFINE {
		v := join(x.eval(s.Lhs[0]), x.eval(s.Rhs[0])).flat()
		x.assign(s.Lhs[0], v, s.Rhs[0], s, fmt.Sprintf("%s %s %s", types.ExprString(s.Lhs[0]), s.Tok, types.ExprString(s.Rhs[0])))
		return
	}
	x.forget(s)
	values := x.values(s.Rhs, len(s.Lhs))
	for i, l := range s.Lhs {
		rhs := s.Rhs[0]
		if len(s.Rhs) == len(s.Lhs) {
			rhs = s.Rhs[i]
		}
		x.assign(l, values[i], rhs, s, types.ExprString(l)+" = "+types.ExprString(rhs))
	}
}

// forget lets go of a slice that the statement replaces by a new one.
func (x *interp) forget(s *ast.AssignStmt) {
	if len(s.Lhs) != 1 || len(s.Rhs) != 1 {
		return
	}
	id, ok := s.Lhs[0].(*ast.Ident)
	call, isCall := s.Rhs[0].(*ast.CallExpr)
	if !ok || !isCall {
		return
	}
	if f, ok := call.Fun.(*ast.Ident); ok && x.info().ObjectOf(f) == types.Universe.Lookup("make") {
		if o := x.info().ObjectOf(id); o != nil {
			delete(x.st.vars, x.variable(o))
		}
	}
}

// assign gives a place a value. A value that was computed becomes a node here.
func (x *interp) assign(lhs ast.Expr, v *value, rhs ast.Expr, s ast.Stmt, text string) {
	lhs = ast.Unparen(lhs)
	if id, ok := lhs.(*ast.Ident); ok && id.Name == "_" {
		return
	}
	x.escapes(lhs, rhs)
	if id, ok := lhs.(*ast.Ident); !ok || x.info().Defs[id] == nil {
		v = x.implied(v, x.typeOf(lhs))
	}
	if v != nil && v.derived && x.phase == training {
		id := x.node(x.key(lhs.Pos(), "="), s.Pos(), fdg.Node{Kind: fdg.Compute, Text: oneLine(text)})
		x.b.extra[id].result = x.typeOf(lhs)
		x.consume(id, fdg.OfValue, "", v)
		v = ofDefs(def{id, "", -1})
	}
	switch l := lhs.(type) {
	case *ast.Ident:
		x.assignIdent(l, v)
	case *ast.SelectorExpr:
		x.assignField(l, v)
	case *ast.IndexExpr:
		x.assignElement(l, l.X, v)
	case *ast.StarExpr:
		x.bad(l.Pos(), "pointer", "writing through a pointer changes a value that others may hold", "assign to the variable itself")
	}
}

func (x *interp) assignIdent(l *ast.Ident, v *value) {
	obj := x.info().ObjectOf(l)
	if obj == nil {
		return
	}
	if obj.Parent() == obj.Pkg().Scope() {
		x.bad(l.Pos(), "global", fmt.Sprintf("the package variable %s is shared by everything that runs", l.Name), "keep state in a component, made in the constructor")
		return
	}
	k := x.variable(obj)
	if x.info().Defs[l] != nil {
		x.declare(obj, v)
	} else if x.phase == training && x.next >= 0 && x.decl[k] != x.next {
		x.bad(l.Pos(), "survives", fmt.Sprintf("%s is declared outside of the loop over run.Next, so it would survive an iteration without being saved", l.Name), x.keeper(obj.Type()))
	}
	x.st.vars[k] = v
	x.b.call(v, l.Name)
}

// keeper says what keeps a value from one iteration to the next.
func (x *interp) keeper(t types.Type) string {
	switch {
	case isNamed(t, "rl", "Obs"):
		return "ask the environments for it: Env.Obs() is the last observation"
	case isBatch(t):
		return "keep it in rl.Slots, with Get at the top of the iteration and Set at its end"
	}
	return "declare it inside the loop, or use the run's counters (Iter, Steps, Progress) or rl.Slots"
}

// call names a node after the first variable that it was assigned to.
func (b *builder) call(v *value, name string) {
	if v != nil && len(v.defs) == 1 && v.defs[0].part == "" && v.defs[0].carried < 0 && b.nodes[v.defs[0].node].Name == "" {
		b.nodes[v.defs[0].node].Name = name
	}
}

// assignField replaces a field of a struct that a variable holds, or of an
// object.
func (x *interp) assignField(l *ast.SelectorExpr, v *value) {
	path, base := x.fieldPath(l)
	if base == nil {
		return
	}
	if id, ok := base.(*ast.Ident); ok {
		obj, isVar := x.info().ObjectOf(id).(*types.Var)
		if isVar && !isPointer(obj.Type()) {
			if obj.Parent() == obj.Pkg().Scope() {
				x.assignIdent(id, v) // reports it
				return
			}
			k := x.variable(obj)
			if x.phase == training && x.next >= 0 && x.decl[k] != x.next {
				x.assignIdent(id, x.st.vars[k]) // reports it
			}
			x.st.vars[k] = x.st.vars[k].with(path, v)
			return
		}
	}
	if i, ok := base.(*ast.IndexExpr); ok {
		x.assignElement(i, i.X, (*value)(nil).with(path, v))
		return
	}
	x.store(l, x.eval(base), path, v)
}

// store writes a field of what a constructor made. In a loop that is state
// outside of any component.
func (x *interp) store(l *ast.SelectorExpr, base *value, path []string, v *value) {
	if x.phase == training {
		x.bad(l.Pos(), "field", fmt.Sprintf("%s is written in the loop, but belongs to no component: it would not be saved, and fragments would share it", types.ExprString(l)),
			"keep it in rl.Slots or in a component of your own, whose methods are marked //weft:op writes")
		return
	}
	if base == nil {
		return
	}
	for _, o := range base.objs {
		o.fields[path[0]] = join(o.fields[path[0]], o.fields[path[0]].with(path[1:], v))
	}
}

// fieldPath takes a selector apart: the fields, with those that embedding leaves
// out, and what they are selected from.
func (x *interp) fieldPath(l *ast.SelectorExpr) (path []string, base ast.Expr) {
	sel, ok := x.info().Selections[l]
	if !ok || sel.Kind() != types.FieldVal {
		return nil, nil
	}
	path = fieldNames(sel)
	base = ast.Unparen(l.X)
	if inner, ok := base.(*ast.SelectorExpr); ok && !isPointer(x.typeOf(inner)) {
		more, b := x.fieldPath(inner)
		if b != nil {
			return append(more, path...), b
		}
	}
	return path, base
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// assignElement writes into a slice that was made in the loop and not yet given
// away.
func (x *interp) assignElement(at *ast.IndexExpr, slice ast.Expr, v *value) {
	base := x.eval(slice)
	x.eval(at.Index)
	if _, isMap := x.typeOf(slice).Underlying().(*types.Map); isMap {
		x.bad(at.Pos(), "map", "a map has no order and cannot travel", "use a slice or a struct")
		return
	}
	if _, isArray := x.typeOf(slice).Underlying().(*types.Array); isArray || x.phase != training {
		x.assignBack(slice, join(base, v)) // an array is a value like a struct
		return
	}
	if base == nil || len(base.sites) == 0 {
		x.bad(at.Pos(), "immutable", "results and arguments are immutable: this writes into a slice that was not made here", "make a new slice in the loop and fill that")
		return
	}
	for _, s := range base.sites {
		if x.st.handed[s] {
			x.bad(at.Pos(), "handed", "this slice was handed to an operation before, which may still hold it", "make a new slice for every round")
			break
		}
	}
	for k, old := range x.st.vars {
		x.st.vars[k] = old.inject(base.sites, v)
	}
}

// assignBack gives a slice or an array a further element.
func (x *interp) assignBack(slice ast.Expr, v *value) {
	switch s := ast.Unparen(slice).(type) {
	case *ast.Ident:
		x.assignIdent(s, v)
	case *ast.SelectorExpr:
		x.assignField(s, v)
	}
}

// inject is v after an element was written into one of the slices made at sites.
func (v *value) inject(sites []int, x *value) *value {
	if v == nil {
		return nil
	}
	for _, s := range v.sites {
		for _, t := range sites {
			if s == t {
				out := *join(v, x)
				out.sites, out.derived = v.sites, false
				return &out
			}
		}
	}
	if len(v.fields) == 0 {
		return v
	}
	out := *v
	out.fields = make(map[string]*value, len(v.fields))
	for name, f := range v.fields {
		out.fields[name] = f.inject(sites, x)
	}
	return &out
}

// escapes reports a batch or a component that is stored where it cannot be
// followed.
func (x *interp) escapes(lhs, rhs ast.Expr) {
	if rhs == nil || x.phase != training {
		return
	}
	to, from := x.typeOf(lhs), x.typeOf(rhs)
	if to == nil || from == nil || !types.IsInterface(to) || types.IsInterface(from) {
		return
	}
	switch i, _ := to.Underlying().(*types.Interface); {
	case isBatch(from):
		x.bad(rhs.Pos(), "interface", "a batch inside an interface cannot be followed", "use its own type")
	case i != nil && i.Empty() && x.isComponent(from):
		x.bad(rhs.Pos(), "interface", "a component inside an interface without methods cannot be followed", "use its own type")
	}
}

func (x *interp) returnStmt(s *ast.ReturnStmt) {
	out := &value{}
	switch {
	case len(s.Results) == 0:
		for _, r := range x.f.named {
			out.tuple = append(out.tuple, x.st.vars[x.variable(r)])
		}
	case len(s.Results) == 1:
		out = x.eval(s.Results[0])
		if out == nil || len(out.tuple) == 0 {
			out = x.implied(out, x.typeOf(s.Results[0]))
		}
	default:
		for _, r := range s.Results {
			out.tuple = append(out.tuple, x.implied(x.eval(r), x.typeOf(r)))
		}
	}
	if len(s.Results) == 0 && len(x.f.named) == 1 {
		out = out.tuple[0]
	}
	x.f.ret = join(x.f.ret, out)
	if x.phase != training {
		return
	}
	if len(x.loops) > x.f.loops {
		if x.f.up != nil {
			x.bad(s.Pos(), "return", "a return out of a loop in a function that is read through cannot be taken apart", "leave the loop with break, and return after it")
		} else {
			x.node(x.key(s.Pos(), ""), s.Pos(), fdg.Node{Kind: fdg.Return, Text: "return"})
		}
	}
	x.f.exit = merge(x.f.exit, x.st.clone())
	x.st.dead = true
}

func (x *interp) jump(s *ast.BranchStmt) {
	if x.phase != training {
		return
	}
	if s.Label != nil || s.Tok == token.GOTO || s.Tok == token.FALLTHROUGH {
		x.bad(s.Pos(), "label", s.Tok.String()+" makes control flow that cannot be taken apart", "use break or continue of the innermost loop, or if and else")
		return
	}
	if len(x.loops) == 0 {
		return
	}
	l := x.loops[len(x.loops)-1]
	if l.isSwitch {
		if s.Tok == token.BREAK {
			x.bad(s.Pos(), "label", "a break inside a switch is easily taken for one of the loop", "use if and else")
			return
		}
		for i := len(x.loops) - 1; i >= 0 && l.isSwitch; i-- {
			l = x.loops[i]
		}
	}
	kind := fdg.Break
	if s.Tok == token.CONTINUE {
		kind = fdg.Continue
	}
	x.node(x.key(s.Pos(), ""), s.Pos(), fdg.Node{Kind: kind, Text: s.Tok.String()})
	if kind == fdg.Break {
		l.breaks = merge(l.breaks, x.st.clone())
	} else {
		l.continues = merge(l.continues, x.st.clone())
	}
	x.st.dead = true
}

// oneLine is source text without line breaks.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
