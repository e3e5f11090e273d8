package dqn

import "github.com/weft-rl/weft/rl"

// Agent is the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent { return agent{t.Actor, t.EpsilonEnd} }

type agent struct {
	actor   *Actor
	epsilon float64
}

func (a agent) Memory(int) rl.Tree { return rl.Tree{} }

func (a agent) Act(k rl.Key, obs rl.Obs, _ rl.Tree, greedy bool) (action, next rl.Tree) {
	if greedy {
		return a.actor.greedy.Call(k, obs), rl.Tree{}
	}
	return a.actor.Act(k, ActIn{obs, rl.Scalar(a.epsilon)}), rl.Tree{}
}

var (
	_ rl.Trainer               = (*Trainer)(nil)
	_ rl.Actor[ActIn, rl.Tree] = (*Actor)(nil)
)
