package dqn_test

import (
	"context"
	"testing"

	"github.com/weft-rl/weft/algo/dqn"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/classic"
)

// BenchmarkTrain measures DQN on CartPole with CleanRL's settings, one environment and
// an update of 128 rows every 10 steps.
func BenchmarkTrain(b *testing.B) {
	r, err := app.Train(context.Background(), app.Job{
		Algorithm: dqn.Algorithm, Env: classic.CartPole, Preset: "cleanrl", Set: []string{"learning_starts=100"}, Steps: int64(b.N) * 10,
	})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(r.Steps)/r.Seconds, "steps/s")
}
