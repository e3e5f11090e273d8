package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/plan"
)

// Plain is the loop as it stands.
var Plain = Policy{
	Name: "plain", Doc: "the loop as it stands, in one goroutine: the reference for all others",
	Grouping: func(*fdg.Graph) (plan.Grouping, error) { return plan.Grouping{}, nil }, AsIs: true,
}

// GPUOnly is the whole loop as one device program.
var GPUOnly = Policy{
	Name: "gpu-only", Doc: "the whole loop as one device program, the host only reading metrics and checkpoints", Like: "WarpDrive, Anakin",
	Grouping: func(*fdg.Graph) (plan.Grouping, error) { return plan.Grouping{}, nil }, Lowered: true,
}

// SingleLearnerCoarse replicates environments and actors.
var SingleLearnerCoarse = Policy{
	Name: "single-learner-coarse", Doc: "replicas of environment and actor, one learner; trajectories and weights cross once an iteration",
	Like: "Acme, Sebulba; asynchronous: IMPALA, Ape-X", Async: Allowed, Place: Spread,
	Grouping: func(g *fdg.Graph) (plan.Grouping, error) {
		c := classify(g)
		collect := slices.Concat(c.environment, c.actor, c.rollout)
		learn := slices.Concat(c.table, c.learner)
		return grouping(g, "coarse", plan.Group{Name: "collector", Fragments: collect, Over: fdg.Environments}, plan.Group{Name: "learner", Fragments: learn, Over: fdg.None})
	},
	Apart: func(g *fdg.Graph) (plan.Grouping, error) {
		c := classify(g)
		collect := slices.Concat(c.environment, c.actor, c.rollout)
		return grouping(g, "stores", plan.Group{Name: "collector", Fragments: collect, Over: fdg.Environments},
			plan.Group{Name: "replay", Fragments: c.table, Over: fdg.None}, plan.Group{Name: "learner", Fragments: c.learner, Over: fdg.None})
	},
}

// SingleLearnerFine replicates environments alone.
var SingleLearnerFine = Policy{
	Name: "single-learner-fine", Doc: "replicas of the environment; actor and learner together, so that observations and actions cross every step", Like: "SEED RL",
	Grouping: func(g *fdg.Graph) (plan.Grouping, error) {
		c := classify(g)
		rest := slices.Concat(c.actor, c.rollout, c.table, c.learner)
		return grouping(g, "fine", plan.Group{Name: "environment", Fragments: c.environment, Over: fdg.Environments}, plan.Group{Name: "learner", Fragments: rest, Over: fdg.None})
	},
}

// MultiLearner replicates everything, and sums gradients.
var MultiLearner = Policy{
	Name: "multi-learner", Doc: "replicas of the whole loop on their environments; gradients are summed over all", Like: "DDP, Sebulba, RLlib's learners",
	Grouping: func(g *fdg.Graph) (plan.Grouping, error) {
		c := classify(g)
		if err := summable(g); err != nil {
			return plan.Grouping{}, err
		}
		return grouping(g, "learners", plan.Group{Name: "learner", Fragments: slices.Concat(c.environment, c.actor, c.rollout, c.table, c.learner), Over: fdg.Environments})
	},
}

// Central keeps the weights at a parameter server.
var Central = Policy{
	Name: "central", Doc: "replicas compute gradients, a server applies them and hands out weights; asynchronous by nature", Like: "A3C, parameter servers",
	Async: Natural,
	Grouping: func(g *fdg.Graph) (plan.Grouping, error) {
		c := classify(g)
		if err := summable(g); err != nil {
			return plan.Grouping{}, err
		}
		worker := slices.Concat(c.environment, c.actor, c.rollout, c.table, c.gradient)
		return grouping(g, "central", plan.Group{Name: "worker", Fragments: worker, Over: fdg.Environments}, plan.Group{Name: "server", Fragments: c.apply, Over: fdg.None})
	},
}

// Environments gives every agent an actor and a learner of its own.
var Environments = Policy{
	Name: "environments", Doc: "actor and learner replicated by agent, the environments on their own", Like: "MALib, multi-agent RLlib",
	Grouping: func(g *fdg.Graph) (plan.Grouping, error) {
		if !slices.ContainsFunc(g.Resources, func(r fdg.Resource) bool { return r.Family }) {
			return plan.Grouping{}, errors.New("the loop has no family of agents to replicate: it trains one kind of agent")
		}
		c := classify(g)
		rest := slices.Concat(c.actor, c.rollout, c.table, c.learner)
		return grouping(g, "agents", plan.Group{Name: "environment", Fragments: c.environment, Over: fdg.None}, plan.Group{Name: "agent", Fragments: rest, Over: fdg.Agents})
	},
}

