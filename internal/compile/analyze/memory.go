package analyze

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// outside is the site of all memory that the loop did not make: of the trainer's
// fields, of operations' results, of settings.
const outside = -1

// strip returns a value of type t without memory that such a value cannot share,
// and without keys that it cannot hold.
func (x *interp) strip(v *value, t types.Type) *value {
	if v == nil || len(v.sites)+len(v.keys) == 0 {
		return v
	}
	out := *v
	if !refers(t) {
		out.sites = nil
	}
	if !x.p.holdsKey(t) {
		out.keys = nil
	}
	return &out
}

// fresh returns memory made by an expression, which nobody else holds, with a
// value's content.
func (x *interp) fresh(e ast.Expr, v *value) *value {
	if x.phase != training {
		return v
	}
	s := x.b.site(e, x.next)
	if !x.held(func(v *value) []int { return v.sites }, s) {
		delete(x.st.handed, s)
	}
	out := value{}
	if v != nil {
		out = *v
	}
	out.sites = []int{s}
	return &out
}

// held reports whether a variable still has what an earlier round made at a site.
func (x *interp) held(sites func(*value) []int, s int) (yes bool) {
	for _, v := range x.st.vars {
		v.each(func(v *value) { yes = yes || slices.Contains(sites(v), s) })
	}
	return yes
}

// foreign returns a value as memory that the loop did not make.
func (x *interp) foreign(v *value) *value {
	if x.phase != training {
		return v
	}
	return join(v, &value{sites: []int{outside}})
}

// putElement writes an element of a slice that was made in the loop and not yet
// given away.
func (x *interp) putElement(to target, v *value, s *tree.Assign) {
	at := to.element
	base := x.eval(at.X)
	x.eval(at.Index)
	if _, isMap := x.typeOf(at.X).Underlying().(*types.Map); isMap && x.phase == training {
		x.bad(at.Pos(), "map", "a map has no order and cannot travel", "use a slice or a struct")
		return
	}
	if len(to.path) > 0 {
		v = (*value)(nil).with(to.path, v)
	}
	if x.phase != training {
		v = varied(v, varies(x.eval(at.Index), base)) // of a part of the rows it is another row
		x.put(at.X, join(base, v), s)
		x.spread(s, varies(v))
		return
	}
	if x.writable(at, base, "this writes into a slice that was not made here") {
		x.inject(base.sites, v, s, at.X)
	}
}

// writable reports what is wrong with writing to memory here, if anything is.
func (x *interp) writable(at ast.Expr, base *value, what string) bool {
	if base == nil || len(base.sites) == 0 || slices.Contains(base.sites, outside) {
		x.bad(at.Pos(), "immutable", "results and arguments are immutable: "+what, "make a new slice in the loop and fill that")
		return false
	}
	for _, s := range base.sites {
		if x.st.handed[s] {
			x.bad(at.Pos(), "handed", "this slice was handed to an operation before, which may still hold it", "make a new slice for every round")
			break
		}
	}
	if slices.ContainsFunc(base.sites, func(s int) bool { return x.b.made[s] != x.next }) {
		x.bad(at.Pos(), "survives", "this slice is made outside of the loop over run.Next, so it would survive an iteration without being saved", x.keeper(x.typeOf(at)))
	}
	return true
}

// inject notes that memory got another value: a weak definition of the variables
// that the statement names, and of all others that share the memory.
func (x *interp) inject(sites []int, v *value, s *tree.Assign, place ast.Expr) {
	for k, old := range x.st.vars {
		x.st.vars[k] = old.inject(sites, v, 0)
	}
	for _, k := range append(slices.Clone(s.Shares), x.t.Root(place)) {
		if old, ok := x.st.vars[k]; ok && refers(k.Type()) && !slices.ContainsFunc(old.allSites(), func(at int) bool { return slices.Contains(sites, at) }) {
			x.st.vars[k] = old.smear(settled(computed(v)))
		}
	}
}

// deep is how far into structs of structs memory is told apart. Memory that holds
// what holds it would go on for ever.
const deep = 5

// inject returns v, which is so many fields inside a variable, after an element was
// written into the memory made at sites.
func (v *value) inject(sites []int, x *value, depth int) *value {
	if v == nil {
		return nil
	}
	if slices.ContainsFunc(v.sites, func(s int) bool { return s != outside && slices.Contains(sites, s) }) {
		out := *join(v, x)
		if depth >= deep {
			out = *v.shallow(x)
		}
		out.derived = false
		return &out
	}
	if len(v.fields) == 0 {
		return v
	}
	out := *v
	out.fields = nil
	for name, f := range v.fields {
		out.set(name, f.inject(sites, x, depth+1))
	}
	return &out
}

