package process_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
)

// BenchmarkCoarse compares two workers of one process with two processes, on PPO's
// recipe with 16 environments and checkpoints at the end alone; the unit is an iteration.
func BenchmarkCoarse(b *testing.B) {
	const recipe = "envs=16 horizon=128 epochs=4 minibatches=4 hidden=64,64 every=0 "
	config := func(n int) string { return fmt.Sprintf("%s steps=%d", recipe, n*16*128) }
	p := planned(b, recipe, coarse)
	b.Run("one", func(b *testing.B) {
		j, err := job(config(b.N))
		if err != nil {
			b.Fatal(err)
		}
		j.Plan = func(plan.Problem) (plan.Plan, error) { return p, nil }
		s, err := runner.Prepare(j)
		if err != nil {
			b.Fatal(err)
		}
		b.ResetTimer()
		if _, err := s.Train(b.Context()); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("two", func(b *testing.B) {
		d := parttest.NewDesk(2)
		a := part.Assignment{Run: "r", Epoch: 1, Config: config(b.N), Plan: p}
		b.Setenv(childSilence, time.Minute.String())
		if err := errors.Join(epoch(b, a, d, 2, b.TempDir(), -1, func([]*worker) { b.ResetTimer() })...); err != nil {
			b.Fatal(err)
		}
	})
}
