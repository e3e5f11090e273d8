package runner

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/replicas"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// assembly is a job's trainers, as its plan has them.
type assembly struct {
	world *replicas.World
	specs []env.Spec // specs of the first environments that the algorithm makes
	exact bool       // every environment can save its state
	why   string     // why not
}

// assemble constructs the job's algorithm on its environments: first as the plain
// loop has it, which shows what there is to plan for.
func assemble(j Job, cut func(rl.Cut) error, until func(int64) int64) (_ *assembly, err error) {
	a := &assembly{exact: true}
	root := rl.NewScope(j.Device, j.Seed)
	defer func() {
		if err != nil {
			err = errors.Join(err, root.Close())
		}
	}()
	if at := j.Storage; at != nil {
		if at.Dir == "" {
			at = &rl.Storage{Dir: cmp.Or(j.Dir, j.Files, os.TempDir()), Limit: at.Limit}
		}
		rl.System.Store(root, at)
	}
	entry := wrap.Entry(j.Env, j.Wrap, cmp.Or(j.Files, j.Dir))
	var spec env.Spec
	saw := func(specs []env.Spec) {
		if spec = specs[0]; a.specs == nil {
			a.specs = specs
		}
		a.exact = a.exact && spec.Exact
		a.why = spec.Why
	}
	build := func(s *rl.Scope) (rl.Trainer, error) {
		t, err := j.Algorithm.New(s, algo.On(s, entry, j.EnvOptions, saw), j.Config)
		if err != nil && j.Env.ID == "" {
			return nil, fmt.Errorf("%s: %w", j.Algorithm.Name, err)
		}
		if err != nil {
			return nil, fmt.Errorf("%s on %s: %w", j.Algorithm.Name, j.Env.ID, err)
		}
		return t, nil
	}
	whole, err := build(root)
	if err != nil {
		return nil, err
	}
	if a.specs == nil {
		if spec, err = fromData(root, j); err != nil {
			return nil, err
		}
		a.specs = []env.Spec{spec}
	}
	c := replicas.Config{Root: root, Build: build, Budget: j.Steps, Cut: cut, Until: until, Restarting: !a.exact, Open: j.Open, Profile: j.Profile}
	if j.Part != nil {
		c.Here, c.Abort, c.Life = j.Part.Here, j.Part.Abort, j.Part.Life
	}
	if p := j.Probe; p != nil {
		c.Observe, c.Record, c.Abort = p.Observe, p.Record, p.Abort
	}
	if j.Plan != nil {
		if err := arrange(&c, j, whole, spec); err != nil {
			return nil, err
		}
	}
	if len(c.Plan.Groups) == 0 {
		c.Build = func(*rl.Scope) (rl.Trainer, error) { return whole, nil }
	} else if err = root.Close(); err != nil { // it was for the plan: replicas have environments of their own
		return nil, err
	}
	a.world, err = replicas.New(c)
	return a, err
}

// arrange plans the run of a trainer, and finds the programs that were generated
// for the plan.
func arrange(c *replicas.Config, j Job, t rl.Trainer, spec env.Spec) error {
	set, ok := edge.ProgramsOf(t)
	if !ok {
		return fmt.Errorf("algorithm %s has no generated programs, so it can run as the plain loop only: weft generate makes them", j.Algorithm.Name)
	}
	g, err := fdg.Unpack(set.Graph)
	if err != nil {
		return fmt.Errorf("the graph of algorithm %s: %w", j.Algorithm.Name, err)
	}
	for _, p := range set.Groupings {
		c.Members = max(c.Members, p.Members(t))
	}
	c.Facts = plan.Facts{Envs: spec.Envs, Block: spec.Block, Graph: spec.Graph, Agents: c.Members, Devices: rl.System.Devices(j.Device)}
	if c.Plan, err = j.Plan(plan.Problem{Graph: g, Facts: c.Facts, Crossings: set.Crossings()}); err != nil {
		return err
	}
	c.Graph = g
	if c.Plan.Lowered {
		if set.Lowered == nil {
			return fmt.Errorf("the loop of algorithm %s cannot be one device program, which policy %s makes of it: weft generate says why", j.Algorithm.Name, c.Plan.Policy)
		}
		c.Lowered, c.Origin = set.Lowered, set.Origin
	}
	for _, p := range set.Groupings {
		if p.Name == c.Plan.Grouping.Name {
			c.Programs = p
			return nil
		}
	}
	if len(c.Plan.Groups) == 0 {
		return nil
	}
	return fmt.Errorf("algorithm %s has no programs for policy %s (grouping %s): weft generate makes them",
		j.Algorithm.Name, c.Plan.Policy, c.Plan.Grouping.Name)
}

// loadWeights takes parameters and statistics over from a checkpoint of the
// same algorithm, whatever run it belongs to.
func (a *assembly) loadWeights(f checkpoint.File) error {
	err := a.world.LoadWeights(func(s *rl.Scope) (*rl.State, error) { return state(s, f) })
	if err != nil {
		return fmt.Errorf("%w: those weights are of another network than this run's", err)
	}
	return nil
}

// start takes the weights of another run over.
func (a *assembly) start(j Job) error {
	t, err := takeWeights(j.Reading, j.From, PreferBest, j.Watch)
	if err == nil {
		err = a.loadWeights(t.File)
	}
	if err != nil {
		return fmt.Errorf("weights of run %s: %w", j.From, err)
	}
	j.Watch.Note(fmt.Sprintf("it starts from the %s weights of %s, of its step %d", t.what, j.From, t.step))
	return nil
}
