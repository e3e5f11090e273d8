package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

// Recording says how a run's policy is recorded.
type Recording struct {
	Weights Weights
	Greedy  bool
	Steps   int64 // least number of steps, unless Episodes are asked for
	// Episodes is a number of episodes to record from beginning to end. Every environment plays
	// an even share of them, so that short episodes are no more likely than long ones. 0 records
	// Steps.
	Episodes int
	// Begin is told the description of the set, and returns what takes its episodes.
	Begin func(data.Meta) (add func(data.Episode) error, err error)
}

// recordRows is how many environments are recorded at once, at most.
const recordRows = 16

// RecordRun plays a run's policy in environments of its own, and hands the episodes on in the order
// in which they end. Those that are under way at the end are truncated there.
func RecordRun(ctx context.Context, j Job, r Recording) (err error) {
	if j = j.withDefaults(); j.Env.ID == "" {
		return errors.New("the run names no environment to be recorded in: --env names one")
	}
	a, t, err := withAgent(ctx, j, r.Weights)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.world.Close()) }()
	agent := a.world.Trainer().Agent()
	if err := checkAgent(agent); err != nil {
		return fmt.Errorf("algorithm %s cannot be recorded: %w", j.Algorithm.Name, err)
	}
	j.Watch.Note(fmt.Sprintf("recording the %s, for %s", t, r.amount()))
	s := a.world.Scope().Child("record")
	defer func() { err = errors.Join(err, s.Close()) }()
	about := map[string]string{
		"algorithm": j.Algorithm.Name, "trained_steps": fmt.Sprint(t.step), "greedy": fmt.Sprint(r.Greedy), "seed": fmt.Sprint(j.Seed),
	}
	return rl.Catch(func() error { return record(ctx, s, j, rl.TeamOf(agent), r, about) })
}

// amount says how much is recorded.
func (r Recording) amount() string {
	if r.Episodes > 0 {
		return fmt.Sprintf("%d episodes", r.Episodes)
	}
	return fmt.Sprintf("%d steps", r.Steps)
}

// envs returns how many environments are recorded at once.
func (r Recording) envs() int {
	if r.Episodes > 0 {
		return min(recordRows, r.Episodes)
	}
	return int(max(1, min(recordRows, r.Steps/1000)))
}

// record plays in a scope of its own.
func record(ctx context.Context, s *rl.Scope, j Job, team rl.Team, r Recording, about map[string]string) error {
	n := r.envs()
	g, err := env.OpenGroups(s, wrap.Entry(j.Env, j.Wrap.Silent(), j.Dir), n, j.EnvOptions)
	if err != nil {
		return err
	}
	if k := len(g.Spec()); k > 1 || g.Spec()[0].Agents > 1 {
		return fmt.Errorf("%s has several agents: a data set has the episodes of one", j.Env.ID)
	}
	p, err := newPlayers(s, g, team, r.Greedy)
	if err != nil {
		return err
	}
	spec := g.Spec()[0]
	m := data.Meta{Env: j.Env.ID, Obs: spec.Obs, Action: spec.Action, Limit: spec.Limit, About: about, Bounds: data.BoundsOf(j.Env.ID)}
	add, err := r.Begin(m)
	if err != nil {
		return err
	}
	c := newCollector(m, n, add)
	c.share(r.Episodes)
	obs := g.Obs()
	for t := int64(0); c.wants(t*int64(n), r); t++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		key := s.Key("act").Fold(uint64(t))
		action, next := team[0].Act(key, obs[0], p.memory[0], r.Greedy)
		out := g.Step([]rl.Tree{action})
		if err := c.step(obs[0], action, out[0]); err != nil {
			return err
		}
		p.memory[0] = next.Map(func(m rl.Tensor) rl.Tensor { return rl.Keep(m, out[0].Over) })
		obs = []rl.Obs{out[0].Obs}
	}
	return c.cut()
}

