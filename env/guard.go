package env

import (
	"slices"
	"strings"

	"github.com/weft-rl/weft/rl"
)

// guard is Groups that checks others at every step, and counts.
type guard struct {
	Groups
	scope    *rl.Scope
	episodes *rl.Episodes
	kinds    []*kindGuard
	names    []string // names of the kinds, if there are several
	raw      Rewarder // nil where rewards are the task's
	fused    bool     // a compiled part of the loop may have stepped them since
}

func newGuard(s *rl.Scope, name string, inner Groups) (*guard, error) {
	specs := inner.Spec()
	if err := checkKinds(specs); err != nil {
		return nil, err
	}
	g := &guard{Groups: inner, scope: s, episodes: s.EpisodesOf(name)}
	for _, spec := range specs {
		g.kinds = append(g.kinds, newKindGuard(s, spec))
		if len(specs) > 1 {
			g.names = append(g.names, spec.Kind)
		}
	}
	g.raw, _ = Find[Rewarder](inner)
	return g, nil
}

func (g *guard) Obs() []rl.Obs {
	obs := g.Groups.Obs()
	if g.scope.Lowering() != nil {
		return obs
	}
	if g.fused {
		for i, k := range g.kinds {
			k.last = obs[i]
		}
	}
	if !g.kinds[0].last.First.Ok() {
		g.each(len(obs), "observations", func(i int, k *kindGuard) { k.begin(obs[i]) })
	}
	return obs
}

func (g *guard) Step(action []rl.Tree) []rl.Step {
	g.Obs()
	if l := g.scope.Lowering(); l != nil {
		return g.lowered(l, action)
	}
	o := g.scope.Observed()
	out := g.step(action)
	if o != nil {
		op := rl.Operation{Kind: "env.Batch.Step", Name: g.kinds[0].spec.ID, Size: g.kinds[0].spec.Envs}
		if o.Values() {
			op.In, op.Out = named("action", g.names, action), named("", g.names, out)
		}
		o.End(op)
	}
	return out
}

// named returns the tensors of every kind of agent, under its name where there are
// several.
func named[T any](what string, kinds []string, list []T) (out []rl.Leaf) {
	for i, x := range list {
		prefix := what
		if len(kinds) > 0 {
			prefix = strings.TrimPrefix(what+" "+kinds[i], " ")
		}
		out = append(out, rl.NamedLeaves(prefix, x)...)
	}
	return out
}

// step does what Step does on values.
func (g *guard) step(action []rl.Tree) []rl.Step {
	g.each(len(action), "actions", func(i int, k *kindGuard) { k.checkAction(action[i]) })
	out := g.Groups.Step(action)
	spec := g.kinds[0].spec
	g.scope.AddSteps(spec.Envs)
	g.each(len(out), "steps", func(i int, k *kindGuard) { k.check(out[i]) })
	over := rl.Read[bool](out[0].Over)
	for i, x := range out[1:] {
		if !slices.Equal(over, rl.Read[bool](x.Over)) {
			g.kinds[i+1].broken("over is not that of the kind before: an episode ends for all")
		}
	}
	g.record(out, over)
	return out
}

// lowered does what Step does inside a device program, which looks at numbers only: shapes are
// the graph's affair, and actions and observations lie in their spaces or the plain
// loop would have said so.
func (g *guard) lowered(l *rl.Lowering, action []rl.Tree) []rl.Step {
	if _, ok := g.Groups.(rl.Resident); !ok {
		g.Resident() // says why not, before anything is stepped
	}
	g.fused = true
	out := g.Groups.Step(action)
	spec := g.kinds[0].spec
	move := rl.Moved{Episodes: g.episodes, First: spec.First, Envs: spec.Envs, Kinds: g.names, Over: out[0].Over}
	var numbers []rl.Tensor
	for i, x := range out {
		move.Reward = append(move.Reward, g.kinds[i].counted(x.Reward))
		seen := x.Final
		if spec.Limit == 0 { // nobody asks for it where nothing is ever truncated
			seen = x.Obs
		}
		numbers = append(append(numbers, x.Reward), rl.Leaves(seen.X)...)
	}
	l.Stepped(move)
	l.FiniteStep("what environment "+spec.ID+" returned", numbers)
	return out
}

// Resident returns the environments' state, if a device program can hold it.
func (g *guard) Resident() []rl.Carried {
	r, ok := g.Groups.(rl.Resident)
	if !ok {
		rl.Failf("environment %s runs on the host: only one that is a graph function can be part of a device program", g.kinds[0].spec.ID)
	}
	return r.Resident()
}

// each calls f for every kind, of which there are n values.
func (g *guard) each(n int, what string, f func(i int, k *kindGuard)) {
	if n != len(g.kinds) {
		g.kinds[0].broken("%d %s for %d kinds of agents", n, what, len(g.kinds))
	}
	for i, k := range g.kinds {
		f(i, k)
	}
}

// record follows the episodes.
func (g *guard) record(out []rl.Step, over []bool) {
	rewards := make([][]float64, len(out))
	for i, k := range g.kinds {
		r := out[i].Reward
		if g.raw != nil {
			r = g.raw.Rewards()[i]
		}
		rewards[i] = k.rewards(r)
	}
	g.episodes.RecordKinds(g.kinds[0].spec.First, g.scope.Steps(), g.names, rewards, over)
}

func (g *guard) Load(s *rl.State) error {
	if err := g.Groups.Load(s); err != nil {
		return err
	}
	for i, obs := range g.Groups.Obs() {
		g.kinds[i].last = obs
	}
	return nil
}

// Close lets the scope close what stands behind the guard.
func (g *guard) Close() error { return Close(g.Groups) }

// SaveWeights puts what an agent needs of the environments it was trained in.
func (g *guard) SaveWeights(s *rl.State) {
	if w, ok := Find[rl.Weighted](g.Groups); ok {
		w.SaveWeights(s)
	}
}

// LoadWeights restores the saved statistics.
func (g *guard) LoadWeights(s *rl.State) error {
	if w, ok := Find[rl.Weighted](g.Groups); ok {
		return w.LoadWeights(s)
	}
	return nil
}
