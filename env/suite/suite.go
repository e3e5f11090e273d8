// Package suite is tasks of the DeepMind control suite (Tassa et al., 2018) as graph environments:
// the same dynamics, observations, rewards and time limits, in float32. Observations are one
// vector, the suite's arrays one after another in its order.
//
// The suite simulates with MuJoCo. A cart with a pole is simple enough to be written down: two
// equations of motion and, where the cart meets the end of its rail, one soft constraint, which
// MuJoCo's solver solves exactly when it is alone. Recorded trajectories of the real one are in
// testdata.
package suite

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// All are the environments of this package.
var All = []env.Entry{CartPoleSwingUp}

// entry offers dynamics that have no options.
func entry(d env.Dynamics, doc string) env.Entry {
	return env.Entry{
		ID: d.Spec().ID, Doc: doc, Kind: env.KindOf(d.Spec()),
		New: func(s *rl.Scope, n int, _ any) (env.Batch, error) { return env.Graph(s, n, d) },
	}
}

// column returns component i of a state, [env, 1].
func column(x *Node, i int) *Node { return SliceAxis(x, 1, AxisRange(i, i+1)) }

// join puts columns side by side.
func join(columns ...*Node) *Node { return Concatenate(columns, 1) }

// near returns 1 at x = 0, falling as a Gaussian to .1 at a distance of margin: the suite's
// tolerance with its defaults.
func near(x *Node, margin float64) *Node {
	return Exp(MulScalar(Square(x), math.Log(.1)/(margin*margin)))
}

// calm returns 1 at x = 0, falling as a parabola to 0 at a distance of margin and beyond.
func calm(x *Node, margin float64) *Node {
	return MaxScalar(OneMinus(Square(DivScalar(x, margin))), 0)
}

// least returns (low + x) / (low + 1): a factor of a reward that takes little away.
func least(low float64, x *Node) *Node { return DivScalar(AddScalar(x, low), low+1) }