// shallow returns all that two values hold, without regard to where in them.
func (v *value) shallow(x *value) *value {
	out := settled(computed(v, x))
	both := join(v, x)
	out.sites, out.keys, out.objs = both.allSites(), both.allKeys(), both.objs
	return out
}

// smear returns v with x in all its parts.
func (v *value) smear(x *value) *value {
	out := join(v, x)
	if v != nil && len(v.fields) > 0 {
		now := *out
		now.fields = nil
		for name, f := range v.fields {
			now.set(name, f.smear(x))
		}
		out = &now
	}
	return out
}

// fill reads a call that writes memory which it is given: slices that it fills,
// and a variable that it has a pointer to.
func (x *interp) fill(s *tree.Assign) {
	if x.phase != training {
		if call, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr); ok {
			x.spread(s, x.decided(0)|varies(append(x.args(call), x.receiverOf(call))...))
		}
		return
	}
	if s.Op != nil {
		x.bad(s.Pos, "helper", fmt.Sprintf("%s writes to what it was given, and looks at batches", s.Op.Fn.Name()), "return what is new")
		return
	}
	call, ok := ast.Unparen(s.Rhs[0]).(*ast.CallExpr)
	if !ok || x.appends(s, call) {
		return
	}
	all := append(x.args(call), x.receiverOf(call))
	into := joinAll(all...) // copy and the like move elements
	if _, slice := x.typeOf(s.Fills[0]).Underlying().(*types.Slice); !slice || x.authors(call) {
		into = x.computed(nodeKey{s, len(s.Lhs) + 1}, s, computed(all...), x.typeOf(s.Fills[0]))
		for _, v := range all {
			into.sites = union(into.sites, v.allSites(), cmp.Compare[int])
		}
	}
	for _, f := range s.Fills {
		if _, slice := x.typeOf(f).Underlying().(*types.Slice); slice {
			if base := x.eval(f); x.writable(f, base, "this fills a slice that was not made here") {
				x.inject(base.sites, x.strip(into, elementType(x.typeOf(f))), s, f)
			}
			continue
		}
		x.fillVariable(s, f, into)
	}
}

// appends reads append. It writes behind the end of what it grows, where only a
// longer slice of the same memory can see it; and over what follows a part of a
// slice.
func (x *interp) appends(s *tree.Assign, call *ast.CallExpr) bool {
	id, ok := ast.Unparen(call.Fun).(*ast.Ident)
	if !ok || x.info().Uses[id] != types.Universe.Lookup("append") {
		return false
	}
	base := x.eval(call.Args[0])
	if base == nil {
		return true
	}
	if base.part {
		x.writable(call.Args[0], base, "this writes over a slice that was not made here")
	}
	for k, old := range x.st.vars {
		if base.part || k != x.t.Root(call.Args[0]) {
			x.st.vars[k] = old.inject(base.sites, joinAll(x.args(call)[1:]...), 0)
		}
	}
	return true
}

// authors reports whether a call is of a function of the author's.
func (x *interp) authors(call *ast.CallExpr) bool {
	fn := tree.Callee(x.info(), call)
	return fn != nil && x.p.funcs[fn].decl != nil
}

func elementType(t types.Type) types.Type {
	if s, ok := t.Underlying().(*types.Slice); ok {
		return s.Elem()
	}
	return t
}

// fillVariable reads a method with a pointer to a variable of the loop's.
func (x *interp) fillVariable(s *tree.Assign, f ast.Expr, into *value) {
	to := x.target(f)
	switch {
	case isPointer(x.typeOf(f)) || to.holder != nil || to.root == nil && to.element == nil:
		x.bad(f.Pos(), "immutable", fmt.Sprintf("%s writes to %s, which the loop did not make", s.Text, types.ExprString(f)), "keep state in a component, whose methods are marked //weft:op writes, or in a variable of the loop")
	case to.element != nil:
		if base := x.eval(to.element.X); x.writable(f, base, "this writes into a slice that was not made here") {
			x.inject(base.sites, into, s, f)
		}
	default:
		if sites := x.eval(f).allSites(); len(sites) > 0 {
			x.writable(f, &value{sites: sites}, "this may write into a slice that was not made here")
			x.inject(sites, into, s, f)
		}
		x.survives(f.Pos(), to.root)
		x.st.vars[to.root] = x.st.vars[to.root].smear(x.implied(into, x.typeOf(f), to.root))
	}
}
