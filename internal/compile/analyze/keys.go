package analyze

import (
	"fmt"
	"go/ast"
	"go/types"
	"slices"

	"github.com/weft-rl/weft/internal/compile/tree"
	"github.com/weft-rl/weft/internal/compile/vocabulary"
)

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
