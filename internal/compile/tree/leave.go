package tree

import (
	"go/ast"
	"go/token"
	"go/types"
)

// exit is the end of a function that is read through, of a switch or of a loop:
// where a return, or a break or continue of more than the innermost loop, goes.
// There are no jumps to it in a tree. What such a statement skips goes into the
// other arm of the branch that it ends; where that is not enough, a flag says that
// it happened, and what follows is under the condition that it did not.
type exit struct {
	flag *types.Var
}

// leave goes to an exit. It is in trees only while they are being built.
type leave struct {
	Site
	to *exit
}

// eliminator takes the statements that leave for one exit out of a block.
type eliminator struct {
	*builder
	to *exit
}

// eliminate makes a block, at whose end an exit is, do without leaving for it.
func (b *builder) eliminate(list Block, to *exit) Block {
	e := &eliminator{b, to}
	if !e.any(list) {
		return list
	}
	list = e.block(list, true, false)
	if to.flag == nil {
		return list
	}
	first := b.inside(func() { b.declare(b.pos, to.flag) })
	return append(first, list...)
}

// any reports whether something in a block leaves for the exit.
func (e *eliminator) any(list Block) bool {
	for l := range Each[*leave](list) {
		if l.to == e.to {
			return true
		}
	}
	return false
}

// always reports whether a block ends by leaving for the exit, in every way
// through it.
func (e *eliminator) always(list Block) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *leave:
			return s.to == e.to
		case *Jump, *Return:
			return false
		case *Branch:
			all := s.exhaustive()
			for _, a := range s.Arms {
				all = all && e.always(a.Body)
			}
			if all {
				return true
			}
		}
	}
	return false
}

// exhaustive reports whether a branch always takes one of its arms.
func (s *Branch) exhaustive() bool { return s.Cond != nil && len(s.Arms) == 2 }

// block rewrites statements. tail says that nothing follows them before the exit,
// loop that they stand in a loop which a break ends.
func (e *eliminator) block(list Block, tail, loop bool) (out Block) {
	for i, s := range list {
		rest := list[i+1:]
		if !e.any(Block{s}) {
			out = append(out, s)
			continue
		}
		switch s := s.(type) {
		case *leave:
			return append(out, e.left(s, tail, loop)...)
		case *Branch:
			if loop || len(rest) == 0 {
				e.arms(s, tail, loop)
				out = append(out, s)
				continue
			}
			if e.move(s, rest) {
				e.arms(s, tail, loop)
				return append(out, s)
			}
			e.arms(s, false, loop)
			return append(out, s, e.guard(s, rest, tail))
		case *Loop:
			s.Body = e.block(s.Body, tail && len(rest) == 0 && !loop, true)
			out = append(out, s)
			if loop {
				out = append(out, e.stop(s))
				continue
			}
			if len(rest) > 0 {
				out = append(out, e.guard(s, rest, tail))
			}
			return out
		}
	}
	return out
}

func (e *eliminator) arms(s *Branch, tail, loop bool) {
	for i := range s.Arms {
		s.Arms[i].Body = e.block(s.Arms[i].Body, tail, loop)
	}
}

// left returns what a statement that leaves becomes.
func (e *eliminator) left(s *leave, tail, loop bool) (out Block) {
	if !tail {
		out = append(out, e.set(s.Site))
	}
	if loop {
		out = append(out, &Jump{s.Site, token.BREAK})
	}
	return out
}

// set notes that the exit was left for.
func (e *eliminator) set(at Site) Stmt {
	return &Assign{Site: at, Lhs: []ast.Expr{e.p.Ref(e.flag())}, Tok: token.ASSIGN, Rhs: []ast.Expr{e.p.universal("true")}, Text: "leave"}
}

func (e *eliminator) flag() *types.Var {
	if e.to.flag == nil {
		e.to.flag = e.temp("left", types.Typ[types.Bool])
	}
	return e.to.flag
}

// guard returns what follows a statement in which the exit may have been left for.
func (e *eliminator) guard(s Stmt, rest Block, tail bool) Stmt {
	at := *s.At()
	return &Branch{Site: at, Cond: e.not(e.p.Ref(e.flag())), Text: "if it went on", Arms: []Arm{{Label: "then", Body: e.block(rest, tail, false)}}}
}

// stop ends a loop around one in which the exit may have been left for.
func (e *eliminator) stop(s Stmt) Stmt {
	at := *s.At()
	return &Branch{Site: at, Cond: e.p.Ref(e.flag()), Text: "if it was left", Arms: []Arm{{Label: "then", Body: Block{&Jump{at, token.BREAK}}}}}
}

// move puts what follows a branch into the only arm that does not always leave, if
// there is one.
func (e *eliminator) move(s *Branch, rest Block) bool {
	at := -1
	if !s.exhaustive() {
		at = len(s.Arms)
	}
	for i, a := range s.Arms {
		if e.always(a.Body) {
			continue
		}
		if at >= 0 {
			return false
		}
		at = i
	}
	switch {
	case at < 0:
		return true // what follows is never reached
	case at < len(s.Arms):
		s.Arms[at].Body = append(s.Arms[at].Body[:len(s.Arms[at].Body):len(s.Arms[at].Body)], rest...)
	default:
		s.Arms = append(s.Arms, Arm{Label: "else", Body: rest})
	}
	return true
}

// not returns the opposite of a condition.
func (b *builder) not(e ast.Expr) ast.Expr {
	if _, name := e.(*ast.Ident); !name {
		e = b.p.Typed(&ast.ParenExpr{X: e}, b.p.Info.TypeOf(e))
	}
	return b.p.Typed(&ast.UnaryExpr{Op: token.NOT, X: e}, types.Typ[types.Bool])
}

// binary returns a comparison or a logical operator.
func (b *builder) binary(x ast.Expr, op token.Token, y ast.Expr) ast.Expr {
	return b.p.Typed(&ast.BinaryExpr{X: x, Op: op, Y: y}, types.Typ[types.Bool])
}
