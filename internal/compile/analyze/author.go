package analyze

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// authorOp reads what a method that its author declared to be an operation does.
func (x *interp) authorOp(id int, call *ast.CallExpr, fn *types.Func, m mark, recv *value, args []*value) {
	objs := x.some(call, recv, "component")
	for _, o := range objs {
		if o.kind != componentObject {
			x.bad(where(call), refusal{"component", fmt.Sprintf("%s is marked //weft:op, but its type does not implement rl.Component: its state would not be saved", fn.Name()), "implement Axis, Save and Load, and register it with the scope"})
			continue
		}
		r := x.resource(o, "")
		byEnv := x.b.resources[r].Axis == fdg.Environments
		x.b.nodes[id].Whole = m["axis"] != string(fdg.Environments) && !byEnv
		x.inspect(fn, m, byEnv)
		if t := x.typeOf(call); byEnv && m["axis"] == "" && x.numbers(t) {
			x.bad(where(call), refusal{"whole", fmt.Sprintf("%s returns %s, and a replica has the state of its own environments alone, of which numbers would be", fn.Name(), x.typeName(t)), "return batches with a row for each environment, or let Axis return rl.None"})
		}
		x.read(id, r)
		if m["op"] == "writes" {
			x.write(id, r, o, len(objs) > 1)
		}
	}
	for i, a := range args {
		if x.leads(x.typeOf(call.Args[min(i, len(call.Args)-1)])) {
			x.lend(id, call, a)
		}
	}
}

// lend lets an author's operation read the components that it is given.
func (x *interp) lend(id int, call *ast.CallExpr, v *value) {
	for _, o := range objectsOf(v) {
		switch {
		case o.of.Copyable:
			x.read(id, x.resource(o, ""))
		case o.function():
			x.readGraph(id, o)
		case o.kind == runObject || o.kind == plain:
		default:
			x.bad(where(call), refusal{"component", "an operation is given a component that has another home", "pass what the component returns"})
		}
	}
}

// axisOf returns what an author's component says that it may be split along: the
// constant that its Axis method returns.
func (x *interp) axisOf(o *object) fdg.Axis {
	m, _, _ := types.LookupFieldOrMethod(types.NewPointer(o.typ), true, x.p.main.pkg, "Axis")
	if fn, ok := m.(*types.Func); ok {
		if axis, ok := x.constantAxis(x.p.funcs[fn.Origin()]); ok {
			return axis
		}
	}
	x.out.add(Finding{at: o.pos, Code: "component", Message: fmt.Sprintf("what the state of %s may be split along is not known: its method Axis is more than one return of a constant", x.typeName(o.typ)), Instead: "declare Axis on the type itself, as in { return rl.None }", sticky: true})
	return fdg.None
}

// constantAxis returns the constant that the only statement of a method returns.
func (x *interp) constantAxis(src source) (axis fdg.Axis, ok bool) {
	if src.decl == nil || len(src.decl.Body.List) != 1 {
		return "", false
	}
	ret, ok := src.decl.Body.List[0].(*ast.ReturnStmt)
	if !ok || len(ret.Results) != 1 {
		return "", false
	}
	axes := []fdg.Axis{fdg.None, fdg.Environments, fdg.Agents, fdg.Members, fdg.Rows}
	if v := src.unit.info.Types[ret.Results[0]].Value; v != nil {
		if i, exact := constant.Int64Val(v); exact && i >= 0 && i < int64(len(axes)) {
			return axes[i], true
		}
	}
	return "", false
}

// inspector looks at the body of an author's operation, and of what it calls.
type inspector struct {
	*helper
	x     *interp
	fn    *types.Func // the operation
	op    string      // its name
	reads bool        // the operation is declared to write nothing
	byEnv bool        // the component has state for each environment
	seen  map[string]bool

	mine, given map[*types.Var]bool // variables of the function at hand with memory of the component, and of the operation's arguments

	draws  []ast.Node // draws by a key
	placed bool       // the key is asked which rows of all it is for
}

// inspect reports what the body of an author's operation does that its directive does
// not say: such an operation is no part of the tree.
func (x *interp) inspect(fn *types.Func, m mark, byEnv bool) {
	if x.reviewed[fn] {
		return
	}
	x.reviewed[fn] = true
	r := &inspector{x: x, fn: fn, op: fn.Name(), reads: m["op"] == "reads", byEnv: byEnv, seen: map[string]bool{}}
	r.body(fn, func(i int) (mine, given bool) { return i == 0, i > 0 })
	if byEnv && !r.placed {
		for _, n := range r.draws {
			x.refuse(n, refusal{"key", r.op + " draws for the rows that its replica has, by their places among these: the numbers would depend on the split", "ask the key which rows they are, OwnOf, and draw by k.At(own.Lo)"})
		}
	}
}

