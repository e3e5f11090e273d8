package ppo_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/classic"
)

// BenchmarkTrain measures whole iterations of PPO on CartPole, 128 steps of every
// environment, 4 epochs of 4 minibatches.
func BenchmarkTrain(b *testing.B) {
	for _, envs := range []int{4, 128} {
		b.Run(fmt.Sprintf("envs=%d", envs), func(b *testing.B) {
			r, err := app.Train(context.Background(), app.Job{
				Algorithm: ppo.Algorithm, Env: classic.CartPole,
				Set: []string{fmt.Sprintf("envs=%d", envs)}, Steps: int64(b.N * envs * 128),
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(r.Steps)/r.Seconds, "steps/s")
		})
	}
}
