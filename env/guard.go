package env

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/weft-rl/weft/rl"
)

// guard is a Batch that checks another one at every step, and counts.
type guard struct {
	Batch
	scope *rl.Scope
	spec  Spec
	rows  []leafCheck // of observations
	acts  []leafCheck
	masks []leafCheck
	last  rl.Obs
}

// leafCheck is what a leaf of a tree must be.
type leafCheck struct {
	name   string
	space  rl.Space // nil: no bounds
	bounds rl.Bounds
	shape  shapes.Shape
	float  bool
}

// label names the leaf in a message.
func (w leafCheck) label(what string) string {
	if w.name == "" {
		return what
	}
	return fmt.Sprintf("%s %q", what, w.name)
}

func newGuard(s *rl.Scope, b Batch) (*guard, error) {
	spec := b.Spec()
	if err := spec.Check(); err != nil {
		return nil, err
	}
	g := &guard{Batch: b, scope: s, spec: spec, rows: checks(spec, spec.Obs), acts: checks(spec, spec.Action)}
	if spec.Masked {
		for _, l := range spec.Action.Leaves() {
			if n := rl.Choices(l.Space); n > 0 {
				g.masks = append(g.masks, leafCheck{name: l.Name, shape: batched(spec, shapes.Make(dtypes.Bool, n))})
			}
		}
	}
	return g, nil
}

func checks(spec Spec, s rl.Space) (out []leafCheck) {
	for _, l := range s.Leaves() {
		out = append(out, leafCheck{l.Name, l.Space, rl.NewBounds(l.Space), batched(spec, l.Space.Shape()), l.Space.Shape().DType.IsFloat()})
	}
	return out
}

// batched is the shape of all environments' values.
func batched(spec Spec, one shapes.Shape) shapes.Shape {
	dims := []int{spec.Rows}
	if spec.Agents > 1 {
		dims = append(dims, spec.Agents)
	}
	return shapes.Make(one.DType, append(dims, one.Dimensions...)...)
}

func (g *guard) Obs() rl.Obs {
	obs := g.Batch.Obs()
	if g.scope.Lowering() != nil {
		return obs
	}
	if !g.last.First.Ok() {
		g.checkObs("observation", obs)
		g.checkActable(obs)
		g.last = obs
	}
	return obs
}

func (g *guard) Step(action rl.Tree) rl.Step {
	g.Obs()
	if l := g.scope.Lowering(); l != nil {
		return g.lowered(l, action)
	}
	g.checkAction(action)
	out := g.Batch.Step(action)
	g.scope.AddSteps(g.spec.Envs)
	g.checkObs("observation", out.Obs)
	g.checkActable(out.Obs)
	g.checkReused(out.Obs)
	g.checkObs("final observation", out.Final)
	g.checkFlags(out)
	g.last = out.Obs
	g.scope.Episodes().Record(g.spec.First, g.scope.Steps(), g.returns(out.Reward), rl.Read[bool](out.Over))
	return out
}

// lowered is Step inside a device program, which looks at numbers only: shapes are
// the graph's affair, and actions and observations lie in their spaces or the plain
// loop would have said so.
func (g *guard) lowered(l *rl.Lowering, action rl.Tree) rl.Step {
	out := g.Batch.Step(action)
	l.Stepped(g.spec.First, g.spec.Envs, out.Reward, out.Over)
	l.Finite("what environment "+g.spec.ID+" returned", append(rl.Leaves(out.Final.X), out.Reward))
	return out
}

// Resident is the environments' state, if a device program can hold it.
func (g *guard) Resident() []rl.Carried {
	r, ok := g.Batch.(rl.Resident)
	if !ok {
		rl.Failf("environment %s runs on the host: only an environment that is a graph function can be part of a device program", g.spec.ID)
	}
	return r.Resident()
}

// broken stops the run with what is wrong, where and when.
func (g *guard) broken(format string, args ...any) {
	rl.Failf("step %d: environment %s: %s", g.scope.Steps(), g.spec.ID, fmt.Sprintf(format, args...))
}

func (g *guard) checkObs(what string, o rl.Obs) {
	g.checkTree(what, o.X, g.rows)
	if g.spec.Masked {
		g.checkTree("mask of legal actions", o.Legal, g.masks)
	}
}

// checkActable finds an observation that no agent can act on. A final one may be
// like that: when a game is over there is no legal move.
func (g *guard) checkActable(o rl.Obs) {
	if want := shapes.Make(dtypes.Bool, g.spec.Rows); !o.First.Shape().Equal(want) {
		g.broken("first has shape %s, want %s", o.First.Shape(), want)
	}
	for j, m := range g.masks {
		groups, _ := options(spaceOf(g.spec.Action, m.name))
		legal, values := rl.Read[bool](o.Legal.At(j)), g.spec.Rows*max(1, g.spec.Agents)
		for i := range values * len(groups) {
			n := groups[i%len(groups)]
			if !slices.Contains(legal[:n], true) {
				g.broken("%s of environment %d allows none",
					m.label("mask of legal actions"), g.spec.First+i/len(groups)/max(1, g.spec.Agents))
			}
			legal = legal[n:]
		}
	}
}

