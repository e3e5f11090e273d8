package a2c

import "github.com/weft-rl/weft/rl"

// Agent is the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent { return agent{t.Actor} }

type agent struct{ actor *Actor }

func (a agent) Memory(int) rl.Tree { return rl.Tree{} }

func (a agent) Act(k rl.Key, obs rl.Obs, _ rl.Tree, greedy bool) (action, next rl.Tree) {
	f := a.actor.act
	if greedy {
		f = a.actor.greedy
	}
	return f.Call(k, obs).Action, rl.Tree{}
}

var (
	_ rl.Trainer               = (*Trainer)(nil)
	_ rl.Actor[rl.Obs, ActOut] = (*Actor)(nil)
	_ rl.Learner[Batch]        = (*Learner)(nil)
)
