package reinforce

import (
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

// Policy puts inference between environments and learner, on its own: many
// environments, one server that acts for all of them, and a learner beside it that
// could have another device. Weft finds it because the package offers it under this
// name.
var Policy = policy.Policy{
	Name: "inference-apart", Doc: "replicas of the environment, one server that acts for all, one learner", Like: "SEED RL with inference servers of their own",
	Grouping: func(g *fdg.Graph) (plan.Grouping, error) {
		simulator := plan.Group{Name: "simulator", Over: fdg.Environments}
		server := plan.Group{Name: "server", Over: fdg.None}
		learner := plan.Group{Name: "learner", Over: fdg.None}
		for _, f := range g.Fragments {
			to := map[string]*plan.Group{"environment": &simulator, "actor": &server, "replay": &server, "learner": &learner}[f.Group]
			to.Fragments = append(to.Fragments, f.Name)
		}
		by := plan.Grouping{Name: "inference", Groups: []plan.Group{simulator, server, learner}}
		return by, by.Check(g)
	},
}
