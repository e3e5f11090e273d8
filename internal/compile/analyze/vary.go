package analyze

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

// variation says how a value of a constructor depends on the rows that its replica
// has. Replicas must begin with what the plain loop begins with, so that such a
// value may lay out memory and do nothing else.
type variation uint8

const (
	// longer is a slice or a tensor of as many rows as the replica has.
	longer variation = 1 << iota
	// otherwise is a value that is another on another replica.
	otherwise
)

// varies returns the variation of values and of all values in them.
func varies(list ...*value) (out variation) {
	for _, v := range list {
		v.each(func(x *value) { out |= x.varies })
	}
	return out
}

// varied returns v as it is where something decides about it that varies.
func varied(v *value, by variation) *value {
	if by == 0 {
		return v
	}
	return join(v, &value{varies: otherwise})
}

// decided returns the variation of the conditions from the n-th on that decide
// whether this point of a constructor is reached.
func (x *interp) decided(n int) (out variation) {
	if x.phase != building {
		return 0
	}
	return varies(x.conds[min(n, len(x.conds)):]...)
}

// vary notes that a field holds what differs from replica to replica.
func (x *interp) vary(f *types.Var, v *value) {
	if x.phase == building && f != nil && (varies(v)&otherwise != 0 || varies(v) != 0 && !x.p.isBatch(f.Type())) {
		x.varying[f.Origin()] = true
	}
}

// differs reports whether a field holds what differs from replica to replica: a directive above it
// says so, or the constructor put it there.
func (x *interp) differs(f *types.Var) bool { return x.varying[f.Origin()] }

// recorded reports a graph function, or one of the constructor's literals, that
// reads what differs: replicas would record other graphs than the plain loop.
func (x *interp) recorded(e *ast.SelectorExpr, f *types.Var) {
	if x.differs(f) && (x.phase == tracing || x.phase == building && x.literals > 0) {
		x.unequal(e.Sel.Pos(), fmt.Sprintf("%s differs from replica to replica, and a function would be recorded with it", types.ExprString(e)))
	}
}

// left notes where a constructor leaves a loop, so that all that the loop does
// afterwards depends on what decided about it.
func (x *interp) left(l *loop) { l.varies |= x.decided(l.conds) }

// unsettled reports whether going round a loop again would show more of what
// varies.
func (l *loop) unsettled() bool {
	more := l.varies &^ l.known
	l.known = l.varies
	return more != 0
}

// laden returns a call's receiver, as one that varies if a struct among the call's
// arguments has a field that does.
func (x *interp) laden(call *ast.CallExpr, recv *value) *value {
	for _, a := range call.Args {
		s, ok := x.typeOf(a).Underlying().(*types.Struct)
		for i := 0; ok && i < s.NumFields(); i++ {
			if x.phase == building && x.differs(s.Field(i)) {
				return varied(recv, otherwise)
			}
		}
	}
	return recv
}

// spread notes that memory which several variables share was written with what
// varies.
func (x *interp) spread(s *tree.Assign, by variation) {
	if by == 0 || x.phase != building {
		return
	}
	for _, v := range s.Shares {
		if old, there := x.st.vars[v]; there {
			x.st.vars[v] = varied(old, by)
		}
	}
	for _, f := range s.Fills {
		if v := x.t.Root(f); v != nil {
			x.st.vars[v] = varied(x.st.vars[v], by)
		}
	}
}

// uniform reports whether a statement of a constructor gives all elements of a slice
// the same value: it stands in a loop over the slice that does nothing else with the
// slice or its index, and always goes on to the next.
func (x *interp) uniform(lhs ast.Expr, s *tree.Assign) bool {
	at, element := lhs.(*ast.IndexExpr)
	l, inside := s.Up.(*tree.Loop)
	if !element || !inside || x.phase != building || len(x.conds) > x.loops[len(x.loops)-1].conds+1 {
		return false
	}
	over := x.t.Var(l.Over)
	if over == nil || over != x.t.Var(at.X) || l.Key == nil || l.Key != x.t.Var(at.Index) {
		return false
	}
	for n := range tree.Each[tree.Stmt](l.Body) {
		a, ok := n.(*tree.Assign)
		if !ok {
			return false
		}
		for _, e := range slices.Concat(a.Lhs, a.Fills) {
			if v := x.t.Root(e); a != s && (v == over || v == l.Key) {
				return false
			}
		}
	}
	return true
}

// lays checks what a word of a constructor is given, and returns what of it goes on
// into its result. Only those arguments that are sizes may vary.
func (x *interp) lays(call *ast.CallExpr, w vocabulary.Word, recv *value, args []*value) *value {
	var out *value
	for i, a := range args {
		if w.Sizes(i) {
			if varies(a) != 0 {
				out = join(out, &value{varies: longer})
			}
			continue
		}
		out = join(out, a)
		if w.Makes && varies(a)&otherwise != 0 {
			x.unequal(call.Args[i].Pos(), "this differs from replica to replica: it is made of the rows that one has")
		}
	}
	if w.Makes && x.decided(0) != 0 {
		x.unequal(where(call), "whether this is made differs from replica to replica: it depends on the rows that one has")
	}
	return varied(out, varies(recv))
}

// unequal reports what replicas would not begin with alike.
func (x *interp) unequal(pos token.Pos, message string) {
	x.report(pos, refusal{"replica", message, "use Spec().Envs, the environments of the whole run, and let memory begin with zeros"})
}