// checkTree compares a tree with what its leaves must be.
func (g *guard) checkTree(what string, t rl.Tree, want []leafCheck) {
	if t.Len() != len(want) {
		g.broken("%s has %d leaves, its space has %d", what, t.Len(), len(want))
	}
	for i, w := range want {
		x, label := t.At(i), w.label(what)
		if t.Names()[i] != w.name {
			g.broken("leaf %d of the %s is called %q, its space calls it %q", i, what, t.Names()[i], w.name)
		}
		if !x.Shape().Equal(w.shape) {
			g.broken("%s has shape %s, its space says %s", label, x.Shape(), w.shape)
		}
		g.checkRange(label, x, w)
	}
}

func (g *guard) checkRange(label string, x rl.Tensor, w leafCheck) {
	if w.float {
		if i, v, bad := rl.NotFinite(x); bad {
			size := x.Shape().Size() / x.Rows()
			g.broken("%s of environment %d is %v (element %d)", label, g.spec.First+i/size, v, i%size)
		}
	}
	if w.space == nil {
		return
	}
	if row, at, v, bad := w.bounds.Outside(x); bad {
		if g.spec.Agents > 1 {
			row /= g.spec.Agents
		}
		g.broken("%s of environment %d is %v (element %d), outside %s", label, g.spec.First+row, v, at, w.space)
	}
}

// checkReused finds an environment that writes into the observation it returned
// before: the loop may still hold that.
func (g *guard) checkReused(o rl.Obs) {
	for i := range o.X.Len() {
		if rl.SameMemory(o.X.At(i), g.last.X.At(i)) {
			g.broken("observation is the memory of the one before: return a fresh tensor every step")
		}
	}
}

func (g *guard) checkFlags(out rl.Step) {
	flags := shapes.Make(dtypes.Bool, g.spec.Rows)
	agents := flags
	if g.spec.Agents > 1 {
		agents = shapes.Make(dtypes.Bool, g.spec.Rows, g.spec.Agents)
	}
	for _, f := range []struct {
		name string
		t    rl.Tensor
		want shapes.Shape
	}{
		{"terminated", out.Terminated, agents}, {"truncated", out.Truncated, agents}, {"over", out.Over, flags},
		{"reward", out.Reward, shapes.Make(dtypes.Float32, agents.Dimensions...)},
	} {
		if !f.t.Shape().Equal(f.want) {
			g.broken("%s has shape %s, want %s", f.name, f.t.Shape(), f.want)
		}
	}
	if i, v, bad := rl.NotFinite(out.Reward); bad {
		g.broken("reward of environment %d is %v", g.spec.First+i/max(1, g.spec.Agents), v)
	}
}

// checkAction finds an action that is not in the space, or not legal, before the
// environment sees it.
func (g *guard) checkAction(a rl.Tree) {
	g.checkTree("action", a, g.acts)
	for j, m := range g.masks {
		legal := rl.Read[bool](g.last.Legal.At(j))
		g.checkLegal(m, legal, a.Leaf(m.name))
	}
}

func (g *guard) checkLegal(m leafCheck, legal []bool, action rl.Tensor) {
	groups, start := options(spaceOf(g.spec.Action, m.name))
	at := 0
	for i, x := range rl.Read[int32](action) {
		n := groups[i%len(groups)]
		if !legal[at+int(x)-start] {
			g.broken("%s of environment %d is %d (element %d), illegal by its mask",
				m.label("action"), g.spec.First+i/len(groups)/max(1, g.spec.Agents), x, i%len(groups))
		}
		at += n
	}
}

func spaceOf(s rl.Space, name string) rl.Space {
	for _, l := range s.Leaves() {
		if l.Name == name {
			return l.Space
		}
	}
	return nil
}

// returns is the reward of each environment, summed over its agents.
func (g *guard) returns(reward rl.Tensor) []float64 {
	x := rl.Floats(reward)
	n := max(1, g.spec.Agents)
	if n == 1 {
		return x
	}
	out := make([]float64, g.spec.Rows)
	for i, r := range x {
		out[i/n] += r
	}
	return out
}

func (g *guard) Load(s *rl.State) error {
	if err := g.Batch.Load(s); err != nil {
		return err
	}
	g.last = g.Batch.Obs()
	return nil
}
