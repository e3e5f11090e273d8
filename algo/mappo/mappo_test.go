package mappo_test

import (
	"math"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo/mappo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/env/mpe"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// TestSmallTasks: what any correct learner solves. Three agents earn 16 each.
func TestSmallTasks(t *testing.T) {
	fast := func(more ...string) []string {
		return append([]string{"envs=16", "horizon=32", "learning_rate=3e-3"}, more...)
	}
	algotest.Solve(t, mappo.Algorithm, []algotest.Task{
		{Name: "shared", Env: debug.Agents, Set: fast(), Steps: 16_384, Want: 47.5},
		{Name: "separate", Env: debug.Agents, Set: fast("separate=true"), Steps: 16_384, Want: 47.5},
		{Name: "no names", Env: debug.Agents, Set: fast("agent_id=false"), Steps: 16_384, Want: 47.5},
		{Name: "own critics", Env: debug.Agents, Set: fast("central=false"), Steps: 16_384, Want: 47.5},
		{Name: "plain values", Env: debug.Agents, Set: fast("normalize_value=false", "huber=0", "clip_value=false"), Steps: 16_384, Want: 47.5},
		{Name: "one agent", Env: debug.Identity, Set: fast(), Steps: 16_384, Want: 15.9},
		{Name: "masked", Env: debug.Masked, Set: fast(), Steps: 16_384, Want: 15},
		// Of two kinds one is out of play after a mistake, and the other's return is
		// below 0 by what it misses.
		{Name: "kinds", Env: debug.Kinds, Set: fast("entropy_coef=0.001"), Steps: 65_536, Want: 44},
		{Name: "separate kinds", Env: debug.Kinds, Set: fast("entropy_coef=0.001", "separate=true"), Steps: 65_536, Want: 44},
	})
}

// TestSpread: agents cover landmarks better than they did, with the preset on
// part of its steps.
func TestSpread(t *testing.T) {
	t.Parallel()
	greedy := func(steps int64) float64 {
		return algotest.Greedy(t, app.Job{Algorithm: mappo.Algorithm, Env: mpe.SimpleSpread, Steps: steps})
	}
	if before, after := greedy(1), greedy(60_000); after < before+15 || after < -75 {
		t.Errorf("return %.1f after training, %.1f before", after, before)
	}
}

// TestTag: both kinds learn, and are evaluated as a team.
func TestTag(t *testing.T) {
	t.Parallel()
	x := algotest.Trained(t, mappo.Algorithm, mpe.SimpleTag, mpe.SimpleTag.Options(), 1600).(*mappo.Trainer)
	if n := len(rl.TeamOf(x.Agent())); n != 2 {
		t.Errorf("a team of %d for two kinds", n)
	}
}

// TestBootstrap: a reward of 1 for ever is worth 1/(1-gamma) = 10 under a time
// limit. Where episodes terminate the mean over the steps left is 3.6.
func TestBootstrap(t *testing.T) {
	for _, c := range []struct {
		name       string
		terminates bool
		want       float64
	}{{"limit", false, 10}, {"end", true, 3.6}} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			x := algotest.Trained(t, mappo.Algorithm, debug.Endless, &debug.EndlessOptions{Terminates: c.terminates}, 40_000,
				"envs=8", "horizon=32", "gamma=0.9", "learning_rate=1e-2", "hidden=8", "normalize_value=false", "clip_value=false").(*mappo.Trainer)
			v := x.Roles[0].Actor.Last(x.Env.Obs()[0])
			algotest.Near(t, "value", float64(rl.Read[float32](v)[0]), c.want, .3)
		})
	}
}

// TestDeath: agents out of play weigh nothing, so that what they see and get does
// not move the weights.
func TestDeath(t *testing.T) {
	t.Parallel()
	x := algotest.Trained(t, mappo.Algorithm, debug.Kinds, debug.Kinds.Options(), 0, "envs=8").(*mappo.Trainer)
	obs := x.Env.Obs()
	dead := false
	for i := range 4 {
		acts := make([]rl.Tree, len(obs))
		for j, r := range x.Roles {
			act := r.Actor.Act(rl.NewKey(uint64(i)), obs[j])
			acts[j] = act.Action
			if has, want := act.Weight.Ok(), x.Env.Spec()[j].Mortal; has != want {
				t.Fatalf("kind %d: weights %v, mortal %v", j, has, want)
			} else if !want {
				continue
			}
			alive := rl.Read[bool](obs[j].Alive)
			for i, w := range rl.Read[float32](act.Weight) {
				dead = dead || !alive[i]
				if (w == 1) != alive[i] || (w == 0) == alive[i] {
					t.Errorf("weight %v of an agent whose being in play is %v", w, alive[i])
				}
			}
		}
		for j, out := range x.Env.Step(acts) {
			obs[j] = out.Obs
		}
	}
	if !dead {
		t.Error("no agent was out of play")
	}
}

// TestRoles: kinds share a role or have their own, and the members of a team are
// as many.
func TestRoles(t *testing.T) {
	t.Parallel()
	algotest.Roles(t, mappo.Algorithm, func(x rl.Trainer) int { return len(x.(*mappo.Trainer).Roles) })
}

// TestUnits: a critic that learns standardised returns gives numbers near 0,
// though the returns are near 10.
func TestUnits(t *testing.T) {
	t.Parallel()
	x := algotest.Trained(t, mappo.Algorithm, debug.Endless, &debug.EndlessOptions{}, 40_000,
		"envs=8", "horizon=32", "gamma=0.9", "learning_rate=3e-3", "hidden=8").(*mappo.Trainer)
	v := float64(rl.Read[float32](x.Roles[0].Actor.Last(x.Env.Obs()[0]))[0])
	if math.Abs(v) > 5 {
		t.Errorf("output %.2f of a critic that learns standardised returns", v)
	}
}

func TestConfig(t *testing.T) {
	c := &mappo.Config{Envs: 2, Horizon: 3, Proximal: nn.Proximal{Minibatches: 7}}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "minibatches") {
		t.Errorf("more minibatches than steps: %v", err)
	}
}

func TestResume(t *testing.T) {
	for _, set := range []string{"separate=false", "separate=true"} {
		t.Run(set, func(t *testing.T) {
			t.Parallel()
			algotest.Resumes(t, mappo.Algorithm, debug.Agents, 2000, "envs=4", "horizon=10", "epochs=2", set)
		})
	}
}
