package analyze

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/tree"
)

// phase is a pass of the interpreter.
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

// interp runs trees on what is known of their values. Loops are gone round until
// nothing new is learnt.
type interp struct {
	p     *program
	out   *findings
	phase phase

	component  *types.Interface // rl.Component
	components map[types.Type]bool

	objects  []*object
	made     map[ast.Expr]*object   // by the expression that makes them
	heap     map[place]*value       // their fields, when the constructor has returned
	boxed    map[*types.Var]*object // variables that there is a pointer to
	unknown  *object                // what is not known
	varying  map[*types.Var]bool    // fields that differ from replica to replica
	mutables map[*types.Var]bool    // fields that methods of components write
	reads    map[*object]bool       // found while tracing
	draws    bool                   // likewise
	depth    int                    // of loops, outside of training
	literals int                    // around this point
	programs map[any]*tree.Program
	running  map[*types.Func]bool // function values that are being called

	t    *tree.Program // what is being read
	at   *tree.Site    // the statement that is being read
	st   *state
	ret  []*value // what the program returns
	exit *state   // where it does

	b      *builder
	late   map[nodeKey]int // nodes of an earlier reading
	region int
	conds  []*value // what decides whether this point is reached, if operations do
	born   map[*types.Var]int
	loops  []*loop
	next   *tree.Loop // the run.Next loop around, or nil
	// iterates is true if there is a loop over run.Next.
	iterates bool

	ops, looking map[*types.Func]bool
	helpers      map[*types.Func]*helper
	reviewed     map[*types.Func]bool
	environment  *object // the one that the loop steps

	self   *value           // the trainer
	states map[point]*state // what was known before and behind statements, if asked for
	parts  *partition
}

// point is one before or behind a statement.
type point struct {
	s     tree.Stmt
	after bool
}

// loop is one that is being gone round.
type loop struct {
	node              int
	breaks, continues *state
	conds             int       // how many conditions are around it
	varies            variation // of what decides about leaving it
	known             variation // of that, when it was last gone round
}

func newInterp(p *program, out *findings) *interp {
	x := &interp{
		p: p, out: out, made: map[ast.Expr]*object{}, heap: map[place]*value{}, varying: map[*types.Var]bool{}, boxed: map[*types.Var]*object{},
		unknown: &object{id: -2, kind: unknownObject}, programs: map[any]*tree.Program{}, running: map[*types.Func]bool{},
		components: map[types.Type]bool{}, b: newBuilder(p.fset), st: newState(), born: map[*types.Var]int{},
		ops: map[*types.Func]bool{}, looking: map[*types.Func]bool{}, helpers: map[*types.Func]*helper{}, reviewed: map[*types.Func]bool{},
	}
	all := map[string]*types.Package{}
	reach(p.main.pkg, all)
	if o := lookup(all, "rl.Component"); o != nil {
		x.component, _ = o.Type().Underlying().(*types.Interface)
	}
	for _, name := range p.words.Own {
		at := strings.LastIndexByte(name, '.')
		if o := lookup(all, name[:at]); o != nil {
			x.varying[fieldNamed(o.Type(), name[at+1:])] = true
		}
	}
	return x
}

// lookup returns what the vocabulary calls PACKAGE.NAME, nil if the package is not among all.
func lookup(all map[string]*types.Package, word string) types.Object {
	path, name, _ := strings.Cut(word, ".")
	if p := all[module+"/"+path]; p != nil {
		return p.Scope().Lookup(name)
	}
	return nil
}

// bad reports what cannot be read in a loop, with the calls that led to it.
func (x *interp) bad(pos token.Pos, why refusal) {
	if x.phase == training {
		x.report(pos, why)
	}
}

func (x *interp) report(pos token.Pos, why refusal) {
	n := Finding{at: pos, Code: why.code, Message: why.message, Instead: why.instead, sticky: x.phase != training}
	if x.at != nil {
		if !pos.IsValid() {
			n.at = x.at.Pos
		}
		n.Calls = x.positions(x.at.Calls)
	}
	if why.message != "" {
		x.out.add(n)
	}
}

// refuse reports what is wrong with a function, wherever it is called.
func (x *interp) refuse(at ast.Node, why refusal) tree.Kind {
	if why.message == "" {
		return tree.Pure
	}
	x.out.add(Finding{at: at.Pos(), Code: why.code, Message: why.message, Instead: why.instead, sticky: true})
	return tree.Refused
}

func (x *interp) positions(list []token.Pos) (out []token.Position) {
	for _, c := range list {
		out = append(out, x.p.fset.Position(c))
	}
	return out
}

