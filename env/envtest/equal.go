package envtest

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// The checks of this file compare rollouts that must agree bit for bit.

// few returns how many environments and steps are enough where one wrong bit is
// looked for.
func (k *kit) few() (envs, steps int) { return 5 * k.block, min(k.steps, 100) }

// checkDeterministic: the same seed and actions give the same bits.
func checkDeterministic(k *kit) error {
	a, err := k.whole()
	if err != nil {
		return err
	}
	b, err := k.roll(k.scope(seed), k.envs, k.steps)
	if err != nil {
		return err
	}
	if err := compare(a, b, 0); err != nil {
		return fmt.Errorf("two runs with the same seed differ: %w", err)
	}
	return nil
}

// checkRandom: another seed gives other numbers, and so does another environment
// and another episode of the same.
func checkRandom(k *kit) error {
	a, err := k.whole()
	if err != nil {
		return err
	}
	b, err := k.roll(k.scope(seed+1), k.envs, k.steps)
	if err != nil {
		return err
	}
	differ := compare(a, b, 0) != nil
	switch {
	case k.fixed && differ:
		return errors.New("its results depend on the seed, although envtest.Deterministic says they do not")
	case k.fixed:
		return nil
	case !differ:
		return errors.New("another seed gives the same numbers: if it draws none, say envtest.Deterministic")
	case a.start.same(b.start) == nil:
		return nil // episodes begin alike; only steps are random
	}
	if alike(a.start) {
		return errors.New("all environments begin alike: draw by row of the batch, or by the key of the environment")
	}
	return a.renewed()
}

// alike reports whether all rows of t are the same.
func alike(t table) bool {
	for i := 1; i < t.rows; i++ {
		if t.differ(0, t, i) != "" {
			return false
		}
	}
	return true
}

// renewed finds environments whose episodes all begin alike.
func (t *trace) renewed() error {
	again, alike := 0, 0
	_ = t.each(func(_, i, _ int, m moment) error {
		if m.over[i] {
			if again++; t.start.differ(i, m.obs, i) == "" {
				alike++
			}
		}
		return nil
	})
	if again > 0 && alike == again {
		return fmt.Errorf("all %d later episodes begin like the first of their environment", again)
	}
	return nil
}

// checkBatch: an environment does the same in a batch of any size.
func checkBatch(k *kit) error {
	all, err := k.whole()
	if err != nil {
		return err
	}
	_, steps := k.few()
	for _, n := range []int{1, 3, 7} {
		part, err := k.roll(k.scope(seed), n*k.block, steps)
		if err != nil {
			return err
		}
		if err := compare(all, part, 0); err != nil {
			return fmt.Errorf("%d environments instead of %d: %w", n*k.block, k.envs, err)
		}
	}
	return nil
}

// checkShard: an environment does the same on whichever replica it is.
func checkShard(k *kit) error {
	all, err := k.whole()
	if err != nil {
		return err
	}
	_, steps := k.few()
	for _, x := range []struct{ r, of int }{{1, 2}, {0, 7}, {6, 7}, {8, 16}, {49, 50}} {
		part, err := k.roll(k.owned(k.scope(seed).Shard(x.r, x.of)), k.envs, steps)
		if err != nil {
			return err
		}
		if err := k.checkShare(part.spec(), x.r, x.of); err != nil {
			return err
		}
		if err := compare(all, part, part.spec().First); err != nil {
			return fmt.Errorf("shard %d of %d: %w", x.r, x.of, err)
		}
	}
	return nil
}

// checkShare: the spec of a shard says which environments it has.
func (k *kit) checkShare(spec env.Spec, r, of int) error {
	lo, hi := k.scope(seed).Shard(r, of).Own(k.envs, k.block)
	if spec.Envs != k.envs || spec.First != lo || spec.Rows != hi-lo {
		return fmt.Errorf("shard %d of %d has environments %d to %d of %d, its spec says %d from %d of %d",
			r, of, lo, hi-1, k.envs, spec.Rows, spec.First, spec.Envs)
	}
	return nil
}

// checkSnapshot: what was saved goes on as the original does; an environment
// that cannot be saved says so.
func checkSnapshot(k *kit) error {
	envs, steps := k.few()
	s := k.scope(seed)
	b, err := k.open(s, envs)
	if err != nil {
		return err
	}
	rollout(s, b, 0, steps)
	state := rl.NewState(s)
	saved := rl.Catch(func() error { s.Save(state); return nil })
	if !b.Spec()[0].Exact {
		if !errors.Is(saved, env.ErrNoSnapshot) {
			return fmt.Errorf("its spec says it is not Exact, yet saving it gave %v, want ErrNoSnapshot", saved)
		}
		return nil
	}
	if saved != nil {
		return saved
	}
	rest := rollout(s, b, steps, steps)

	again := k.scope(seed)
	c, err := k.open(again, envs)
	if err != nil {
		return err
	}
	rollout(again, c, 0, steps/3) // what it did before must not matter
	if err := again.Load(reread(again, state)); err != nil {
		return err
	}
	if err := compare(rest, rollout(again, c, steps, steps), 0); err != nil {
		return fmt.Errorf("after loading its state: %w", err)
	}
	return nil
}

// reread returns a state as it comes back from a file: its arrays and nothing else.
func reread(s *rl.Scope, from *rl.State) *rl.State {
	out := rl.NewState(s)
	for _, a := range from.Arrays() {
		out.Add(a)
	}
	return out
}
