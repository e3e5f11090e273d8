package envtest

import (
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// table is what some tensors hold, by row: enough to tell whether two are the
// same bits, and small even where observations are images.
type table struct {
	names []string
	rows  int
	sums  [][]uint64 // of each tensor, by row
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

// sums is a hash of each row. Rows that differ in one number never collide: every
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

// same is differ over all environments of two equal batches.
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

// moment is one step of a rollout.
type moment struct {
	obs, final, act table
	reward          table
	first           []bool // of obs
	terminated      []bool // any agent's
	truncated       []bool
	over            []bool
}

// trace is a rollout of random legal actions.
type trace struct {
	spec  env.Spec
	start table
	first []bool // of start
	steps []moment
}

// roll opens n environments in s and makes a rollout of them.
func (k *kit) roll(s *rl.Scope, n, steps int) (*trace, error) {
	b, err := k.open(s, n)
	if err != nil {
		return nil, err
	}
	return rollout(s, b, 0, steps), nil
}

// rollout is steps of a batch that has taken some already; their number is part
// of the actions' keys.
func rollout(s *rl.Scope, b env.Batch, taken, steps int) *trace {
	spec, obs := b.Spec(), b.Obs()
	out := &trace{spec: spec, start: tableOf(obs), first: flags(obs.First, spec)}
	for t := range steps {
		act := env.Sample(s, spec, obs, actions.Fold(uint64(taken+t)))
		x := b.Step(act)
		obs = x.Obs
		out.steps = append(out.steps, moment{
			obs: tableOf(obs), final: tableOf(x.Final), act: tableOf(act), reward: tableOf(x.Reward),
			first: flags(obs.First, spec), terminated: flags(x.Terminated, spec),
			truncated: flags(x.Truncated, spec), over: flags(x.Over, spec),
		})
	}
	return out
}

// flags are one for each environment: of agents', whether any is set.
func flags(t rl.Tensor, spec env.Spec) []bool {
	all := rl.Read[bool](t)
	out := make([]bool, spec.Rows)
	for i, x := range all {
		at := i * spec.Rows / len(all)
		out[at] = out[at] || x
	}
	return out
}

// whole is the plain rollout, made once.
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
	age := make([]int, t.spec.Rows)
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
