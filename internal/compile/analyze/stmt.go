package analyze

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// block reads statements in order. Where an if leaves the round of a loop, or the
// program, what follows it is read as its other arm: so what a guard can prevent
// stands inside a branch of the graph.
func (x *interp) block(list tree.Block) {
	for i, s := range list {
		if x.st.dead {
			return
		}
		if n, ok := s.(*tree.Branch); ok && x.phase == training && len(list[i+1:]) > 0 && splits(n) {
			x.point(s, false)
			x.at = n.At()
			x.branch(n, list[i+1:])
			return
		}
		x.stmt(s)
	}
}

// splits reports whether what follows an if belongs into its other arm.
func splits(n *tree.Branch) bool {
	if n.Cond == nil {
		return false
	}
	return leaves(n.Arms[0].Body) || len(n.Arms) > 1 && leaves(n.Arms[1].Body)
}

// leaves reports whether what follows some statements is never reached.
func leaves(list tree.Block) bool {
	if len(list) == 0 {
		return false
	}
	switch s := list[len(list)-1].(type) {
	case *tree.Jump, *tree.Return:
		return true
	case *tree.Branch:
		return s.Cond != nil && len(s.Arms) > 1 && leaves(s.Arms[0].Body) && leaves(s.Arms[1].Body)
	}
	return false
}

func (x *interp) stmt(s tree.Stmt) {
	outer := x.at
	x.at = s.At()
	x.point(s, false)
	switch s := s.(type) {
	case *tree.Assign:
		x.assignment(s)
	case *tree.Branch:
		x.branch(s, nil)
	case *tree.Loop:
		x.loop(s)
	case *tree.Call:
		x.call(s)
	case *tree.Return:
		x.returns(s)
	case *tree.Jump:
		x.jump(s)
	}
	x.point(s, true)
	x.at = outer
}

// point keeps what is known at a point of the loop.
func (x *interp) point(s tree.Stmt, after bool) {
	if x.states != nil && x.phase == training {
		x.states[point{s, after}] = x.st.clone()
	}
}

// call reads a function that is read through. Its variables end with it.
func (x *interp) call(s *tree.Call) {
	for _, v := range s.Results {
		x.born[v] = len(x.conds)
	}
	x.block(s.Body)
	x.forget(s)
}

// forget lets go of the variables that end with a statement, and of the memory and
// the keys that only they had.
func (x *interp) forget(s tree.Stmt) {
	for _, v := range x.t.Ends(s) {
		delete(x.st.vars, v)
	}
	if len(x.st.handed)+len(x.st.used) == 0 {
		return
	}
	sites, keys := map[int]bool{}, map[int]bool{}
	for _, v := range x.st.vars {
		v.each(func(v *value) {
			for _, s := range v.sites {
				sites[s] = true
			}
			for _, k := range v.keys {
				keys[k] = true
			}
		})
	}
	maps.DeleteFunc(x.st.handed, func(s int, _ bool) bool { return !sites[s] })
	maps.DeleteFunc(x.st.used, func(k int, _ bool) bool { return !keys[k] })
}

func (x *interp) returns(s *tree.Return) {
	for i, v := range x.values(s.Results, len(x.ret)) {
		if !v.empty() { // what a constructor returns with an error is nothing
			v = varied(v, x.decided(0))
		}
		x.ret[i] = join(x.ret[i], v)
	}
	for _, l := range x.loops {
		x.left(l)
	}
	if x.phase == training && len(x.loops) > 0 {
		x.node(nodeKey{s, 0}, s.Pos, fdg.Node{Kind: fdg.Return, Text: "return"})
	}
	x.exit = merge(x.exit, x.st.clone())
	x.st.dead = true
}

func (x *interp) jump(s *tree.Jump) {
	if len(x.loops) == 0 {
		return
	}
	l, kind, to := x.loops[len(x.loops)-1], fdg.Break, (**state)(nil)
	if to = &l.breaks; s.Tok == token.CONTINUE {
		kind, to = fdg.Continue, &l.continues
	}
	if x.phase == training {
		x.node(nodeKey{s, 0}, s.Pos, fdg.Node{Kind: kind, Text: s.Tok.String()})
	}
	x.left(l)
	*to = merge(*to, x.st.clone())
	x.st.dead = true
}

