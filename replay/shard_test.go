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

// TestInPart: rows of one step may come from some environments at a time, if it is always
// as many; those of several steps may not.
func TestInPart(t *testing.T) {
	two := []rl.Span{{Lo: 0, Hi: 2, Of: 4}, {Lo: 2, Hi: 4, Of: 4}}
	type row struct {
		R rl.Tensor `replay:"sum"`
	}
	for _, c := range []struct {
		how   replay.Options
		parts []rl.Span
		ok    bool
	}{
		{replay.Options{}, two, true}, {replay.Options{NStep: 3}, two, false}, {replay.Options{Sequence: 2}, two, false},
		{replay.Options{}, []rl.Span{{Lo: 0, Hi: 1, Of: 4}, {Lo: 1, Hi: 4, Of: 4}}, false},
	} {
		if err := replay.NewTable[row](scope(t), "table", 8, c.how).InPart(c.parts); (err == nil) != c.ok {
			t.Errorf("%+v in %v: %v", c.how, c.parts, err)
		}
	}
}
