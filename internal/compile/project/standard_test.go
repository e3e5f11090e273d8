package project

import (
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
)

// standard returns the groupings that the built-in policies form of a graph, as far
// as it has what they keep apart.
func standard(g *fdg.Graph) (out []plan.Grouping) {
	var environment, collector, learner, apply, rest []string
	for _, f := range g.Fragments {
		switch {
		case f.Group == "environment":
			environment = append(environment, f.Name)
		case f.Group == "actor", f.Group == "replay" && !retains(g, f):
			collector = append(collector, f.Name)
		default:
			learner = append(learner, f.Name)
		}
		if applies(g, f) {
			apply = append(apply, f.Name)
		} else {
			rest = append(rest, f.Name)
		}
	}
	all := slices.Concat(environment, collector, learner)
	if len(environment) > 0 {
		out = append(out, replicas(environment, collector, learner, all)...)
	}
	if len(environment) > 0 && len(apply) > 0 && len(rest) > 0 {
		out = append(out, plan.Grouping{Name: "central", Groups: []plan.Group{
			{Name: "worker", Fragments: rest, Over: fdg.Environments},
			{Name: "server", Fragments: apply, Over: fdg.None},
		}})
	}
	if slices.ContainsFunc(g.Resources, func(r fdg.Resource) bool { return r.Family }) {
		out = append(out, plan.Grouping{Name: "agents", Groups: []plan.Group{
			{Name: "environment", Fragments: environment, Over: fdg.None},
			{Name: "agent", Fragments: slices.Concat(collector, learner), Over: fdg.Agents},
		}})
	}
	apart := plan.Grouping{Name: "apart"} // everything by itself
	for _, f := range g.Fragments {
		apart.Groups = append(apart.Groups, plan.Group{Name: f.Name, Fragments: []string{f.Name}, Over: fdg.None})
	}
	return append(out, apart)
}

// replicas returns the groupings that share out environments.
func replicas(environment, collector, learner, all []string) []plan.Grouping {
	return []plan.Grouping{
		{Name: "coarse", Groups: []plan.Group{
			{Name: "collector", Fragments: slices.Concat(environment, collector), Over: fdg.Environments},
			{Name: "learner", Fragments: learner, Over: fdg.None},
		}},
		{Name: "fine", Groups: []plan.Group{
			{Name: "environment", Fragments: environment, Over: fdg.Environments},
			{Name: "learner", Fragments: slices.Concat(collector, learner), Over: fdg.None},
		}},
		{Name: "learners", Groups: []plan.Group{{Name: "learner", Fragments: all, Over: fdg.Environments}}},
	}
}

// retains reports whether a fragment keeps what is drawn from again and again,
// which needs all of it: then it lives with its reader.
func retains(g *fdg.Graph, f fdg.Fragment) bool {
	return slices.ContainsFunc(f.Resources, func(r int) bool { return g.Resources[r].Kind != "rollout" })
}

// applies reports whether a fragment is home of optimisers.
func applies(g *fdg.Graph, f fdg.Fragment) bool {
	return slices.ContainsFunc(f.Resources, func(r int) bool { return g.Resources[r].Kind == "optimiser" })
}