// body looks at a function; holds says whose memory it is given, by its receiver (0) and parameters
// (from 1 on).
func (r *inspector) body(fn *types.Func, holds func(i int) (mine, given bool)) {
	h := r.x.helper(fn)
	vars := append([]*types.Var{h.t.Recv}, h.t.Args...)
	mine, given, key := map[*types.Var]bool{}, map[*types.Var]bool{}, fn.FullName()
	for i, v := range vars {
		if v != nil {
			mine[v], given[v] = holds(i)
			key += fmt.Sprint(" ", mine[v], given[v])
		}
	}
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	was, wasMine, wasGiven := r.helper, r.mine, r.given
	r.helper, r.mine, r.given = h, mine, given
	r.t.Body.Walk(func(s tree.Stmt) bool {
		switch s := s.(type) {
		case *tree.Assign:
			r.writes(s)
		case *tree.Return:
			r.returns(s)
		}
		for _, e := range tree.Exprs(s) {
			ast.Inspect(e, r.visit)
		}
		return true
	})
	r.helper, r.mine, r.given = was, wasMine, wasGiven
}

// passed returns whose memory a call hands on, as body wants to know.
func (r *inspector) passed(call *ast.CallExpr) func(i int) (mine, given bool) {
	return func(i int) (mine, given bool) {
		var e ast.Expr
		if sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr); ok && i == 0 {
			e = sel.X
		} else if i > 0 && len(call.Args) > 0 {
			e = call.Args[min(i, len(call.Args))-1]
		}
		if e == nil {
			return false, false
		}
		v := r.t.Var(e)
		return r.mine[v] || r.holds(e, r.mine), r.given[v] || r.holds(e, r.given)
	}
}

// holds reports whether an expression may lead to memory of one of the variables.
func (r *inspector) holds(e ast.Expr, of map[*types.Var]bool) bool {
	for v, there := range r.t.Memory(e) {
		if there && of[v] {
			return true
		}
	}
	return false
}

// writes reports a write that the directive does not announce. What a function that can be read
// does is seen in its body.
func (r *inspector) writes(a *tree.Assign) {
	places := r.places(a)
	if len(a.Fills) > 0 && r.x.p.funcs[tree.Callee(r.t.Info, ast.Unparen(a.Rhs[0]).(*ast.CallExpr))].decl != nil {
		places = places[:len(places)-len(a.Fills)]
	}
	for _, e := range places {
		if why := r.wrote(e); why.message != "" {
			r.x.refuse(e, why)
			return
		}
	}
}

// wrote says what is wrong with writing the memory of an expression.
func (r *inspector) wrote(e ast.Expr) refusal {
	switch mine := r.holds(e, r.mine); {
	case mine && r.reads:
		return refusal{"component", fmt.Sprintf("%s is marked //weft:op reads, and writes %s", r.op, types.ExprString(e)), "mark it //weft:op writes"}
	case r.holds(e, r.given) && !mine: // what it keeps is its own, by now
		return refusal{"helper", fmt.Sprintf("the operation %s writes to what it was given (%s)", r.op, types.ExprString(e)), "make a copy, change that and return it"}
	}
	return refusal{}
}

// returns reports memory of the component that the operation gives away: its next
// operation may change what a fragment elsewhere has a copy of.
func (r *inspector) returns(s *tree.Return) {
	for _, e := range s.Results {
		_, generic := r.t.Info.TypeOf(e).(*types.TypeParam)
		if r.t.Fn == r.fn && r.t.Memory(e)[r.t.Recv] && r.t.Refers(r.t.Info.TypeOf(e)) && !generic {
			r.x.refuse(e, refusal{"component", fmt.Sprintf("%s returns memory of its component (%s), which its operations may change later", r.op, types.ExprString(e)), "return a copy: slices.Clone"})
		}
	}
}

func (r *inspector) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.Ident:
		if v := packageVar(r.t.Info.Uses[n]); v != nil {
			r.x.refuse(n, readsGlobal(v))
		}
	case *ast.CallExpr:
		if fn := tree.Callee(r.t.Info, n); fn != nil {
			r.called(n, fn)
		}
	}
	return true
}

// called looks at a call in an operation.
func (r *inspector) called(call *ast.CallExpr, fn *types.Func) {
	w, word := r.x.p.word(fn)
	recv := fn.Signature().Recv()
	_, readable := r.x.p.funcs[fn]
	switch {
	case word && recv != nil && r.x.p.typ(recv.Type()).Key:
		r.placed = r.placed || w.Own
		if !w.Own && !r.x.p.holdsKey(fn.Signature().Results()) {
			r.draws = append(r.draws, call)
		}
	case word:
		r.x.refuse(call, r.uses(call, w))
	case readable:
		r.body(fn, r.passed(call))
	case fn.Pkg() != nil && hidden[fn.Pkg().Path()] != "":
		r.x.refuse(call, impure(fn))
	}
}

// uses says what is wrong with an operation of the vocabulary inside an author's: the
// state of another component has another home. What was lent may be read.
func (r *inspector) uses(call *ast.CallExpr, w vocabulary.Word) refusal {
	if w.Use != vocabulary.Operation || !(w.Reads || w.Writes || w.Replaces || w.Graph || w.Params) {
		return refusal{}
	}
	sel, ok := ast.Unparen(call.Fun).(*ast.SelectorExpr)
	lent := ok && slices.Contains(r.t.Args, r.t.Root(sel.X)) && r.t.Root(sel.X) != nil
	if lent && !w.Writes && !w.Replaces && !w.Params {
		return refusal{}
	}
	return refusal{"component", fmt.Sprintf("the operation %s contains the operation %s, of a component that has a home of its own", r.op, w.Name), "call both in the loop, and pass what one returns to the other"}
}
