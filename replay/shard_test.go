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
						part := replay.Take(rl.System.Part(whole, lo, hi), rl.NewRun(s, 1, nil).Key("shuffle", 2), by, m, minibatches)
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

// kind is a table of some kind: what fills it, and what draws from it.
type kind struct {
	name string
	fill func(x, memory, done rl.Tensor)
	draw func(k rl.Key) []rl.Tensor
}

func kinds(s *rl.Scope) []kind {
	table := replay.NewTable[rl.Tensor](s, "table", 50, replay.Options{})
	sequences := replay.NewSequences[lived](s, "sequences", 50, replay.SequenceOptions{Length: 4, Stride: 2, BurnIn: 1, Priority: true})
	reservoir := replay.NewReservoir[rl.Tensor](s, "reservoir", 20)
	return []kind{
		{"table", func(x, _, done rl.Tensor) { table.Insert(x, done) },
			func(k rl.Key) []rl.Tensor { return rl.Leaves(table.Sample(k, 9)) }},
		{"sequences", func(x, memory, done rl.Tensor) { sequences.Insert(lived{X: x, Memory: memory}, done) },
			func(k rl.Key) []rl.Tensor {
				x := sequences.Sample(k, 9)
				sequences.Prioritise(x.Index, iota32(s, 1, 9))
				return rl.Leaves(x)
			}},
		{"reservoir", func(x, _, done rl.Tensor) { reservoir.Insert(x, done) },
			func(k rl.Key) []rl.Tensor { return rl.Leaves(reservoir.Sample(k, 9)) }},
	}
}

// TestTablesOfShards: rows that replicas of the environments made, put together in the
// environments' order, fill every kind of table alike, and all replicas' runs have the
// key of one sample.
func TestTablesOfShards(t *testing.T) {
	const envs, steps = 7, 30
	for _, replicas := range []int{1, 2, 3, 7} {
		plain, root := scope(t), scope(t)
		want, got := kinds(plain), kinds(root)
		bounds, runs := []int{0}, []*rl.Run(nil)
		for r := range replicas {
			s := root.Shard(r, replicas)
			lo, hi := s.Own(envs, 1)
			s.SetEnvs(rl.Span{Lo: lo, Hi: hi, Of: envs})
			bounds, runs = append(bounds, hi), append(runs, rl.NewRun(s, 1, nil))
		}
		for step := range steps {
			done := make([]bool, envs)
			for e := range done {
				done[e] = rl.NewKey(3).IntN(step, e, 5) == 0
			}
			whole := []rl.Tensor{iota32(plain, envs*step, envs), iota32(plain, -envs*step, envs, 1), rl.FromFlat(plain, done, envs)}
			parts := rl.System.InParts(whole, bounds, func(r int) (out []rl.Tensor) {
				for _, x := range whole {
					out = append(out, rl.System.Part(x, bounds[r], bounds[r+1]))
				}
				return out
			})
			for i := range want {
				want[i].fill(whole[0], whole[1], whole[2])
				got[i].fill(parts[0], parts[1], parts[2])
				if step < 10 {
					continue
				}
				x := want[i].draw(rl.NewRun(plain, 1, nil).Key("sample", step))
				if y := got[i].draw(runs[step%replicas].Key("sample", step)); !slices.EqualFunc(x, y, sameTensor) {
					t.Fatalf("%s of %d replicas: step %d gives %v, want %v", want[i].name, replicas, step, y, x)
				}
			}
		}
	}
}
