package envtest

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

type check struct {
	name string
	run  func(*kit) error
}

// checks are in the order in which a reader wants to hear of them: a later one
// rests on the earlier ones.
var checks = []check{
	{"spec", checkSpec},
	{"steps", checkSteps},
	{"memory", checkMemory},
	{"obs", checkObs},
	{"first", checkFirst},
	{"final", checkFinal},
	{"ends", checkEnds},
	{"agents", checkAgents},
	{"limit", checkLimit},
	{"masks", checkMasks},
	{"deterministic", checkDeterministic},
	{"random", checkRandom},
	{"batch", checkBatch},
	{"shard", checkShard},
	{"snapshot", checkSnapshot},
}

// checkSpec: what the environment says of itself is complete and stays true.
func checkSpec(k *kit) error {
	s := k.scope(seed)
	b, err := k.open(s, k.envs)
	if err != nil {
		return err
	}
	specs := b.Spec()
	spec := specs[0]
	if spec.ID != k.entry.ID {
		return fmt.Errorf("entry %q makes environments called %q", k.entry.ID, spec.ID)
	}
	if spec.Envs != k.envs || spec.First != 0 || spec.Rows != k.envs {
		return fmt.Errorf("opened %d environments: the spec says Envs %d, Rows %d, First %d", k.envs, spec.Envs, spec.Rows, spec.First)
	}
	if k.entry.Doc == "" {
		return errors.New("its entry has no line of documentation")
	}
	if k.entry.Options != nil {
		if o := reflect.TypeOf(k.entry.Options()); o == nil || o.Kind() != reflect.Pointer || o.Elem().Kind() != reflect.Struct {
			return fmt.Errorf("its options are a %v, want a pointer to a struct", o)
		}
	}
	if b.Axis() != rl.Envs {
		return fmt.Errorf("its state is split along %s, want %s", b.Axis(), rl.Envs)
	}
	specs = slices.Clone(specs)
	b.Step(env.SampleGroups(s, specs, b.Obs(), draws))
	if now := b.Spec(); !reflect.DeepEqual(now, specs) {
		return fmt.Errorf("its spec changed from %+v to %+v", specs, now)
	}
	return nil
}

// checkSteps: values, shapes and types are those of the spaces. The guard that
// env.Open puts around every environment does the looking.
func checkSteps(k *kit) error {
	_, err := k.whole()
	return err
}

// checkMemory: an observation, once returned, does not change.
func checkMemory(k *kit) error {
	s := k.scope(seed)
	b, err := k.open(s, k.block)
	if err != nil {
		return err
	}
	var held [][]rl.Obs
	var copies []table
	keep := func(o []rl.Obs) { held, copies = append(held, o), append(copies, tableOf(o)) }
	keep(b.Obs())
	for t := range k.steps {
		out := b.Step(env.SampleGroups(s, b.Spec(), b.Obs(), draws.Fold(uint64(t))))
		final := make([]rl.Obs, len(out))
		for i, x := range out {
			final[i] = x.Final
		}
		keep(next(out))
		keep(final)
	}
	for i, o := range held {
		if err := copies[i].same(tableOf(o)); err != nil {
			return fmt.Errorf("an observation of step %d was written to later: %w", (i+1)/2, err)
		}
	}
	return nil
}

// checkObs: Obs is the observation that the last step returned, however often it
// is asked for.
func checkObs(k *kit) error {
	s := k.scope(seed)
	b, err := k.open(s, k.block)
	if err != nil {
		return err
	}
	last := tableOf(b.Obs())
	for t := range k.steps {
		for range 2 {
			if err := last.same(tableOf(b.Obs())); err != nil {
				return fmt.Errorf("after step %d, Obs is not what the step returned: %w", t, err)
			}
		}
		last = tableOf(next(b.Step(env.SampleGroups(s, b.Spec(), b.Obs(), draws.Fold(uint64(t))))))
	}
	return nil
}

// checkFirst: First marks the observations that begin an episode, and no others.
func checkFirst(k *kit) error {
	t, err := k.whole()
	if err != nil {
		return err
	}
	for i, first := range t.first {
		if !first {
			return fmt.Errorf("environment %d: First is false before the first step", i)
		}
	}
	return t.each(func(_, i, _ int, m moment) error {
		if m.first[i] != m.over[i] {
			return fmt.Errorf("after a step whose Over is %v, First is %v", m.over[i], m.first[i])
		}
		return nil
	})
}

