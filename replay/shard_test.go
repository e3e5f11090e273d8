package replay_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// TestTakeShards: the replicas' parts of a minibatch are the minibatch of all, row
// by row and in its order.
func TestTakeShards(t *testing.T) {
	const envs, time, minibatches = 11, 3, 4
	root := scope(t)
	whole := iota32(root, 0, envs, time)
	key := rl.NewRun(root, 1, nil).Key("shuffle", 2)
	for _, by := range []replay.By{replay.ByStep, replay.ByEnv} {
		for _, k := range []int{1, 2, 5, 11} {
			t.Run(fmt.Sprint(by, k), func(t *testing.T) {
				for m := range minibatches {
					want := rl.Read[float32](replay.Take(whole, key, by, m, minibatches))
					parts, at := 0, make([]int, k)
					var mine [][]float32
					for r := range k {
						s := root.Shard(r, k)
						lo, hi := s.Own(envs, 1)
						s.SetEnvs(rl.Span{Lo: lo, Hi: hi, Of: envs})
						part := replay.Take(rl.Part(whole, lo, hi), rl.NewRun(s, 1, nil).Key("shuffle", 2), by, m, minibatches)
						mine = append(mine, rl.Read[float32](part))
						parts += len(mine[r])
					}
					if parts != len(want) {
						t.Fatalf("minibatch %d has %d numbers, its parts %d", m, len(want), parts)
					}
					for _, x := range want { // each is the next of one replica
						r := slices.IndexFunc(mine, func(p []float32) bool { return slices.Contains(p, x) })
						if r < 0 || mine[r][at[r]] != x {
							t.Fatalf("minibatch %d: %v is nobody's next", m, x)
						}
						at[r]++
					}
				}
			})
		}
	}
}
