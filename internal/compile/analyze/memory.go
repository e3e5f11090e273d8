package analyze

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
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
	if !x.t.Refers(t) {
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
		x.bad(at.Pos(), noMap)
		return
	}
	if len(to.path) > 0 {
		v = (*value)(nil).with(to.path, v)
	}
	if x.phase != training {
		if x.uniform(at, s) {
			x.spread(s, otherwise) // others have a part of it
		} else {
			v = varied(v, varies(x.eval(at.Index), base)) // of a part of the rows it is another row
			x.spread(s, varies(v))
		}
		x.put(at.X, join(base, v), s)
		return
	}
	x.overwrite(at, at.X, base, v, s, "this writes into a slice that was not made here")
}

// overwrite puts a value into the memory behind a place, of which base is the value.
func (x *interp) overwrite(at, place ast.Expr, base, v *value, s *tree.Assign, what string) {
	if x.writable(at, base, what) {
		x.inject(base.sites, v, s, place)
	}
}

// writable reports what is wrong with writing to memory here, if anything is.
func (x *interp) writable(at ast.Expr, base *value, what string) bool {
	if base == nil || len(base.sites) == 0 || slices.Contains(base.sites, outside) {
		x.bad(at.Pos(), refusal{"immutable", "results and arguments are immutable: " + what, "make a new slice in the loop and fill that"})
		return false
	}
	if slices.ContainsFunc(base.sites, func(s int) bool { return x.st.handed[s] }) {
		x.bad(at.Pos(), refusal{"handed", "this slice was handed to an operation before, which may still hold it", "make a new slice for every round"})
	}
	if slices.ContainsFunc(base.sites, func(s int) bool { return x.b.made[s] != x.next }) {
		x.bad(at.Pos(), refusal{"survives", "this slice is made outside of the loop over run.Next, so it would survive an iteration without being saved", x.keeper(x.typeOf(at))})
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
		if old, ok := x.st.vars[k]; ok && x.t.Refers(k.Type()) && !slices.ContainsFunc(old.allSites(), func(at int) bool { return slices.Contains(sites, at) }) {
			x.st.vars[k] = old.smear(settled(computed(v)))
		}
	}
}

// deep limits how far into structs of structs memory is told apart. Memory that holds
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
	return v.inside(func(f *value) *value { return f.inject(sites, x, depth+1) })
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
		now.fields = v.inside(func(f *value) *value { return f.smear(x) }).fields
		return &now
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
		x.bad(s.Pos, refusal{"helper", fmt.Sprintf("%s writes to what it was given, and looks at batches", s.Op.Fn.Name()), "return what is new"})
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
			x.overwrite(f, f, x.eval(f), x.strip(into, tree.Element(x.typeOf(f))), s, "this fills a slice that was not made here")
			continue
		}
		x.fillVariable(s, f, into)
	}
}

// appends reads append. It writes behind the end of what it grows, where only a
// longer slice of the same memory can see it; and over what follows a part of a
// slice.
func (x *interp) appends(s *tree.Assign, call *ast.CallExpr) bool {
	if tree.Builtin(x.info(), call) != "append" {
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

// fillVariable reads a method with a pointer to a variable of the loop's.
func (x *interp) fillVariable(s *tree.Assign, f ast.Expr, into *value) {
	to := x.target(f)
	switch {
	case tree.IsPointer(x.typeOf(f)) || to.holder != nil || to.root == nil && to.element == nil:
		x.bad(f.Pos(), refusal{"immutable", fmt.Sprintf("%s writes to %s, which the loop did not make", s.Text, types.ExprString(f)), "keep state in a component, whose methods are marked //weft:op writes, or in a variable of the loop"})
	case to.element != nil:
		x.overwrite(f, f, x.eval(to.element.X), into, s, "this writes into a slice that was not made here")
	default:
		if sites := x.eval(f).allSites(); len(sites) > 0 {
			x.writable(f, &value{sites: sites}, "this may write into a slice that was not made here")
			x.inject(sites, into, s, f)
		}
		x.survives(f.Pos(), to.root)
		x.st.vars[to.root] = x.st.vars[to.root].smear(x.implied(into, x.typeOf(f), to.root))
	}
}

// Keys that no call of run.Key made.
const (
	zeroKey  = -1 // rl.Key{}
	otherKey = -2
)

// newKey returns the site of a call of run.Key, which nobody has used.
func (x *interp) newKey(call *ast.CallExpr) int {
	k := x.b.site(call, x.next)
	if !x.held(func(v *value) []int { return v.keys }, k) {
		delete(x.st.used, k)
	}
	return k
}

// giveKey checks a key that an operation is given: it is the run's, and used once.
func (x *interp) giveKey(s *tree.Assign, at ast.Expr, recv, v *value) {
	keys := v.allKeys()
	if len(keys) == 0 {
		keys = []int{otherKey}
	}
	w, _ := x.p.word(s.Op.Fn)
	for _, k := range keys {
		switch {
		case k == otherKey:
			x.bad(at.Pos(), refusal{"key", "this key is not one of the iteration's, so that draws would repeat, or depend on who draws", "give the operation run.Key, with the name of the use and the position in the loops"})
		case k == zeroKey && x.drawing(w, recv):
			x.bad(at.Pos(), refusal{"key", fmt.Sprintf("%s draws random numbers, and rl.Key{} is the same in every iteration", types.ExprString(s.Op.Source.Fun)), "give it run.Key, with the name of the use and the position in the loops"})
		case k == zeroKey || w.Again:
		case x.st.used[k]:
			x.bad(at.Pos(), refusal{"key", "this key was given to an operation before, which draws the same numbers by it", "a key is used once: name another use, or give run.Key the index"})
		default:
			x.st.used[k] = true
		}
	}
}

// drawing reports whether an operation draws by the key that it is given. A graph
// function says so in its source; of others it is not known.
func (x *interp) drawing(w vocabulary.Word, recv *value) bool {
	return !w.Graph || slices.ContainsFunc(objectsOf(recv), func(o *object) bool {
		x.graphReads(o)
		return o.draws
	})
}
