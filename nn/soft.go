package nn

import (
	"math"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// Temperature is the worth of a nat of a policy's entropy: a number that is learnt in its
// logarithm, so that the entropy stays near a target.
type Temperature struct {
	Start  float64
	Target float64 // target of the entropy, in nats
}

// TargetEntropy returns the usual target of the entropy of a policy: minus the numbers of a box, or
// .89 of the most there is for a single choice. ok is false for other spaces.
func TargetEntropy(action rl.Space) (nats float64, ok bool) {
	switch a := action.(type) {
	case rl.Box:
		return -float64(a.Shape().Size()), true
	case rl.Discrete:
		return .89 * math.Log(float64(a.N)), true
	}
	return 0, false
}

// Init makes the parameter: what rl.NewParams asks for.
func (t Temperature) Init(c *rl.Ctx, sc *model.Scope) { t.log(c, sc) }

func (t Temperature) log(c *rl.Ctx, sc *model.Scope) *Node {
	return Squeeze(Param(c, sc, "log", Fill(math.Log(t.Start)), 1), 0)
}

// Value returns the temperature, a scalar at which gradients stop.
func (t Temperature) Value(c *rl.Ctx, sc *model.Scope) *Node {
	return Exp(StopGradient(t.log(c, sc)))
}

// Loss returns the temperature's loss by row, and the temperature: it falls where there is more
// entropy than the target asks for.
func (t Temperature) Loss(c *rl.Ctx, sc *model.Scope, entropy *Node) (loss, value *Node) {
	x := t.log(c, sc)
	return Mul(x, AddScalar(StopGradient(entropy), -t.Target)), Exp(x)
}
