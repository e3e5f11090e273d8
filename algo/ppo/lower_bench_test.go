package ppo

import (
	"context"
	"fmt"
	"testing"

	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
)

// BenchmarkLowered measures environment steps a second of the plain loop and of the same
// loop as one device program.
func BenchmarkLowered(b *testing.B) {
	for _, envs := range []int{4, 16, 128} {
		for _, policy := range []string{"plain", "gpu-only"} {
			b.Run(fmt.Sprintf("envs=%d/%s", envs, policy), func(b *testing.B) {
				j := job(b, classic.CartPole, fmt.Sprintf("envs=%d", envs), "horizon=128", "epochs=4", "minibatches=4", "hidden=64,64")
				j.Steps, j.EvalEpisodes, j.EvalEvery = int64(300_000), 0, 0
				if policy != "plain" {
					j.Plan = by(plan.Deployment{Policy: policy, Workers: 1})
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
