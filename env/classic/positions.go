package classic

import (
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// CartPolePositions is CartPolePositions-v1: CartPole-v1 of which agents see the two positions and
// neither velocity, so that a single observation does not say which way the pole falls.
var CartPolePositions = entry(cartPolePositions{}, "CartPole-v1 without velocities: a task for agents with memory")

type cartPolePositions struct{ cartPole }

func (d cartPolePositions) Spec() env.Spec {
	s := d.cartPole.Spec()
	s.ID, s.Obs = "CartPolePositions-v1", symmetric(2*cartX, 2*cartTheta)
	return s
}

func (cartPolePositions) Observe(_ *rl.Ctx, state rl.Tree) rl.Obs {
	x := state.Leaf("").Node()
	return rl.Obs{X: rl.One(rl.Wrap(join(column(x, 0), column(x, 2))))}
}
