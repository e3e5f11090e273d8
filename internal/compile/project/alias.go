package project

import (
	"go/ast"
	"go/token"
	"go/types"
	"maps"

	"github.com/weft-rl/weft/internal/compile/tree"
)

// pairs are the variables that may share memory at a point, each with its
// partners.
type pairs map[*types.Var]map[*types.Var]bool

func (p pairs) clone() pairs {
	out := pairs{}
	for v, m := range p {
		out[v] = maps.Clone(m)
	}
	return out
}

func (p pairs) join(v, w *types.Var) {
	if v != w {
		put(p, v, w, true)
		put(p, w, v, true)
	}
}

// part forgets what a variable shared.
func (p pairs) part(v *types.Var) {
	for w := range p[v] {
		delete(p[w], v)
	}
	delete(p, v)
}

// merge adds o to p and reports whether there was anything new. A nil o is a point
// that is not reached.
func (p pairs) merge(o pairs) (more bool) {
	for v, m := range o {
		for w := range m {
			more = more || !p[v][w]
			put(p, v, w, true)
		}
	}
	return more
}

// aliases goes through a tree and finds, of the variables that a statement may
// change through shared memory, those that can share it at that point: a slice that
// was just made shares with nobody, though it be given to another variable later.
type aliases struct {
	*loop
	now   pairs // nil where nothing gets to
	loops []*aliasLoop
	of    map[*tree.Assign]map[*types.Var]bool
}

type aliasLoop struct{ breaks, continues pairs }

func (l *loop) alias() map[*tree.Assign]map[*types.Var]bool {
	a := &aliases{loop: l, now: pairs{}, of: map[*tree.Assign]map[*types.Var]bool{}}
	a.block(l.tree.Body)
	return a.of
}

func (a *aliases) block(b tree.Block) {
	for _, s := range b {
		if a.now == nil {
			return
		}
		a.stmt(s)
	}
}

func (a *aliases) stmt(s tree.Stmt) {
	switch s := s.(type) {
	case *tree.Assign:
		a.assign(s)
	case *tree.Call:
		a.block(s.Body)
	case *tree.Branch:
		a.branch(s)
	case *tree.Loop:
		a.rounds(s)
	case *tree.Jump:
		if n := len(a.loops); n > 0 && s.Tok == token.BREAK {
			a.loops[n-1].breaks.merge(a.now)
		} else if n > 0 {
			a.loops[n-1].continues.merge(a.now)
		}
		a.now = nil
	case *tree.Return:
		a.now = nil
	}
}

func (a *aliases) branch(s *tree.Branch) {
	before, after, reached := a.now, pairs{}, false
	exhaustive := !s.Switch && len(s.Arms) > 1
	arm := func(b tree.Block) {
		a.now = before.clone()
		if a.block(b); a.now != nil {
			after.merge(a.now)
			reached = true
		}
	}
	for _, x := range s.Arms {
		arm(x.Body)
		exhaustive = exhaustive || x.Default
	}
	if !exhaustive {
		arm(nil)
	}
	if a.now = after; !reached {
		a.now = nil
	}
}

func (a *aliases) rounds(s *tree.Loop) {
	if s.Init != nil {
		a.assign(s.Init)
	}
	head := a.now
	for again := true; again; {
		l := &aliasLoop{pairs{}, pairs{}}
		a.loops = append(a.loops, l)
		a.now = head.clone()
		if s.Value != nil {
			a.define(s.Value, s.Over)
		}
		a.block(s.Body)
		l.continues.merge(a.now)
		if a.now = l.continues; s.Post != nil {
			a.assign(s.Post)
		}
		a.loops = a.loops[:len(a.loops)-1]
		again = head.merge(a.now)
		a.now = head.clone()
		a.now.merge(l.breaks)
	}
}

func (a *aliases) assign(s *tree.Assign) {
	for i, e := range s.Lhs {
		var rhs ast.Expr
		if len(s.Rhs) > 0 && s.Op == nil {
			rhs = s.Rhs[min(i, len(s.Rhs)-1)]
		}
		if v := a.tree.Var(e); v != nil && (s.Tok == token.ASSIGN || s.Tok == token.VAR) {
			a.define(v, rhs)
		} else if v := a.tree.Root(e); v != nil {
			a.store(s, v, rhs, a.place(e).weak)
		}
	}
	for _, e := range s.Fills {
		if v := a.tree.Root(e); v != nil {
			a.store(s, v, s.Rhs[0], true)
		}
	}
}

// define gives a variable the value of an expression.
func (a *aliases) define(v *types.Var, e ast.Expr) {
	with := a.sources(v, e)
	if !with[v] { // x = append(x, y) still has what x shared
		a.now.part(v)
	}
	for w := range with {
		a.now.join(v, w)
	}
}

// store puts the value of an expression into a field of a variable, or into memory
// behind it, which those see that share it.
func (a *aliases) store(s *tree.Assign, v *types.Var, e ast.Expr, through bool) {
	with := a.sources(v, e)
	seen := map[*types.Var]bool{v: true}
	if through {
		maps.Copy(seen, a.now[v])
		for w := range a.now[v] {
			put(a.of, s, w, true)
		}
	}
	for x := range seen {
		for w := range with {
			a.now.join(x, w)
		}
	}
}

// sources returns the variables whose memory the value of an expression may share,
// among those that v ever shares with.
func (a *aliases) sources(v *types.Var, e ast.Expr) map[*types.Var]bool {
	out, class := map[*types.Var]bool{}, map[*types.Var]bool{}
	for _, w := range a.tree.Class(v) {
		class[w] = true
	}
	if e == nil || len(class) == 1 {
		return out
	}
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if b := a.builtin(n); b == "make" || b == "len" || b == "cap" {
				return false
			}
		case *ast.Ident:
			if w := a.tree.Var(n); class[w] {
				out[w] = true
				maps.Copy(out, a.now[w])
			}
		}
		return true
	})
	return out
}