// checkFinal: a step that ends an episode returns that episode's last
// observation as Final and the next one's first as Obs; any other returns the
// same as both. The two may be alike by chance, but not always.
func checkFinal(k *kit) error {
	t, err := k.whole()
	if err != nil {
		return err
	}
	ends, alike := 0, 0
	err = t.each(func(_, i, _ int, m moment) error {
		name := m.final.differ(i, m.obs, i)
		if name != "" && !m.over[i] {
			return fmt.Errorf("%s of Final is not Obs's though the episode goes on", name)
		}
		if m.over[i] {
			ends++
			if m.final.seen(i, m.obs, i) {
				alike++
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case ends == 0 && !k.endless:
		return errNoEnd
	case ends > 0 && alike == ends:
		return fmt.Errorf("at all %d ends of episodes Final was Obs: it must be the last observation before the reset", ends)
	}
	return nil
}

// checkEnds: Over is termination or truncation, and these are told apart.
func checkEnds(k *kit) error {
	t, err := k.whole()
	if err != nil {
		return err
	}
	ends, both := 0, 0
	err = t.each(func(_, i, _ int, m moment) error {
		if m.over[i] && !m.terminated[i] && !m.truncated[i] {
			return errors.New("it is Over without being Terminated or Truncated")
		}
		if m.over[i] {
			ends++
			if m.both(i) {
				both++
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case ends == 0 && !k.endless:
		return errNoEnd
	case ends > 0 && both == ends:
		return fmt.Errorf("all %d episodes were both Terminated and Truncated: a time limit is no termination", ends)
	}
	return nil
}

// checkAgents: an episode ends for all of its agents; before that, only those who
// may be out of play can have ended theirs, and they are done as long as they are
// out of it.
func checkAgents(k *kit) error {
	t, err := k.whole()
	if err != nil {
		return err
	}
	return t.each(func(_, i, _ int, m moment) error {
		for j, spec := range t.specs {
			n := max(1, spec.Agents)
			for a := i * n; a < (i+1)*n; a++ {
				if err := m.agents[j].check(a, m.over[i], spec.Mortal); err != nil {
					return fmt.Errorf("%s %d: %w", cmp.Or(spec.Kind, "agent"), a%n, err)
				}
			}
		}
		return nil
	})
}

// check returns what is wrong with the flags of agent i of the batch.
func (a agents) check(i int, over, mortal bool) error {
	switch {
	case over && !a.done(i):
		return errors.New("the episode is Over, and the agent neither Terminated nor Truncated")
	case over:
		return nil
	case a.done(i) && !mortal:
		return errors.New("it is Terminated or Truncated without the episode being Over: if agents may be out of play before, set Mortal")
	case mortal && !a.alive[i] && !a.done(i):
		return errors.New("it is out of play, and neither Terminated nor Truncated")
	}
	return nil
}

// checkLimit: with a limit, an episode is truncated there and nowhere else.
func checkLimit(k *kit) error {
	t, err := k.whole()
	if err != nil || t.spec().Limit == 0 {
		return err
	}
	limit := t.spec().Limit
	return t.each(func(_, i, age int, m moment) error {
		switch {
		case m.truncated[i] && age < limit:
			return fmt.Errorf("truncated after %d steps, its limit is %d", age, limit)
		case age >= limit && !m.over[i]:
			return fmt.Errorf("goes on after %d steps, its limit is %d", age, limit)
		case age >= limit && !m.terminated[i] && !m.truncated[i]:
			return fmt.Errorf("not truncated at its limit of %d steps", limit)
		}
		return nil
	})
}

// checkMasks: a masked environment has a mask that allows something; another has
// none. Open's guard checks the rest.
func checkMasks(k *kit) error {
	s := k.scope(seed)
	b, err := k.open(s, k.envs)
	if err != nil {
		return err
	}
	for i, obs := range b.Obs() {
		if spec := b.Spec()[i]; obs.Legal.Len() > 0 != spec.Masked {
			return fmt.Errorf("its spec says Masked is %v, its observations have %d masks", spec.Masked, obs.Legal.Len())
		}
	}
	_, err = k.whole()
	return err
}
