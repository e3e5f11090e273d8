package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

// The loop as a small tree, with calls that several groups have a part in read
// through: what the programs of all groups are cut from. Expressions are copies of
// the author's in which every variable is known.

// stmt is an *action, a *branch, a *loop, a *jump, a *result or a *note.
type stmt interface{ at() *site }

type block []stmt

// site is where a statement stands in the source, and where the analyser knows
// its variables.
type site struct {
	id     int // in program order
	pos    token.Pos
	before string
	after  string
}

func (s *site) at() *site { return s }

// variable is one of the author's in one call of its function, a temporary, or
// the state of a copyable component.
type variable struct {
	id       int
	name     string
	typ      types.Type
	obj      types.Object
	call     string
	fixed    bool                               // the trainer and the run: the same everywhere, for ever
	temp     bool                               // made here, for what stood inside an expression
	origin   func(path string) []analyze.Origin // of what the analyser does not know
	resource int                                // or -1
	member   bool                               // the number of a member, in a loop over a family
}

// def is a variable, or a field of one, that a statement gives a value.
type def struct {
	v    *variable
	path string
	weak bool // what was there before may still be
}

// everywhere owns what every group computes for itself.
const everywhere = -1

// action is a simple statement.
type action struct {
	site
	lhs   []ast.Expr
	tok   token.Token
	rhs   []ast.Expr // as many as lhs, or one; none for a variable without a value, or x++
	defs  []def      // as many as lhs, an empty one for a blank, then resources
	nodes []int
	owner int
	reads []*variable // resources
	call  bool        // calls a function of the author's that holds operations
	fn    *types.Func // of a single operation
}

// branch is an if or a switch.
type branch struct {
	site
	cond   ast.Expr // nil for a switch without a tag
	arms   []arm
	choice bool // a switch
	free   bool // what it depends on is known everywhere
}

type arm struct {
	list  []ast.Expr // of a case; nil for default, then and else
	block block
}

// loop is any for.
type loop struct {
	site
	next       bool // over run.Next
	init, post *action
	cond       ast.Expr
	over       ast.Expr // of a range
	key, value *variable
	isRange    bool
	define     bool
	body       block
	node       int
	family     bool // over the members of a family
	counts     bool // a range over an integer
}

// jump is a break or a continue.
type jump struct {
	site
	tok token.Token
}

// result is a return of the training function.
type result struct {
	site
	values []ast.Expr
}

// note is a declaration of constants or types, the same everywhere.
type note struct {
	site
	decl ast.Decl
}

// walk visits all statements, the outer ones first.
func (b block) walk(f func(stmt) bool) {
	for _, s := range b {
		if !f(s) {
			continue
		}
		switch s := s.(type) {
		case *branch:
			for _, a := range s.arms {
				a.block.walk(f)
			}
		case *loop:
			if s.init != nil {
				f(s.init)
			}
			s.body.walk(f)
			if s.post != nil {
				f(s.post)
			}
		}
	}
}

// owned reports whether a group owns something in a statement.
func owned(s stmt, group int) bool {
	found := false
	block{s}.walk(func(s stmt) bool {
		if a, ok := s.(*action); ok && a.owner == group {
			found = true
		}
		return !found
	})
	return found
}

// exits are the jumps and returns inside a statement that leave it.
func exits(s stmt) bool {
	switch s := s.(type) {
	case *jump, *result:
		return true
	case *branch:
		return slices.ContainsFunc(s.arms, func(a arm) bool { return slices.ContainsFunc(a.block, exits) })
	case *loop:
		return slices.ContainsFunc(s.body, returnsOut)
	}
	return false
}

func returnsOut(s stmt) bool {
	found := false
	block{s}.walk(func(s stmt) bool {
		_, ok := s.(*result)
		found = found || ok
		return !found
	})
	return found
}
