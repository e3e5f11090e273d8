package analyze

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/fdg"
)

// phase is what the interpreter is after.
type phase int

const (
	// building reads the constructor: which field holds which component.
	building phase = iota
	// tracing reads a graph function: which parameters and statistics it reads.
	tracing
	// training reads the loop: nodes, edges, findings. Only here is anything
	// refused.
	training
)

// interp reads functions as the machine would run them, on what is known of
// their values. Loops are gone round until nothing new is learnt.
type interp struct {
	p     *program
	out   *findings
	phase phase

	component *types.Interface // rl.Component

	objects []*object
	byKey   map[string]*object
	reads   map[*object]bool // found while tracing
	depth   int              // of loops, outside of training

	b       *builder
	st      *state
	f       *frame
	region  int
	pins    []string // fragments that directives name, innermost last
	conds   []*value // what decides whether this point is reached, if operations do
	loops   []*loop
	next    int              // the run.Next loop around, or -1
	nexts   int              // loops over run.Next that were found
	decl    map[variable]int // the run.Next loop that a variable was declared in
	ops     map[*types.Func]bool
	scanned map[*types.Func]bool
	looking map[*types.Func]bool
	once    bool // what is being looked at is not looked at again

	self   *value            // the trainer
	frames map[string]*frame // the calls that were read through in the loop
	states map[string]*state // what was known before and behind statements, if asked for
	parts  *partition
}

// frame is one call that is read through.
type frame struct {
	unit  *unit
	fn    *types.Func
	call  string      // tells apart the variables and nodes of each call
	calls []token.Pos // outermost first
	up    *frame
	loops int // loops of the interpreter when it was entered
	conds int // conditions likewise
	ret   *value
	exit  *state // where it returned
	named []*types.Var
	vars  []variable
	targs map[*types.TypeParam]types.Type
}

// loop is one that is being gone round.
type loop struct {
	node              int
	breaks, continues *state
	frame             *frame
	isSwitch          bool
}

func newInterp(p *program, out *findings) *interp {
	x := &interp{
		p: p, out: out, byKey: map[string]*object{}, b: newBuilder(p.fset), st: newState(), next: -1,
		decl: map[variable]int{}, ops: map[*types.Func]bool{}, scanned: map[*types.Func]bool{}, looking: map[*types.Func]bool{},
		frames: map[string]*frame{},
	}
	for _, i := range p.main.pkg.Imports() {
		if rel, ok := inVocabulary(i); ok && rel == "rl" {
			if c, ok := i.Scope().Lookup("Component").(*types.TypeName); ok {
				x.component, _ = c.Type().Underlying().(*types.Interface)
			}
		}
	}
	return x
}

// bad reports what cannot be read, with the calls that led to it.
func (x *interp) bad(pos token.Pos, code, message, instead string) {
	if x.phase != training {
		return
	}
	x.report(pos, code, message, instead)
}

func (x *interp) report(pos token.Pos, code, message, instead string) {
	n := Finding{at: pos, Code: code, Message: message, Instead: instead, sticky: x.once || x.phase != training}
	if x.f != nil {
		for _, c := range x.f.calls {
			n.Calls = append(n.Calls, x.p.fset.Position(c))
		}
	}
	x.out.add(n)
}

func (x *interp) info() *types.Info { return x.f.unit.info }

// typeOf is the type of an expression, with type parameters replaced.
func (x *interp) typeOf(e ast.Expr) types.Type { return x.f.subst(x.info().TypeOf(e)) }

func (x *interp) typeName(t types.Type) string {
	if t == nil {
		return ""
	}
	return types.TypeString(t, qualifier)
}

// key names a place in the source under the calls that led there.
func (x *interp) key(pos token.Pos, tag string) string {
	return fmt.Sprintf("%s/%d%s", x.f.call, pos, tag)
}

func (x *interp) variable(o types.Object) variable { return variable{o, x.f.call} }

// declare makes a variable of the call that is being read.
func (x *interp) declare(o types.Object, v *value) {
	k := x.variable(o)
	x.st.vars[k] = v
	x.decl[k] = x.next
	x.f.vars = append(x.f.vars, k)
}

// pin is the fragment that the innermost directive names.
func (x *interp) pin() string {
	if len(x.pins) == 0 {
		return ""
	}
	return x.pins[len(x.pins)-1]
}

// under runs f with a directive's fragment in force.
func (x *interp) under(m *mark, f func()) {
	if m == nil || m.fragment == "" {
		f()
		return
	}
	x.pins = append(x.pins, m.fragment)
	f()
	x.pins = x.pins[:len(x.pins)-1]
}

// when runs f where a condition holds.
func (x *interp) when(cond *value, f func()) {
	flat := cond.flat()
	if len(flat.defs) == 0 {
		f()
		return
	}
	x.conds = append(x.conds, flat)
	f()
	x.conds = x.conds[:len(x.conds)-1]
}

// implied is a number or the like that is given to a variable here: whether it is
// depends on the conditions around. A batch's own nodes stand inside the branch,
// so that it needs no such mark.
func (x *interp) implied(v *value, t types.Type) *value {
	if x.phase != training || len(x.conds) == x.f.conds || isBatch(t) {
		return v
	}
	return computed(append([]*value{v}, x.conds[x.f.conds:]...)...)
}

// node is the node of a place, made on the first visit.
func (x *interp) node(key string, pos token.Pos, n fdg.Node) int {
	id, isNew := x.b.node(key, n, x.region)
	if isNew {
		node, e := &x.b.nodes[id], &x.b.extra[id]
		node.Pos = x.b.pos(pos)
		for _, c := range x.f.calls {
			node.Calls = append(node.Calls, x.b.pos(c))
		}
		e.pos, e.pin, e.calls = pos, x.pin(), slices.Clone(x.f.calls)
		for _, l := range x.loops {
			if !l.isSwitch {
				e.loops = append(e.loops, l.node)
			}
		}
	}
	return id
}

// consume makes a node use a value.
func (x *interp) consume(id int, kind fdg.Dependence, into string, v *value) {
	for _, u := range x.b.spread(v, into) {
		x.b.edge(fdg.Edge{Kind: kind, From: u.def.node, Part: u.def.part, To: id, Into: u.into, Resource: -1, Carried: u.def.carried})
	}
}

// object is the thing that a place of the constructor makes.
func (x *interp) object(pos token.Pos, kind objectKind, t types.Type) *object {
	key := x.key(pos, "")
	if o, ok := x.byKey[key]; ok {
		return o
	}
	o := &object{id: len(x.objects), kind: kind, typ: t, pos: pos, fields: map[string]*value{}, many: x.depth > 0, unit: x.f.unit}
	x.objects = append(x.objects, o)
	x.byKey[key] = o
	return o
}
