package envtest

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// table is a digest of tensors, by row: enough to tell whether two are the
// same bits, and small even where observations are images.
type table struct {
	names []string
	rows  int
	sums  [][]uint64 // checksums of each tensor, by row
}

func tableOf[T any](v T) table {
	var out table
	names := rl.LeafNames(v)
	for i, t := range rl.Leaves(v) {
		if t.Ok() {
			name := names[i]
			if name == "" {
				name = "value" // "" is no difference
			}
			out.names, out.rows = append(out.names, name), t.Rows()
			out.sums = append(out.sums, sums(rl.Floats(t), t.Rows()))
		}
	}
	return out
}

// sums returns a hash of each row. Rows that differ in one number never collide: every
// round is a bijection. Numbers of every type here are exact as float64.
func sums(x []float64, rows int) []uint64 {
	out := make([]uint64, rows)
	n := len(x) / rows
	for i := range out {
		h := uint64(n)
		for _, v := range x[i*n : (i+1)*n] {
			h = (bits.RotateLeft64(h, 29) ^ math.Float64bits(v)) * 0x9E3779B97F4A7C15
		}
		out[i] = h
	}
	return out
}

// differ finds where environment a of t and b of u are not the same bits: the
// name of a tensor, or "".
func (t table) differ(a int, u table, b int) string {
	if len(t.names) != len(u.names) {
		return "number of tensors"
	}
	for i, name := range t.names {
		if u.names[i] != name || t.sums[i][a] != u.sums[i][b] {
			return name
		}
	}
	return ""
}

// seen compares as differ does, but for First: it reports whether agents see the same.
func (t table) seen(a int, u table, b int) bool {
	for i, name := range t.names {
		if !strings.HasSuffix(name, "First") && t.sums[i][a] != u.sums[i][b] {
			return false
		}
	}
	return true
}

// same returns differ over all environments of two equal batches.
func (t table) same(u table) error {
	if t.rows != u.rows {
		return fmt.Errorf("%d environments and %d", t.rows, u.rows)
	}
	for i := range t.rows {
		if name := t.differ(i, u, i); name != "" {
			return fmt.Errorf("%s of environment %d differs", name, i)
		}
	}
	return nil
}

// moment is one step of a rollout. Flags are by environment: of agents', whether
// any is set.
type moment struct {
	obs, final, act table
	reward          table
	first           []bool // first steps among obs
	terminated      []bool
	truncated       []bool
	over            []bool
	agents          []agents // agents, by kind
}

// agents are the flags of all agents of a kind, in row-major order.
type agents struct {
	terminated, truncated []bool
	alive                 []bool // whether each is in play afterwards; nil where they always are
}

func (a agents) done(i int) bool { return a.terminated[i] || a.truncated[i] }

// both reports whether all agents of environment i are both terminated and
// truncated.
func (m moment) both(i int) bool {
	for _, a := range m.agents {
		n := len(a.terminated) / len(m.over)
		for j := i * n; j < (i+1)*n; j++ {
			if !a.terminated[j] || !a.truncated[j] {
				return false
			}
		}
	}
	return true
}

// trace is a rollout of random legal actions.
type trace struct {
	specs []env.Spec
	start table
	first []bool // first steps among start
	steps []moment
}

// spec returns what all kinds of agents share.
func (t *trace) spec() env.Spec { return t.specs[0] }

// roll opens n environments in s and makes a rollout of them.
func (k *kit) roll(s *rl.Scope, n, steps int) (*trace, error) {
	b, err := k.open(s, n)
	if err != nil {
		return nil, err
	}
	return rollout(s, b, 0, steps), nil
}

// rollout returns steps of a batch that has taken some already; their number is part
// of the actions' keys.
func rollout(s *rl.Scope, g env.Groups, taken, steps int) *trace {
	specs, obs := g.Spec(), g.Obs()
	out := &trace{specs: specs, start: tableOf(obs), first: slices.Clone(rl.Read[bool](obs[0].First))}
	for t := range steps {
		act := env.SampleGroups(s, specs, obs, draws.Fold(uint64(taken+t)))
		x := g.Step(act)
		obs = next(x)
		m := momentOf(specs, x)
		m.act = tableOf(act)
		out.steps = append(out.steps, m)
	}
	return out
}

