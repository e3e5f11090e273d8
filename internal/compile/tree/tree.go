package tree

import (
	"go/ast"
	"go/token"
	"go/types"
	"iter"
	"slices"
)

// Program is one function, read through.
type Program struct {
	Fset *token.FileSet
	Fn   *types.Func   // the function that was read
	Decl *ast.FuncDecl // its source
	Pkg  *types.Package
	Recv *types.Var   // the variable of the receiver, or nil
	Args []*types.Var // the variables of the parameters, nil for one without a name
	Body Block

	// Info knows the expressions of the tree, and nothing of the source: Types, Uses
	// and Selections. Every *ast.Ident that names a variable is in Uses. Type
	// parameters have been replaced in Types, also in those of expressions that are
	// types: such an expression is an identifier that stands for its entry in Types.
	// A selection of a field that embedding left out is not in Selections: Fields has
	// them all.
	Info *types.Info
	// fields holds the fields that selections go through.
	fields map[*ast.SelectorExpr][]*types.Var
	// Vars are the variables in the order in which they come up. Temps are those
	// that the author did not write.
	Vars  []*types.Var
	Temps map[*types.Var]bool
	// scopes are the loops in whose rounds variables live, or the calls.
	scopes map[*types.Var]Stmt
	// roots are the variables for which the memory behind a variable was made, and
	// strange the variables that are given memory from outside.
	roots   map[*types.Var]vars
	strange []*types.Var
	frozen  func(types.Type) bool
	fresh   func(*types.Func) bool
	shows   func(*types.Func) bool
}

// Block is a sequence of statements.
type Block []Stmt

// Stmt is an *Assign, *Branch, *Loop, *Jump, *Return or *Call.
type Stmt interface{ At() *Site }

// Site is where a statement stands.
type Site struct {
	Pos   token.Pos   // of the author's statement
	Calls []token.Pos // the calls that were read through to get here, outermost first
	Pin   string      // the fragment that the innermost //weft:fragment names
	Up    Stmt        // the innermost *Loop or *Call that it stands in, or nil
}

// At returns the site itself.
func (s *Site) At() *Site { return s }

// Assign gives variables, fields and elements values, or calls something for its
// effect.
type Assign struct {
	Site
	// Lhs are identifiers (a blank one is not in Info.Uses), fields x.f of
	// variables, and elements x[i]. There are as many as Rhs, or Rhs is one call
	// with several results, or Lhs is empty and Rhs[0] is called for its effect.
	Lhs []ast.Expr
	// Tok is ASSIGN; or INC, DEC or an assignment with an operator, of one Lhs; or
	// VAR, where Lhs[0] is declared with its zero value and there is no Rhs.
	Tok token.Token
	Rhs []ast.Expr
	// Define is set where the author's statement declares all of Lhs.
	Define bool
	// Binds is set where Lhs[0] is a parameter of a function that is read through.
	Binds bool
	// Op is set where Rhs[0] is an operation.
	Op *Op
	// Fills are the arguments, and the receiver, of a call in Rhs[0] whose memory
	// the call writes: slices that it fills, a variable that it has a pointer to.
	Fills []ast.Expr
	// Shares are the variables, besides those that Lhs and Fills name, whose memory
	// an element write or a fill may change. Memory sets it.
	Shares []*types.Var
	Text   string // the author's statement, in short
}

// Op is an operation.
type Op struct {
	Kind   Kind
	Call   *ast.CallExpr // in the tree
	Fn     *types.Func   // the origin of what is called
	Source *ast.CallExpr // as the author wrote it
}

// Branch is an if, with one or two arms: then and else. A switch is a chain of them.
// Without a condition any of its arms may be taken, or none.
type Branch struct {
	Site
	Cond ast.Expr
	Arms []Arm
	Text string // the author's condition, with if before it
}

// Arm is one way through a Branch.
type Arm struct {
	Label string // then or else
	Body  Block
}

// Loop is any for.
type Loop struct {
	Site
	Next bool // over run.Next, which is Cond

	// A range has Over, and Key and Value unless they are blank: variables of the
	// loop's own, new in each round.
	Range      bool
	Over       ast.Expr
	Key, Value *types.Var

	// Any other loop has these, each of which may be nil. Init and Post are host
	// statements.
	Init, Post *Assign
	Cond       ast.Expr

	Body Block
	Text string // the author's head
	Name string // what it goes over
}

