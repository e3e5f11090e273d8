package ppo

import (
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// Agent is the trained policy, for evaluation, export and serving.
func (t *Trainer) Agent() rl.Agent { return agent{t.Actor} }

type agent struct{ actor *Actor }

func (a agent) Memory(n int) rl.Tree {
	net := a.actor.net
	if net.cell == nil {
		return rl.Tree{}
	}
	return rl.One(nn.NewMemory(net.scope, net.cell, n))
}

func (a agent) Act(k rl.Key, obs rl.Obs, mem rl.Tree, greedy bool) (action, next rl.Tree) {
	in := ActIn{Obs: obs}
	if mem.Len() > 0 {
		in.Memory = mem.At(0)
	}
	f := a.actor.act
	if greedy {
		f = a.actor.greedy
	}
	out := f.Call(k, in)
	if out.Memory.Ok() {
		next = rl.One(out.Memory)
	}
	return out.Action, next
}

var (
	_ rl.Trainer              = (*Trainer)(nil)
	_ rl.Actor[ActIn, ActOut] = (*Actor)(nil)
	_ rl.Learner[Batch]       = (*Learner)(nil)
)
