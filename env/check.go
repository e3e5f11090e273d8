package env

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/weft-rl/weft/rl"
)

// kindGuard holds what agents of one kind see, do and get against their spec.
type kindGuard struct {
	scope *rl.Scope
	spec  Spec
	obs   []leafCheck
	acts  []leafCheck
	masks []leafCheck
	last  rl.Obs
}

// leafCheck holds the conditions on a leaf of a tree.
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

func newKindGuard(s *rl.Scope, spec Spec) *kindGuard {
	g := &kindGuard{scope: s, spec: spec, obs: checks(spec, spec.Obs), acts: checks(spec, spec.Action)}
	if spec.Masked {
		for _, l := range spec.Action.Leaves() {
			if n := rl.Choices(l.Space); n > 0 {
				g.masks = append(g.masks, leafCheck{name: l.Name, shape: batched(spec, shapes.Make(dtypes.Bool, n))})
			}
		}
	}
	return g
}

func checks(spec Spec, s rl.Space) (out []leafCheck) {
	for _, l := range s.Leaves() {
		out = append(out, leafCheck{l.Name, l.Space, rl.NewBounds(l.Space), batched(spec, l.Space.Shape()), l.Space.Shape().DType.IsFloat()})
	}
	return out
}

// batched returns the shape of all agents' values.
func batched(spec Spec, one shapes.Shape) shapes.Shape {
	dims := []int{spec.Rows}
	if spec.Agents > 1 {
		dims = append(dims, spec.Agents)
	}
	return shapes.Make(one.DType, append(dims, one.Dimensions...)...)
}

// begin checks the first observation.
func (g *kindGuard) begin(o rl.Obs) {
	g.checkObs("observation", o)
	g.checkActable(o)
	g.last = o
}

// check holds a step against the spec and the observation before it.
func (g *kindGuard) check(out rl.Step) {
	g.checkObs("observation", out.Obs)
	g.checkActable(out.Obs)
	g.checkReused(out.Obs)
	g.checkObs("final observation", out.Final)
	g.checkFlags(out)
	g.checkDead(out.Reward)
	g.last = out.Obs
}

// broken stops the run with what is wrong, where and when.
func (g *kindGuard) broken(format string, args ...any) {
	err := inKind(g.spec, fmt.Errorf(format, args...))
	rl.Failf("step %d: environment %s: %w", g.scope.Steps(), g.spec.ID, err)
}

// env returns the global environment of value i of a batch with n values for each
// agent.
func (g *kindGuard) env(i, n int) int { return g.spec.First + i/n/g.spec.agents() }

func (g *kindGuard) checkObs(what string, o rl.Obs) {
	g.checkTree(what, o.X, g.obs)
	if g.spec.Masked {
		g.checkTree("mask of legal actions", o.Legal, g.masks)
	}
	g.checkShape("alive", what, o.Alive, g.spec.Mortal, batched(g.spec, shapes.Make(dtypes.Bool)))
	g.checkShape("turn", what, o.Turn, g.spec.Turns, batched(g.spec, shapes.Make(dtypes.Bool)))
	g.checkShape("state", what, o.State, g.spec.State > 0, shapes.Make(dtypes.Float32, g.spec.Rows, g.spec.State))
	if o.State.Ok() {
		if i, v, bad := rl.NotFinite(o.State); bad {
			g.broken("state of environment %d is %v (element %d)", g.spec.First+i/g.spec.State, v, i%g.spec.State)
		}
	}
}

// checkShape finds a tensor that is there though its spec does not say so, or the
// other way round, or that has another shape.
func (g *kindGuard) checkShape(part, of string, t rl.Tensor, there bool, want shapes.Shape) {
	switch {
	case !there && t.Ok():
		g.broken("%s of the %s has shape %s, its spec says that there is none", part, of, t.Shape())
	case there && !t.Shape().Equal(want):
		g.broken("%s of the %s has shape %s, want %s", part, of, t.Shape(), want)
	}
}