// next returns what all kinds of agents are to act on after a step.
func next(x []rl.Step) []rl.Obs {
	out := make([]rl.Obs, len(x))
	for i := range x {
		out[i] = x[i].Obs
	}
	return out
}

func momentOf(specs []env.Spec, x []rl.Step) moment {
	rows := specs[0].Rows
	final, reward := make([]rl.Obs, len(x)), make([]rl.Tensor, len(x))
	m := moment{terminated: make([]bool, rows), truncated: make([]bool, rows)}
	for i, s := range x {
		final[i], reward[i] = s.Final, s.Reward
		mark(m.terminated, s.Terminated)
		mark(m.truncated, s.Truncated)
		a := agents{terminated: slices.Clone(rl.Read[bool](s.Terminated)), truncated: slices.Clone(rl.Read[bool](s.Truncated))}
		if s.Obs.Alive.Ok() {
			a.alive = slices.Clone(rl.Read[bool](s.Obs.Alive))
		}
		m.agents = append(m.agents, a)
	}
	m.obs, m.final, m.reward = tableOf(next(x)), tableOf(final), tableOf(reward)
	m.first, m.over = slices.Clone(rl.Read[bool](x[0].Obs.First)), slices.Clone(rl.Read[bool](x[0].Over))
	return m
}

// mark sets the flag of every environment of which any agent's is set.
func mark(out []bool, t rl.Tensor) {
	all := rl.Read[bool](t)
	for i, x := range all {
		at := i * len(out) / len(all)
		out[at] = out[at] || x
	}
}

// whole returns the plain rollout, made once.
func (k *kit) whole() (*trace, error) {
	if k.plain == nil {
		t, err := k.roll(k.scope(seed), k.envs, k.steps)
		if err != nil {
			return nil, err
		}
		k.plain = t
	}
	return k.plain, nil
}

// compare finds the first difference of two rollouts, where row i of u is row
// i+shift of t.
func compare(t, u *trace, shift int) error {
	for i := range u.start.rows {
		if name := u.start.differ(i, t.start, i+shift); name != "" {
			return fmt.Errorf("first observation: %s of environment %d differs", name, i+shift)
		}
	}
	for s := range min(len(t.steps), len(u.steps)) {
		for i := range u.start.rows {
			if name := u.steps[s].differ(i, t.steps[s], i+shift); name != "" {
				return fmt.Errorf("step %d: %s of environment %d differs", s+1, name, i+shift)
			}
		}
	}
	return nil
}

func (m moment) differ(a int, n moment, b int) string {
	for _, x := range []struct {
		name string
		a, b table
	}{{"action", m.act, n.act}, {"observation", m.obs, n.obs}, {"final observation", m.final, n.final}, {"reward", m.reward, n.reward}} {
		if name := x.a.differ(a, x.b, b); name != "" {
			return x.name + " " + name
		}
	}
	if m.terminated[a] != n.terminated[b] || m.truncated[a] != n.truncated[b] || m.over[a] != n.over[b] {
		return "end of episode"
	}
	return ""
}

var errNoEnd = errors.New("no episode ended: ask for more steps with envtest.Steps, or say envtest.Endless")

// each calls f for every environment at every step, with the steps of its
// episode so far, this one included.
func (t *trace) each(f func(step, env, age int, m moment) error) error {
	age := make([]int, t.spec().Rows)
	for s, m := range t.steps {
		for i := range age {
			age[i]++
			if err := f(s+1, i, age[i], m); err != nil {
				return fmt.Errorf("step %d: environment %d: %w", s+1, i, err)
			}
			if m.over[i] {
				age[i] = 0
			}
		}
	}
	return nil
}