// assignment reads an assignment, or a call for its effect.
func (x *interp) assignment(s *tree.Assign) {
	var values []*value
	switch {
	case s.Op != nil:
		values = x.operation(s)
	case s.Tok == token.VAR:
		values = []*value{x.zero(x.typeOf(s.Lhs[0]))}
	case s.Tok == token.ASSIGN:
		x.replaced(s)
		values = x.values(s.Rhs, max(len(s.Lhs), 1))
	default:
		values = []*value{computed(append(x.values(s.Rhs, len(s.Rhs)), x.eval(s.Lhs[0]))...)}
	}
	if len(s.Fills) > 0 {
		x.fill(s)
	} else if len(s.Lhs) == 0 && s.Op == nil {
		x.idle(s)
	}
	for i := range s.Lhs {
		var rhs ast.Expr
		if len(s.Rhs) == len(s.Lhs) {
			rhs = s.Rhs[i]
		}
		x.assign(s, i, values[i], rhs)
	}
}

// replaced lets go of a variable's value that the statement replaces, and does not
// read: memory that an earlier round made for it is nobody's any more.
func (x *interp) replaced(s *tree.Assign) {
	if len(s.Lhs) != 1 || len(s.Rhs) != 1 {
		return
	}
	v, reads := x.t.Var(s.Lhs[0]), false
	for id := range tree.Nodes[*ast.Ident](s.Rhs[0]) {
		reads = reads || x.t.Var(id) == v
	}
	if v != nil && !reads {
		delete(x.st.vars, v)
	}
}

// idle reports a call that does nothing.
func (x *interp) idle(s *tree.Assign) {
	call, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
	if !ok {
		return
	}
	if fn := tree.Callee(x.info(), call); fn != nil && x.p.funcs[fn].decl != nil && fn.Signature().Results().Len() == 0 {
		x.bad(s.Pos, refusal{"effect", fmt.Sprintf("%s returns nothing and contains no operation, so it has no effect that the loop could see", fn.Name()), "return what it computes, or mark a component's method //weft:op writes"})
	}
}

// zero returns the zero value of a type.
func (x *interp) zero(t types.Type) *value {
	if x.p.holdsKey(t) {
		return &value{keys: []int{zeroKey}}
	}
	return nil
}

// values evaluates the right side of an assignment to n things.
func (x *interp) values(list []ast.Expr, n int) []*value {
	if len(list) != 1 || n <= 1 {
		out := make([]*value, max(n, len(list)))
		for i, e := range list {
			out[i] = x.eval(e)
		}
		return out
	}
	if call, ok := ast.Unparen(list[0]).(*ast.CallExpr); ok {
		out := x.callExpr(call)
		return append(out, make([]*value, max(0, n-len(out)))...)
	}
	v := x.eval(list[0]) // v, ok := of a map, an assertion or a channel
	return []*value{v, computed(v)}
}

// assign gives the i-th place of a statement a value. A value that was computed
// becomes a node here, unless only a parameter or a temporary has it.
func (x *interp) assign(s *tree.Assign, i int, v *value, rhs ast.Expr) {
	lhs := ast.Unparen(s.Lhs[i])
	if id, ok := lhs.(*ast.Ident); ok && id.Name == "_" && x.t.Var(id) == nil {
		return
	}
	x.escapes(lhs, rhs)
	root, name := x.t.Root(lhs), ""
	plain := x.t.Var(lhs) != nil
	hidden := x.t.Temps[root] || s.Binds
	if _, known := x.born[root]; plain && (s.Define || s.Tok == token.VAR || !known) {
		x.born[root] = len(x.conds)
	}
	if !x.uniform(lhs, s) {
		v = x.implied(v, x.typeOf(lhs), root)
	}
	key := nodeKey{s, i + 1}
	if _, late := x.late[key]; x.phase == training && (late || v != nil && v.derived && !(hidden && plain)) {
		sites, keys := v.allSites(), v.allKeys()
		v = x.computed(key, s, computed(v), x.typeOf(lhs))
		v.sites, v.keys = sites, keys
	}
	if plain && !hidden {
		name = root.Name()
	}
	x.put(lhs, v, s)
	x.b.call(v, name)
}

// computed returns the result of a node for a value that was computed.
func (x *interp) computed(key nodeKey, s *tree.Assign, v *value, t types.Type) *value {
	id := x.node(key, s.Pos, fdg.Node{Kind: fdg.Compute, Text: tree.OneLine(s.Text)})
	x.b.extra[id].result = t
	x.consume(id, fdg.OfValue, "", v)
	return ofDefs(def{id, "", -1})
}

// call names a node after the first variable that it was assigned to.
func (b *builder) call(v *value, name string) {
	if name != "" && v != nil && len(v.defs) == 1 && v.defs[0].part == "" && v.defs[0].carried < 0 && b.nodes[v.defs[0].node].Name == "" {
		b.nodes[v.defs[0].node].Name = name
	}
}