func (x *interp) info() *types.Info { return x.t.Info }

func (x *interp) typeOf(e ast.Expr) types.Type { return x.t.Info.TypeOf(e) }

// where returns the position of an expression. A call's operands may stand for
// the caller's expressions, its parenthesis is its own.
func where(e ast.Expr) token.Pos {
	if call, ok := e.(*ast.CallExpr); ok && call.Lparen.IsValid() {
		return call.Lparen
	}
	return e.Pos()
}

func (x *interp) typeName(t types.Type) string {
	if t == nil {
		return ""
	}
	return types.TypeString(t, qualifier)
}

// when runs f where a condition holds.
func (x *interp) when(cond *value, f func()) {
	flat := computed(cond)
	if len(flat.defs) == 0 && flat.varies == 0 {
		f()
		return
	}
	x.conds = append(x.conds, flat)
	f()
	x.conds = x.conds[:len(x.conds)-1]
}

// implied returns a number or the like as it is given to the variable v here:
// whether it is depends on the conditions that v's declaration is not under. A
// batch's own nodes stand inside the branch, so that it needs no such mark.
func (x *interp) implied(value *value, t types.Type, v *types.Var) *value {
	born, known := x.born[v]
	value = varied(value, x.decided(born))
	if x.phase != training || !known || len(x.conds) <= born || x.p.isBatch(t) {
		return value
	}
	return computed(append(slices.Clone(x.conds[born:]), value)...)
}

// nodeKey tells nodes apart: the operation, branch or loop of a statement is 0,
// what is computed for its i-th place is i+1.
type nodeKey struct {
	s tree.Stmt
	i int
}

// node returns the node of a statement, made on the first visit.
func (x *interp) node(key nodeKey, pos token.Pos, n fdg.Node) int {
	id, isNew := x.b.node(key, n, x.region)
	if isNew {
		node, e, site := &x.b.nodes[id], &x.b.extra[id], key.s.At()
		node.Pos = x.b.pos(pos)
		for _, c := range site.Calls {
			node.Calls = append(node.Calls, x.b.pos(c))
		}
		e.pos, e.pin, e.calls = pos, site.Pin, site.Calls
		for _, l := range x.loops {
			e.loops = append(e.loops, l.node)
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

// object returns the thing that an expression of the constructor makes.
func (x *interp) object(e ast.Expr, pos token.Pos, kind objectKind, t types.Type) *object {
	o, ok := x.made[e]
	if !ok {
		o = x.newObject(pos, kind, t)
		x.made[e] = o
	}
	return o
}

func (x *interp) newObject(pos token.Pos, kind objectKind, t types.Type) *object {
	if kind == plain && x.isComponent(t) {
		kind = componentObject
	}
	o := &object{id: len(x.objects), kind: kind, typ: t, pos: pos, many: x.depth > 0}
	x.objects = append(x.objects, o)
	return o
}

// load returns a field of an object.
func (x *interp) load(o *object, name string) *value {
	if o == x.unknown {
		return ofObjects(x.unknown)
	}
	if v, ok := x.st.heap[place{o, name}]; ok {
		return v
	}
	return x.heap[place{o, name}]
}

// store replaces a field of the only object that it can be; of several, and of an
// array, any may keep what it had.
func (x *interp) store(objs []*object, path []string, v *value, weak bool) {
	for _, o := range objs {
		if o == x.unknown {
			continue
		}
		old := x.load(o, path[0])
		now := old.with(path[1:], v)
		if weak || len(objs) > 1 || o.many || x.phase != building {
			now = join(old, now)
		}
		x.st.heap[place{o, path[0]}] = now
	}
}

// run reads a program with what its receiver and arguments are, and returns its
// results.
func (x *interp) run(p *tree.Program, recv *value, args []*value) []*value {
	t, at, ret, exit := x.t, x.at, x.ret, x.exit
	x.t, x.at, x.ret, x.exit = p, nil, make([]*value, p.Fn.Signature().Results().Len()), nil
	if p.Recv != nil {
		x.declare(p.Recv, recv)
	}
	for i, v := range p.Args {
		switch {
		case v == nil:
		case i < len(args) && args[i] != nil:
			x.declare(v, args[i])
		default:
			x.declare(v, x.stranger(v.Type()))
		}
	}
	x.block(p.Body)
	x.st = merge(x.exit, x.st)
	x.st.dead = false
	out := x.ret
	x.t, x.at, x.ret, x.exit = t, at, ret, exit
	return out
}

// declare gives a variable its first value.
func (x *interp) declare(v *types.Var, now *value) {
	x.st.vars[v] = now
	x.born[v] = len(x.conds)
}
