package mujoco

import (
	"fmt"
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// BenchmarkStep measures whole steps of 64 environments, guarded as a training loop
// sees them. testdata/peers.py measures EnvPool and Gymnasium likewise.
func BenchmarkStep(b *testing.B) {
	needLibrary(b)
	for _, e := range []env.Entry{HalfCheetah, Ant, Humanoid} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%s/threads=%d", e.ID, threads), func(b *testing.B) { benchStep(b, e, threads) })
		}
	}
}

func benchStep(b *testing.B, e env.Entry, threads int) {
	const n, cycle = 64, 16
	e.New = withThreads(e.New, threads)
	s := newScope(b, 1)
	batch, err := env.Open(s, e, n, nil)
	if err != nil {
		b.Fatal(err)
	}
	var actions []rl.Tree
	for i := range cycle {
		actions = append(actions, env.Sample(s, batch.Spec(), batch.Obs(), rl.NewKey(1).Fold(uint64(i))))
	}
	i := 0
	for b.Loop() {
		batch.Step(actions[i%cycle])
		i++
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "steps/s")
}

// withThreads sets the option that all tasks share.
func withThreads(make func(*rl.Scope, int, any) (env.Batch, error), threads int) func(*rl.Scope, int, any) (env.Batch, error) {
	return func(s *rl.Scope, n int, options any) (env.Batch, error) {
		options.(interface{ setup() *Setup }).setup().Threads = threads
		return make(s, n, options)
	}
}

func (s *Setup) setup() *Setup { return s }