// put writes a value to a place: a variable, a field of one, an element, or a
// field of an object.
func (x *interp) put(lhs ast.Expr, v *value, s *tree.Assign) {
	if g := x.global(lhs); g != nil {
		x.bad(lhs.Pos(), refusal{"global", fmt.Sprintf("the package variable %s is shared by everything that runs", g.Name()), "keep state in a component, made in the constructor"})
		return
	}
	to := x.target(lhs)
	switch {
	case to.element != nil:
		x.putElement(to, v, s)
	case to.holder != nil && len(to.path) == 0:
		x.bad(lhs.Pos(), refusal{"pointer", "writing through a pointer changes a value that others may hold", "assign to the variable itself"})
		x.copyInto(x.eval(to.holder), v)
	case to.holder != nil:
		x.bad(lhs.Pos(), refusal{"field", fmt.Sprintf("%s is written in the loop, but belongs to no component: it would not be saved, and fragments would share it", types.ExprString(lhs)),
			"keep it in rl.Slots or in a component of your own, whose methods are marked //weft:op writes"})
		if x.phase != training {
			x.vary(to.field, v)
			x.store(objectsOf(x.eval(to.holder)), to.path, v, to.weak)
		}
	case x.boxed[to.root] != nil:
		base := ofObjects(x.boxed[to.root])
		if x.st.vars[to.root] = base; len(to.path) > 0 {
			x.store(base.objs, to.path, v, to.weak)
		} else {
			x.copyInto(base, v)
		}
	case to.root != nil:
		x.survives(lhs.Pos(), to.root)
		if old := x.st.vars[to.root]; to.weak {
			v = old.with(to.path, join(x.walk(old, to.path), v))
		} else {
			v = old.with(to.path, v)
		}
		x.st.vars[to.root] = v
	}
}

// copyInto writes a struct to what a pointer points to.
func (x *interp) copyInto(base, v *value) {
	if x.phase == training || v == nil {
		return
	}
	for name, f := range v.fields {
		x.store(objectsOf(base), []string{name}, f, false)
	}
}

// target is a place that is assigned to, taken apart.
type target struct {
	root    *types.Var
	path    []string   // of fields
	field   *types.Var // the last of them
	weak    bool       // one of several elements of an array
	element *ast.IndexExpr
	holder  ast.Expr // a pointer to what has the field
}

// target takes a place apart, from its end to the first slice or pointer on the
// way to its variable.
func (x *interp) target(e ast.Expr) target {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return target{root: x.t.Var(e)}
	case *ast.StarExpr:
		return target{holder: e.X}
	case *ast.IndexExpr:
		if _, array := x.typeOf(e.X).Underlying().(*types.Array); array {
			to := x.target(e.X)
			to.weak = true
			return to
		}
		return target{element: e}
	case *ast.SelectorExpr:
		fields := x.t.Fields(e)
		to := target{holder: e.X}
		if !tree.IsPointer(x.typeOf(e.X)) {
			to = x.target(e.X)
		}
		for i, f := range fields {
			to.field = f
			if to.path = append(to.path, f.Name()); i < len(fields)-1 && tree.IsPointer(f.Type()) {
				to = target{holder: x.through(e, i), path: nil}
			}
		}
		return to
	}
	return target{}
}

// through selects the first fields of those that a selector goes through.
func (x *interp) through(e *ast.SelectorExpr, last int) ast.Expr {
	out := e.X
	for _, f := range x.t.Fields(e)[:last+1] {
		out = x.t.Select(out, f)
	}
	return out
}

// survives reports a variable that outlives an iteration, where it is written.
func (x *interp) survives(pos token.Pos, v *types.Var) {
	if x.phase != training || x.next == nil || x.t.Temps[v] || x.t.Lives(v, x.next) {
		return
	}
	x.bad(pos, refusal{"survives", fmt.Sprintf("%s is declared outside of the loop over run.Next, so it would survive an iteration without being saved", v.Name()), x.keeper(v.Type())})
}

// keeper says what keeps a value from one iteration to the next.
func (x *interp) keeper(t types.Type) string {
	switch {
	case x.p.typ(t).Keep != "":
		return x.p.typ(t).Keep
	case x.p.isBatch(t):
		return "keep it in rl.Slots, with Get at the top of the iteration and Set at its end"
	}
	return "declare it inside the loop, or use the run's counters (Iter, Steps, Progress) or rl.Slots"
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
	case x.p.isBatch(from):
		x.bad(rhs.Pos(), hiddenBatch)
	case i != nil && i.Empty() && x.isComponent(from):
		x.bad(rhs.Pos(), refusal{"interface", "a component inside an interface without methods cannot be followed", "use its own type"})
	}
}
