package mappo

import "github.com/weft-rl/weft/rl"

// Agent is the trained policies as a team, for evaluation, export and serving.
// Its members act on what they see themselves: the critics stay behind.
func (t *Trainer) Agent() rl.Agent {
	team := make(rl.Team, len(t.Roles))
	for j, r := range t.Roles {
		team[j] = agent{r.Actor}
	}
	return team
}

type agent struct{ actor *Actor }

func (a agent) Memory(int) rl.Tree { return rl.Tree{} }

func (a agent) Act(k rl.Key, obs rl.Obs, _ rl.Tree, greedy bool) (action, next rl.Tree) {
	f := a.actor.sample
	if greedy {
		f = a.actor.greedy
	}
	return f.Call(k, obs), rl.Tree{}
}

var (
	_ rl.Trainer               = (*Trainer)(nil)
	_ rl.Actor[rl.Obs, ActOut] = (*Actor)(nil)
	_ rl.Learner[Batch]        = (*Learner)(nil)
)