// classes are the fragments of a graph by what they are.
type classes struct {
	environment, actor, rollout, table []string
	gradient, apply, learner           []string // learner is the two before it and everything else that learns
}

// classify sorts fragments by their group, stores by whether they are drained, and
// learners' by whether they apply.
func classify(g *fdg.Graph) (c classes) {
	for _, f := range g.Fragments {
		switch f.Group {
		case "environment":
			c.environment = append(c.environment, f.Name)
		case "actor":
			c.actor = append(c.actor, f.Name)
		case "replay":
			if retained(g, f) {
				c.table = append(c.table, f.Name)
			} else {
				c.rollout = append(c.rollout, f.Name)
			}
		default:
			c.learner = append(c.learner, f.Name)
			if applies(g, f) {
				c.apply = append(c.apply, f.Name)
			} else {
				c.gradient = append(c.gradient, f.Name)
			}
		}
	}
	return c
}

// retained reports whether a store keeps what it is given.
func retained(g *fdg.Graph, f fdg.Fragment) bool {
	return slices.ContainsFunc(f.Resources, func(r int) bool { return g.Resources[r].Kind != "rollout" })
}

// applies reports whether a fragment writes weights or an optimiser.
func applies(g *fdg.Graph, f fdg.Fragment) bool {
	return slices.ContainsFunc(f.Nodes, func(n int) bool {
		k := g.Nodes[n].Kind
		return k == fdg.Apply || k == fdg.Blend
	})
}

// grouping leaves out nothing and refuses what has nothing to do.
func grouping(g *fdg.Graph, name string, groups ...plan.Group) (plan.Grouping, error) {
	if !steps(g) {
		return withoutEnvironments(g, name, groups)
	}
	var errs []error
	for _, x := range groups {
		if len(x.Fragments) == 0 {
			errs = append(errs, fmt.Errorf("the loop has nothing for the group %s", x.Name))
		}
		if x.Over == fdg.Environments && !slices.ContainsFunc(x.Fragments, func(f string) bool { return g.Fragment(f).Group == "environment" }) {
			errs = append(errs, fmt.Errorf("the loop steps no environment that the group %s could split", x.Name))
		}
	}
	by := plan.Grouping{Name: name, Groups: groups}
	if len(errs) == 0 {
		errs = append(errs, by.Check(g))
	}
	return by, errors.Join(errs...)
}

// steps reports whether a loop steps environments.
func steps(g *fdg.Graph) bool {
	return slices.ContainsFunc(g.Fragments, func(f fdg.Fragment) bool { return f.Group == "environment" })
}

// withoutEnvironments returns the grouping of a loop that learns from data alone: replicas have
// shares of its batches, and so must have something that is done with them.
func withoutEnvironments(g *fdg.Graph, name string, groups []plan.Group) (plan.Grouping, error) {
	by := plan.Grouping{Name: name, Groups: groups}
	for _, x := range groups {
		if len(x.Fragments) == 0 || x.Over == fdg.Environments && !sums(g, by) {
			return plan.Grouping{}, errNothingToSplit
		}
	}
	return by, by.Check(g)
}

var errNothingToSplit = errors.New("the loop steps no environment, so there is nothing to split: a loop that learns from data " +
	"is shared out by its batches, with multi-learner, or is one device program, with gpu-only")

// splits returns an error if replicas would have shares of environments that the run does not have:
// a loop may step some, and its settings leave them out.
func splits(on plan.Problem, by plan.Grouping) error {
	if on.Facts.Envs == 0 && replicated(by) == fdg.Environments && !sums(on.Graph, by) {
		return errNothingToSplit
	}
	return nil
}

// summable checks that every write to what replicas hold alike comes from a gradient,
// which can be summed, from weights, or from statistics of gathered rows.
func summable(g *fdg.Graph) error {
	var errs []error
	for _, n := range g.Nodes {
		if n.Kind != fdg.Op {
			continue
		}
		for _, r := range n.Writes {
			if res := g.Resources[r]; res.Axis == fdg.None {
				errs = append(errs, fmt.Errorf("%s: %s writes %s, which replicated learners would each have to do: an update that is no gradient cannot be summed", n.Pos, n.Text, res.Name))
			}
		}
	}
	return errors.Join(errs...)
}