// Jump is a break or a continue of the innermost Loop.
type Jump struct {
	Site
	Tok token.Token
}

// Return leaves the program.
type Return struct {
	Site
	Results []ast.Expr
}

// Call is a function that was read through. Body binds the parameters that need
// variables, and at its end Results hold what the function returned. A program
// that executes all of Body may execute Expr in its place and assign what it
// returns to Results.
type Call struct {
	Site
	Fn      *types.Func
	Expr    *ast.CallExpr
	Source  *ast.CallExpr
	Results []*types.Var
	Body    Block
}

// Kind is a kind of call.
type Kind int

const (
	// Pure calls compute from their arguments and may stand in any expression.
	Pure Kind = iota
	// Through is a function of the author's that is read through.
	Through
	// Word is an operation of the vocabulary.
	Word
	// Author is a method that its author marked //weft:op.
	Author
	// Helper is a function of the author's that looks at batches.
	Helper
	// Refused may not be called here. Whoever said so has reported it.
	Refused
)

// Operation reports whether calls of this kind have a home.
func (k Kind) Operation() bool { return k == Word || k == Author || k == Helper }

// Walk visits all statements, the outer ones before those inside them; Init
// before and Post behind a loop's body. It does not go into a statement for which
// f returns false.
func (b Block) Walk(f func(Stmt) bool) {
	for _, s := range b {
		if !f(s) {
			continue
		}
		switch s := s.(type) {
		case *Branch:
			for _, a := range s.Arms {
				a.Body.Walk(f)
			}
		case *Loop:
			if s.Init != nil {
				f(s.Init)
			}
			s.Body.Walk(f)
			if s.Post != nil {
				f(s.Post)
			}
		case *Call:
			s.Body.Walk(f)
		}
	}
}

// Each returns the statements of one kind in a block, in the order of Walk.
func Each[S Stmt](b Block) iter.Seq[S] {
	return func(yield func(S) bool) {
		more := true
		b.Walk(func(s Stmt) bool {
			if x, ok := s.(S); ok && more {
				more = yield(x)
			}
			return more
		})
	}
}

// Nodes returns the nodes of one kind in the source that n is, the outer ones first.
func Nodes[N ast.Node](n ast.Node) iter.Seq[N] {
	return func(yield func(N) bool) {
		more := true
		ast.Inspect(n, func(n ast.Node) bool {
			if x, ok := n.(N); ok && more {
				more = yield(x)
			}
			return more
		})
	}
}

// ExprNodes returns the nodes of one kind in the expressions of the statements in a block.
func ExprNodes[N ast.Node](b Block) iter.Seq[N] {
	return func(yield func(N) bool) {
		for s := range Each[Stmt](b) {
			for _, e := range Exprs(s) {
				for n := range Nodes[N](e) {
					if !yield(n) {
						return
					}
				}
			}
		}
	}
}

// Exprs returns the expressions of a statement, without those of the statements
// inside it.
func Exprs(s Stmt) (out []ast.Expr) {
	switch s := s.(type) {
	case *Assign:
		out = slices.Concat(s.Lhs, s.Rhs)
	case *Branch:
		out = []ast.Expr{s.Cond}
	case *Loop:
		out = []ast.Expr{s.Over, s.Cond}
	case *Return:
		out = slices.Clone(s.Results)
	}
	return slices.DeleteFunc(out, func(e ast.Expr) bool { return e == nil })
}

// Ends returns the variables that end with a round of a loop, or with a call.
func (p *Program) Ends(s Stmt) []*types.Var {
	return slices.DeleteFunc(slices.Clone(p.Vars), func(v *types.Var) bool { return p.scopes[v] != s })
}

// Lives reports whether a variable lives in a round of a loop, or in a call.
func (p *Program) Lives(v *types.Var, in Stmt) bool {
	for at := p.scopes[v]; at != nil; at = at.At().Up {
		if at == in {
			return true
		}
	}
	return false
}