// collector puts the steps of a batch of environments together to episodes.
type collector struct {
	meta    data.Meta
	columns []data.Column
	under   [][][]byte // rows of the episodes under way, by environment and column
	final   [][][]byte // the observation after the last step, likewise
	left    []int      // episodes to come, by environment; nil if steps are counted
	add     func(data.Episode) error
}

func newCollector(m data.Meta, envs int, add func(data.Episode) error) *collector {
	c := &collector{meta: m, columns: m.Columns(), add: add, under: make([][][]byte, envs), final: make([][][]byte, envs)}
	for i := range envs {
		c.under[i], c.final[i] = make([][]byte, len(c.columns)), make([][]byte, len(c.columns))
	}
	return c
}

// share gives every environment its share of a number of episodes, if that is what is counted.
func (c *collector) share(episodes int) {
	for e, n := 0, len(c.under); episodes > 0 && e < n; e++ {
		c.left = append(c.left, (e+1)*episodes/n-e*episodes/n)
	}
}

// wants reports whether there is more to record after a number of steps.
func (c *collector) wants(steps int64, r Recording) bool {
	if c.left == nil {
		return steps < r.Steps
	}
	return slices.Max(c.left) > 0
}

// step adds a step of every environment.
func (c *collector) step(obs rl.Obs, action rl.Tree, out rl.Step) error {
	seen := len(c.meta.Obs.Leaves())
	var now, final []rl.Tensor
	for i := range seen {
		now, final = append(now, obs.X.At(i)), append(final, out.Final.X.At(i))
	}
	for i := range c.meta.Action.Leaves() {
		now = append(now, action.At(i))
	}
	now = append(now, out.Reward, out.Terminated, out.Truncated)
	for col, x := range now {
		if x.Shape().DType != c.columns[col].Shape.DType {
			return fmt.Errorf("column %q of %s is %s, not %s", c.columns[col].Name, c.meta.Env, x.Shape().DType, c.columns[col].Shape.DType)
		}
		rows := dtypes.UnsafeByteSliceFromAny(rl.Flat(x))
		size := len(rows) / len(c.under)
		for e := range c.under {
			c.under[e][col] = append(c.under[e][col], rows[e*size:(e+1)*size]...)
		}
	}
	for col, x := range final {
		rows := dtypes.UnsafeByteSliceFromAny(rl.Flat(x))
		size := len(rows) / len(c.under)
		for e := range c.final {
			c.final[e][col] = append(c.final[e][col][:0], rows[e*size:(e+1)*size]...)
		}
	}
	for e, over := range rl.Read[bool](out.Over) {
		if !over {
			continue
		}
		if c.left != nil {
			if c.left[e]--; c.left[e] < 0 { // the others are not done yet
				c.forget(e)
				continue
			}
		}
		if err := c.end(e); err != nil {
			return err
		}
	}
	return nil
}

// forget drops the episode of an environment.
func (c *collector) forget(e int) {
	for col := range c.under[e] {
		c.under[e][col] = c.under[e][col][:0]
	}
}

// end hands on the episode of an environment.
func (c *collector) end(e int) error {
	reward := c.meta.Column(data.Reward)
	steps := len(c.under[e][reward]) / c.columns[reward].Shape.DType.Size()
	if steps == 0 {
		return nil
	}
	out := data.NewEpisode(c.meta, steps)
	for col, x := range out.Columns {
		to := dtypes.UnsafeByteSliceFromAny(x)
		copy(to[copy(to, c.under[e][col]):], c.final[e][col])
	}
	c.forget(e)
	term, trunc := out.Columns[reward+1].([]bool), out.Columns[reward+2].([]bool)
	trunc[steps-1] = !term[steps-1] // of an episode that is under way, it is the recording that ends
	return c.add(out)
}

// cut ends the episodes that are under way, unless whole ones are recorded.
func (c *collector) cut() error {
	if c.left != nil {
		return nil
	}
	for e := range c.under {
		if err := c.end(e); err != nil {
			return err
		}
	}
	return nil
}
