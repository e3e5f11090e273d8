package ppo

import (
	"context"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// burner is an environment that computes for a while at every step: about 50 us.
type burner struct {
	broken
	x uint64
}

func (b *burner) Step(k rl.Key, action, obs env.Row) (float64, bool, bool) {
	for range 30_000 {
		b.x ^= b.x<<13 + 1
		b.x ^= b.x >> 7
		b.x ^= b.x << 17
	}
	return b.broken.Step(k, action, obs)
}

var burnerEnv = env.Entry{ID: "Burner-v0", New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
	spec := env.Spec{ID: "Burner-v0", Obs: rl.Box{Low: []float64{0}, High: []float64{9}, Dims: []int{1}}, Action: rl.Discrete{N: 2}}
	return env.Hosts(s, n, spec, func(int) (env.Host, error) { return &burner{}, nil })
}}

// BenchmarkPolicies measures environment steps a second under several policies, with an
// environment that costs nothing and one that costs 50 us a step.
func BenchmarkPolicies(b *testing.B) {
	for _, e := range []struct {
		name  string
		entry env.Entry
		steps int64
		set   []string
	}{
		{"cartpole", classic.CartPole, 32_768, []string{"envs=16", "horizon=64", "epochs=4", "minibatches=8", "hidden=64,64"}},
		{"burner", burnerEnv, 8192, []string{"envs=16", "horizon=64", "epochs=1", "minibatches=1", "hidden=16"}},
	} {
		for _, c := range []struct {
			name string
			plan plan.Deployment
		}{
			{"plain", plan.Deployment{}},
			{"coarse-1", plan.Deployment{Policy: "single-learner-coarse", Workers: 1, NoFuse: []string{"all"}}},
			{"coarse-2", plan.Deployment{Policy: "single-learner-coarse", Workers: 2}},
			{"coarse-async-2", plan.Deployment{Policy: "single-learner-coarse", Workers: 2, Async: true, Staleness: 2}},
			{"fine-1", plan.Deployment{Policy: "single-learner-fine", Workers: 1, NoFuse: []string{"all"}}},
			{"fine-2", plan.Deployment{Policy: "single-learner-fine", Workers: 2}},
			{"learners-2", plan.Deployment{Policy: "multi-learner", Workers: 2}},
			{"central-2", plan.Deployment{Policy: "central", Workers: 2}},
		} {
			b.Run(e.name+"/"+c.name, func(b *testing.B) {
				j := job(b, e.entry, e.set...)
				j.Steps, j.EvalEpisodes, j.EvalEvery = e.steps, 0, 0
				if c.plan.Policy != "" {
					c.plan.Queue = 2
					j.Plan = by(c.plan)
				}
				steps, seconds := 0.0, 0.0
				for b.Loop() {
					r, err := runner.Train(context.Background(), j)
					if err != nil {
						b.Fatal(err)
					}
					steps, seconds = steps+float64(r.Steps), seconds+r.Seconds
				}
				b.ReportMetric(steps/seconds, "steps/s")
			})
		}
	}
}