// checkActable finds an observation that no agent can act on. A final one may be
// like that: when a game is over there is no legal move.
func (g *kindGuard) checkActable(o rl.Obs) {
	if want := shapes.Make(dtypes.Bool, g.spec.Rows); !o.First.Shape().Equal(want) {
		g.broken("first has shape %s, want %s", o.First.Shape(), want)
	}
	alive := g.alive(o)
	for j, m := range g.masks {
		groups, _ := options(spaceOf(g.spec.Action, m.name))
		legal := rl.Read[bool](o.Legal.At(j))
		for i := range g.spec.Rows * g.spec.agents() * len(groups) {
			n := groups[i%len(groups)]
			if alive(i/len(groups)) && !slices.Contains(legal[:n], true) {
				g.broken("%s of environment %d allows none", m.label("mask of legal actions"), g.env(i, len(groups)))
			}
			legal = legal[n:]
		}
	}
}

// alive tells which agents of a batch, in row-major order, are in play.
func (g *kindGuard) alive(o rl.Obs) func(i int) bool {
	if !g.spec.Mortal {
		return func(int) bool { return true }
	}
	in := rl.Read[bool](o.Alive)
	return func(i int) bool { return in[i] }
}

// checkTree compares a tree with what its leaves must be.
func (g *kindGuard) checkTree(what string, t rl.Tree, want []leafCheck) {
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

func (g *kindGuard) checkRange(label string, x rl.Tensor, w leafCheck) {
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
		g.broken("%s of environment %d is %v (element %d), outside %s", label, g.env(row, 1), v, at, w.space)
	}
}

// checkReused finds an environment that writes into the observation it returned
// before: the loop may still hold that.
func (g *kindGuard) checkReused(o rl.Obs) {
	for i := range o.X.Len() {
		if rl.SameMemory(o.X.At(i), g.last.X.At(i)) {
			g.broken("observation is the memory of the one before: return a fresh tensor every step")
		}
	}
}

func (g *kindGuard) checkFlags(out rl.Step) {
	agents := batched(g.spec, shapes.Make(dtypes.Bool))
	for _, f := range []struct {
		name string
		t    rl.Tensor
		want shapes.Shape
	}{
		{"terminated", out.Terminated, agents}, {"truncated", out.Truncated, agents},
		{"over", out.Over, shapes.Make(dtypes.Bool, g.spec.Rows)},
		{"reward", out.Reward, shapes.Make(dtypes.Float32, agents.Dimensions...)},
	} {
		if !f.t.Shape().Equal(f.want) {
			g.broken("%s has shape %s, want %s", f.name, f.t.Shape(), f.want)
		}
	}
	if i, v, bad := rl.NotFinite(out.Reward); bad {
		g.broken("reward of environment %d is %v", g.env(i, 1), v)
	}
}

// checkDead finds rewards of agents that were not in play.
func (g *kindGuard) checkDead(reward rl.Tensor) {
	if !g.spec.Mortal {
		return
	}
	alive := g.alive(g.last)
	for i, r := range rl.Read[float32](reward) {
		if r != 0 && !alive(i) {
			g.broken("agent %d of environment %d is out of play and gets a reward of %v", i%g.spec.agents(), g.env(i, 1), r)
		}
	}
}

// checkAction finds an action that is not in the space, or not legal, before the
// environment sees it.
func (g *kindGuard) checkAction(a rl.Tree) {
	g.checkTree("action", a, g.acts)
	for j, m := range g.masks {
		legal := rl.Read[bool](g.last.Legal.At(j))
		g.checkLegal(m, legal, a.Leaf(m.name))
	}
}

func (g *kindGuard) checkLegal(m leafCheck, legal []bool, action rl.Tensor) {
	groups, start := options(spaceOf(g.spec.Action, m.name))
	alive := g.alive(g.last)
	at := 0
	for i, x := range rl.Read[int32](action) {
		n := groups[i%len(groups)]
		if !legal[at+int(x)-start] && alive(i/len(groups)) {
			g.broken("%s of environment %d is %d (element %d), illegal by its mask",
				m.label("action"), g.env(i, len(groups)), x, i%len(groups))
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

// counted returns the part of rewards that returns are made of.
func (g *kindGuard) counted(reward rl.Tensor) rl.Tensor {
	if g.spec.ZeroSum && g.spec.Agents > 1 {
		return rl.Column(reward, 0)
	}
	return reward
}

// rewards returns the reward of each environment, summed over its agents.
func (g *kindGuard) rewards(reward rl.Tensor) []float64 {
	x := rl.Floats(g.counted(reward))
	n := g.spec.agents()
	if len(x) == g.spec.Rows {
		return x
	}
	out := make([]float64, g.spec.Rows)
	for i, r := range x {
		out[i/n] += r
	}
	return out
}
