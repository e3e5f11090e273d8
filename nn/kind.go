package nn

import (
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

// KindActorCritic is a policy and a critic that all agents of one kind share. The policy acts on
// what an agent observes. The critic sees the state of the whole environment if State is not 0,
// and what the agent observes otherwise.
type KindActorCritic struct {
	Obs    rl.Space
	Agents int
	State  int // size of the environment's state
	Head   Head
	MLP    MLP  // the hidden layers of both networks
	Number bool // tell the networks which agent they act for
}

// Init makes the parameters, by applying both networks to observations of zeros.
func (k KindActorCritic) Init(c *rl.Ctx, sc *model.Scope) {
	x := Blank(c, k.Obs)
	leaves := make([]rl.Tensor, x.Len())
	for i := range leaves {
		leaves[i] = rl.Wrap(ForAgents(x.At(i).Node(), 1, k.Agents))
	}
	obs := rl.Obs{
		X:     rl.NewTree(x.Names(), leaves),
		State: rl.Wrap(Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, k.State))),
	}
	k.Policy(c, sc, obs).Mode()
	k.Value(c, sc, obs)
}

// Policy returns the distribution of every agent's actions.
func (k KindActorCritic) Policy(c *rl.Ctx, sc *model.Scope, obs rl.Obs) Dist {
	sc = sc.At("policy")
	out := k.apply(c, sc, Features(k.Obs, obs.X), k.Head.Units(), .01)
	return k.Head.Dist(c, sc, out, obs.Legal)
}

// Value returns the critic's output for every agent.
func (k KindActorCritic) Value(c *rl.Ctx, sc *model.Scope, obs rl.Obs) *Node {
	var x *Node
	if k.State > 0 {
		x = obs.State.Node()
		x = ForAgents(x, x.Rank()-1, k.Agents)
	} else {
		x = Features(k.Obs, obs.X)
	}
	return Squeeze(k.apply(c, sc.At("value"), x, 1, 1), -1)
}

func (k KindActorCritic) apply(c *rl.Ctx, sc *model.Scope, x *Node, out int, gain float64) *Node {
	if k.Number {
		x = Numbered(x, k.Agents)
	}
	k.MLP.Out, k.MLP.OutGain = out, gain
	return k.MLP.Apply(c, sc, x)
}
