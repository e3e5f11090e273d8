package cli

import (
	"math"
	"sync"
	"time"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// burner returns an environment for measurements that computes for so many microseconds
// at every step. It counts rounds and not time: two that share a core are to take
// twice as long. With alone the first environment of a replica computes for all of them,
// as a simulator with one thread does: Weft otherwise spreads them over all cores, and
// workers have nothing to add.
func burner(us int, alone bool) env.Entry {
	spec := env.Spec{ID: "Burner", Obs: rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{4}}, Action: rl.Discrete{N: 2}, Limit: 500}
	rounds := int(float64(us) * 1e-6 / secondsPerRound())
	return env.Entry{ID: spec.ID, New: func(s *rl.Scope, n int, _ any) (env.Batch, error) {
		var first *burning
		return env.Hosts(s, n, spec, func(int) (env.Host, error) {
			b := &burning{x: 1}
			if first == nil || !alone {
				first = b
			}
			first.rounds += rounds
			return b, nil
		})
	}}
}

type burning struct {
	rounds int
	x      uint64
}

func (b *burning) Reset(_ rl.Key, obs env.Row) { clear(obs.Float32("")) }

func (b *burning) Step(_ rl.Key, action, obs env.Row) (reward float64, terminated, truncated bool) {
	b.x = burn(b.x+uint64(action.Int32("")[0]), b.rounds)
	for i := range obs.Float32("") {
		obs.Float32("")[i] = float32(b.x>>(8*i)&255) / 256
	}
	return 1, false, false
}

func burn(x uint64, rounds int) uint64 {
	for range rounds {
		x ^= x<<13 | 1
		x ^= x >> 7
		x ^= x << 17
	}
	return x
}

// secondsPerRound is the least that a round was seen to take.
var secondsPerRound = sync.OnceValue(func() float64 {
	const rounds = 20_000
	best := math.Inf(1)
	for i := range 50 {
		begin := time.Now()
		if burn(uint64(i), rounds) == 0 {
			continue // it is never; but nothing may be left out
		}
		best = min(best, time.Since(begin).Seconds()/rounds)
	}
	return best
})
