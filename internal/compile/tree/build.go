package tree

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
)

// Config answers Build's questions about the program around the function that it reads.
type Config struct {
	Fset *token.FileSet
	// Source returns the declaration of a function, by its origin. Without a
	// declaration the function cannot be read through.
	Source func(fn *types.Func) (Source, bool)
	// Classify says what a call of the function fn is. The call is the author's;
	// typeOf gives the types of its expressions with type parameters replaced. Of an
	// interface's method that is no word it returns Through; Build then asks Resolve,
	// and again about the method behind it.
	Classify func(call *ast.CallExpr, fn *types.Func, typeOf func(ast.Expr) types.Type) Kind
	// Resolve returns the method behind fn, which is an interface's, when it is
	// called on recv, an expression of the tree p; nil if that is not known.
	Resolve func(p *Program, recv ast.Expr, fn *types.Func) *types.Func
	// Fills returns the parameters whose memory a call of fn writes, and -1 for the
	// receiver.
	Fills func(fn *types.Func) []int
	// Frozen reports whether values of a type never change, or have a home: tensors,
	// and what else the vocabulary declares. Sharing them is harmless.
	Frozen func(t types.Type) bool
	// Fresh reports whether what fn returns shares no memory with its arguments.
	Fresh func(fn *types.Func) bool
	// Shows reports whether fn returns memory that it did not make, and was not given.
	Shows func(fn *types.Func) bool
	// Next reports whether fn is run.Next, whose loop is that over iterations.
	Next func(fn *types.Func) bool
	// Pin returns the fragment that a directive above a statement or function names.
	Pin func(n ast.Node) string
	// Report takes what cannot be read.
	Report func(Problem)
	// Open reads any function, also what no loop may hold: the body of a function
	// literal is a Branch without a condition where the literal stands.
	Open bool
}

// Source is a function with its body.
type Source struct {
	Decl *ast.FuncDecl
	Info *types.Info
	Pkg  *types.Package
}

// Problem is something that cannot be part of a tree.
type Problem struct {
	Pos                    token.Pos
	Calls                  []token.Pos // outermost first
	Code, Message, Instead string
}

// builder reads one function, and those that it calls.
type builder struct {
	*Config
	p   *Program
	fr  *frame
	out Block  // the block that is being read
	pin string // the fragment that the innermost directive names
	// jumps are the loops and switches around, of the function that is being read.
	jumps []*jumpTarget
	up    Stmt      // the innermost loop or call that is being read
	pos   token.Pos // of the statement that is being read
}

// frame is a function that is being read.
type frame struct {
	Source
	up      *frame
	fn      *types.Func
	calls   []token.Pos
	targs   map[*types.TypeParam]types.Type
	vars    map[types.Object]*types.Var
	subst   map[types.Object]ast.Expr // parameters that stand for an expression of the tree
	returns *ast.FieldList            // its results, or those of the literal that is being read
	results []*types.Var
	exit    *exit
}

// Build reads the function fn. targs are what type parameters of its receiver
// stand for.
func Build(c *Config, fn *types.Func, targs map[*types.TypeParam]types.Type) *Program {
	src, ok := c.Source(fn)
	if !ok {
		return nil
	}
	p := &Program{
		Fset: c.Fset, Fn: fn, Decl: src.Decl, Pkg: src.Pkg, Temps: map[*types.Var]bool{}, scopes: map[*types.Var]Stmt{},
		fields: map[*ast.SelectorExpr][]*types.Var{}, frozen: c.Frozen, fresh: c.Fresh, shows: c.Shows,
		Info: &types.Info{
			Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{},
			Selections: map[*ast.SelectorExpr]*types.Selection{},
		},
	}
	b := &builder{Config: c, p: p}
	b.fr = &frame{Source: src, fn: fn, returns: src.Decl.Type.Results, targs: maps.Clone(targs), vars: map[types.Object]*types.Var{}, subst: map[types.Object]ast.Expr{}}
	if src.Decl.Recv != nil {
		for _, v := range b.parameters(src.Decl.Recv) {
			p.Recv = v
		}
	}
	p.Args = b.parameters(src.Decl.Type.Params)
	b.pinned(src.Decl, func() {
		b.namedResults()
		p.Body = b.block(src.Decl.Body.List)
	})
	p.memory()
	return p
}

// parameters declares the variables of a list of parameters, nil for one without a
// name.
func (b *builder) parameters(list *ast.FieldList) (out []*types.Var) {
	for _, name := range named(list) {
		if o := b.defined(name); o != nil {
			out = append(out, b.local(o))
		} else {
			out = append(out, nil)
		}
	}
	return out
}

// defined returns what a name of a parameter or result defines, nil for a blank one.
func (b *builder) defined(name *ast.Ident) types.Object {
	if name == nil || name.Name == "_" {
		return nil
	}
	return b.fr.Info.Defs[name]
}

// namedResults declares the results that the function names.
func (b *builder) namedResults() {
	for _, name := range named(b.fr.returns) {
		if o := b.defined(name); o != nil {
			b.declare(name.Pos(), b.local(o))
		}
	}
}

// declare gives a variable its zero value.
func (b *builder) declare(pos token.Pos, v *types.Var) {
	b.emit(&Assign{Site: b.site(pos), Lhs: []ast.Expr{b.p.Ref(v)}, Tok: token.VAR, Define: true, Text: "var " + v.Name()})
}

func (b *builder) emit(s Stmt) { b.out = append(b.out, s) }

// site returns that of a statement at a position.
func (b *builder) site(pos token.Pos) Site {
	return Site{Pos: pos, Calls: b.fr.calls, Pin: b.pin, Up: b.up}
}

// pinned reads something under the directives above n.
func (b *builder) pinned(n ast.Node, read func()) {
	outer := b.pin
	b.pin = cmp.Or(b.Pin(n), outer)
	read()
	b.pin = outer
}

// report takes what cannot be read.
func (b *builder) report(pos token.Pos, code, message, instead string) {
	b.Report(Problem{pos, slices.Clone(b.fr.calls), code, message, instead})
}

// variable makes a variable of the tree.
func (b *builder) variable(pos token.Pos, name string, t types.Type) *types.Var {
	v := types.NewVar(pos, b.p.Pkg, name, t)
	b.p.Vars = append(b.p.Vars, v)
	b.p.scopes[v] = b.up
	return v
}

// temp makes a variable that the author did not write.
func (b *builder) temp(name string, t types.Type) *types.Var {
	v := b.variable(b.pos, name, t)
	b.p.Temps[v] = true
	return v
}

// local returns the tree's variable for one of the author's in the function that
// is being read.
func (b *builder) local(o types.Object) *types.Var {
	v, ok := b.fr.vars[o]
	if !ok {
		v = b.variable(o.Pos(), o.Name(), b.subst(o.Type()))
		b.fr.vars[o] = v
	}
	return v
}

// inside reads something into a block of its own.
func (b *builder) inside(read func()) Block {
	outer := b.out
	b.out = nil
	read()
	out := b.out
	b.out = outer
	return out
}

// within reads what stands in a loop or a call into a block of its own.
func (b *builder) within(s Stmt, read func()) Block {
	outer := b.up
	b.up = s
	out := b.inside(read)
	b.up = outer
	return out
}
