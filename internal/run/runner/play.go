package runner

import (
	"context"
	"fmt"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// players are agents in environments, one member of the team for each kind of
// agent there.
type players struct {
	scope  *rl.Scope
	envs   env.Groups
	team   rl.Team
	memory []rl.Tree
	greedy bool
}

// newPlayers sets a team to play. One with as many members as there are agents,
// and not kinds, was trained on every agent as a kind of its own.
func newPlayers(s *rl.Scope, g env.Groups, team rl.Team, greedy bool) (*players, error) {
	if kinds := len(g.Spec()); len(team) != kinds {
		all := env.Each(g)
		if len(team) != len(all.Spec()) {
			return nil, fmt.Errorf("a team of %d cannot play: there are %d kinds of agents, %d agents in all", len(team), kinds, len(all.Spec()))
		}
		g = all
	}
	p := &players{scope: s, envs: g, team: team, greedy: greedy}
	for i, spec := range g.Spec() {
		p.memory = append(p.memory, team[i].Memory(spec.Rows))
	}
	return p, nil
}

// play steps until the first episode of every environment is over; left is how
// many were not.
func (p *players) play(ctx context.Context) (left int, err error) {
	left = p.envs.Spec()[0].Rows
	done := make([]bool, left)
	obs := p.envs.Obs()
	for t := 0; left > 0 && t < maxEpisode; t++ {
		if err := ctx.Err(); err != nil {
			return left, err
		}
		var over []bool
		obs, over = p.step(p.scope.Key("act").Fold(uint64(t)), obs)
		for i, over := range over {
			if over && !done[i] {
				done[i] = true
				left--
			}
		}
	}
	return left, nil
}

// step steps all environments. It returns the observations, and which episodes are over.
func (p *players) step(k rl.Key, obs []rl.Obs) ([]rl.Obs, []bool) {
	action := make([]rl.Tree, len(p.team))
	for i, a := range p.team {
		action[i], p.memory[i] = a.Act(kindKey(k, i), obs[i], p.memory[i], p.greedy)
	}
	out := p.envs.Step(action)
	next := make([]rl.Obs, len(out))
	for i, x := range out {
		next[i] = x.Obs
		p.memory[i] = p.memory[i].Map(func(m rl.Tensor) rl.Tensor { return rl.Keep(m, x.Over) })
	}
	return next, rl.Read[bool](out[0].Over)
}

// kindKey returns the key of the draws of kind i.
func kindKey(k rl.Key, i int) rl.Key {
	if i == 0 {
		return k
	}
	return k.Use("kind").Fold(uint64(i))
}
