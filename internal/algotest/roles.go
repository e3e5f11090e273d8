package algotest

import (
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/rl"
)

// Roles checks that agents of a kind share a role, or have one each with the setting separate, and
// that the agent's team has as many members. Roles counts those of a trainer.
func Roles(t *testing.T, a algo.Algorithm, roles func(rl.Trainer) int) {
	for _, c := range []struct {
		env  env.Entry
		set  string
		want int
	}{
		{debug.Agents, "separate=false", 1}, {debug.Agents, "separate=true", 3},
		{debug.Kinds, "separate=false", 2}, {debug.Kinds, "separate=true", 4},
	} {
		x := Trained(t, a, c.env, c.env.Options(), 0, c.set)
		if team := len(rl.TeamOf(x.Agent())); roles(x) != c.want || team != c.want {
			t.Errorf("%s, %s: %d roles and a team of %d, want %d", c.env.ID, c.set, roles(x), team, c.want)
		}
	}
}
