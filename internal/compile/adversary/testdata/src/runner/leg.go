package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/compile/adversary/testdata/src/job"
	"github.com/weft-rl/weft/internal/run/replicas"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
	"github.com/weft-rl/weft/rl"
)

// running is a leg of a run that is under way.
type running struct {
	job   job.Job
	leg   job.Leg
	out   *job.Outcome
	world *replicas.World
	start string     // digest of the weights at the first cut
	kept  []rl.Array // state at the last cut
	unfit bool
}

// train runs the leg from a state, or from the start without one.
func (r *running) train(from []rl.Array) error {
	c, err := r.config()
	if err != nil {
		return err
	}
	var second *child
	if r.leg.Processes > 1 && splits(c.Plan) {
		c.Here = here(c.Plan, 0)
		if second, err = other(); err != nil {
			return err
		}
	}
	if r.world, err = replicas.New(c); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.world.Close()) }()
	if from != nil {
		if err := r.world.Load(func(s *rl.Scope) (*rl.State, error) { return state(s, from), nil }); err != nil {
			return err
		}
	}
	if second != nil {
		err = second.along(r.job, r.leg, c.Plan, r.world)
	} else {
		err = r.world.Train(context.Background())
	}
	if err != nil {
		return err
	}
	return rl.Catch(func() error { r.finish(); return nil })
}

// finish records what the leg left.
func (r *running) finish() {
	st := rl.NewState(r.world.Scope())
	r.world.Save(st)
	all := st.Arrays()
	r.out.Values = nil
	r.out.State, r.out.Kept = digest(all, nil), digest(r.kept, nil)
	r.out.Weights = digest(weights(r.world.Scope(), all), &r.out.Values)
	r.out.Moved = r.out.Moved || r.out.Weights != r.start
	r.out.Steps, r.out.Iter = r.world.Run().Steps(), r.world.Run().Iter()
}

// cut sees every consistent point.
func (r *running) cut(c rl.Cut) error {
	if r.start == "" {
		st := rl.NewState(r.world.Scope())
		r.world.Scope().Save(st)
		r.start = digest(weights(r.world.Scope(), st.Arrays()), nil)
	}
	for _, l := range c.Logs {
		r.out.Logs = append(r.out.Logs, fmt.Sprintf("%d %s %v", c.Iter, l.Name, l.X))
	}
	for _, e := range c.Episodes {
		r.out.Logs = append(r.out.Logs, fmt.Sprintf("%d episode %v", c.Iter, e))
	}
	r.metrics(c)
	stop := c.Iter >= most || r.leg.Until > 0 && c.Iter >= r.leg.Until
	if !c.Passed {
		st := rl.NewState(r.world.Scope())
		r.world.Save(st)
		r.kept = st.Arrays()
	}
	if stop && !c.Passed {
		return rl.ErrStop
	}
	return nil
}

// metrics notes a name that a run's files would get twice for an iteration: the
// writer of metrics ends such a run.
func (r *running) metrics(c rl.Cut) {
	seen := map[string]bool{}
	for _, l := range append(r.world.Iteration(), c.Logs...) {
		if seen[l.Name] {
			r.out.Twice = l.Name
		}
		seen[l.Name] = true
	}
}

// config returns the world's configuration for the leg.
func (r *running) config() (replicas.Config, error) {
	c := replicas.Config{
		Root: root(), Build: func(s *rl.Scope) (rl.Trainer, error) { return build(r.job, s) },
		Budget: r.job.Budget, Cut: r.cut,
		Until: func(steps int64) int64 {
			if r.leg.Until > 0 {
				return steps + 1
			}
			return math.MaxInt64
		},
	}
	if r.job.Delay > 0 {
		c.Around = func(replica int, l edge.Link) edge.Link { return newSlow(l, r.job.Delay, uint64(replica)) }
	}
	if r.leg.Policy == "plain" {
		return c, nil
	}
	err := arrange(&c, r.job, r.leg, &r.unfit)
	return c, err
}

// arrange plans a leg and finds its programs. It sets unfit where the policy does
// not take the loop.
func arrange(c *replicas.Config, j job.Job, leg job.Leg, unfit *bool) error {
	s := root()
	t, err := build(j, s)
	if err != nil {
		return err
	}
	set, ok := edge.ProgramsOf(t)
	if !ok {
		return errors.New("the loop has no generated programs")
	}
	g, err := fdg.Unpack(set.Graph)
	if err != nil {
		return err
	}
	for _, p := range set.Groupings {
		c.Members = max(c.Members, p.Members(t))
	}
	c.Facts = plan.Facts{Envs: j.Config.Envs, Block: 1, Graph: true, Agents: c.Members}
	p, err := policy.Find(leg.Policy, policy.Builtin())
	if err != nil {
		return err
	}
	c.Graph = g
	d := plan.Deployment{Policy: leg.Policy, Workers: leg.Workers, Queue: 2}
	if leg.Apart {
		d.Placement = []string{"replay:local/1"}
	}
	c.Plan, err = p.Make(plan.Problem{
		Graph: g, Cluster: plan.Local(leg.Workers, plan.CPU), Facts: c.Facts, Crossings: set.Crossings(),
		Deployment: d,
	})
	if err != nil {
		*unfit = true
		return err
	}
	return programs(c, set, leg, unfit)
}

// programs finds the generated programs of the plan.
func programs(c *replicas.Config, set edge.Set, leg job.Leg, unfit *bool) error {
	if c.Plan.Lowered {
		if set.Lowered == nil {
			*unfit = true
			return errors.New("the loop is no device program")
		}
		c.Lowered, c.Origin = set.Lowered, set.Origin
		return nil
	}
	if !leg.NoFuse {
		c.Plan = c.Plan.Fuse(c.Graph, nil)
	} else {
		c.Plan = c.Plan.Fuse(c.Graph, []string{"all"})
	}
	for _, p := range set.Groupings {
		if p.Name == c.Plan.Grouping.Name {
			c.Programs = p
			return nil
		}
	}
	*unfit = true
	return fmt.Errorf("nothing was generated for %s", c.Plan.Grouping.Name)
}

// state returns arrays as the state of a scope.
func state(s *rl.Scope, arrays []rl.Array) *rl.State {
	st := rl.NewState(s)
	for _, a := range arrays {
		st.Add(a)
	}
	return st
}

// weights returns the arrays of parameters and statistics.
func weights(s *rl.Scope, all []rl.Array) (out []rl.Array) {
	for _, name := range rl.System.Components(s) {
		switch rl.System.Component(s, name).(type) {
		case *rl.Params, *rl.Stats:
			for _, a := range all {
				if strings.HasPrefix(a.Name, name+"/") {
					out = append(out, a)
				}
			}
		}
	}
	return out
}
