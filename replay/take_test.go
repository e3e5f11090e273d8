package replay_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type batch struct {
	ID    rl.Tensor // [env, time], all different
	X     rl.Tensor // [env, time, 2]: twice ID and that plus 1
	Gone  rl.Tensor
	Scale rl.Tensor // a scalar
}

func newBatch(s *rl.Scope, envs, time int) batch {
	return batch{iota32(s, 0, envs, time), iota32(s, 0, envs, time, 2), rl.Tensor{}, rl.Scalar(3)}
}

func TestTakePartitions(t *testing.T) {
	s := scope(t)
	for _, x := range []struct{ envs, time, n int }{{4, 8, 4}, {3, 5, 4}, {5, 1, 5}, {7, 3, 2}, {1, 9, 1}} {
		for _, by := range []replay.By{replay.ByStep, replay.ByEnv} {
			what := fmt.Sprintf("%+v by %d", x, by)
			rows, row := x.envs*x.time, 1 // rows in all, and numbers of ID in a row
			if by == replay.ByEnv {
				rows, row = x.envs, x.time
			}
			if x.n > rows {
				continue
			}
			b := newBatch(s, x.envs, x.time)
			var ids []float32
			for m := range x.n {
				mini := replay.Take(b, s.Key("shuffle"), by, m, x.n)
				id, pairs := rl.Read[float32](mini.ID), rl.Read[float32](mini.X)
				if len(id)/row < rows/x.n || len(id)/row > (rows+x.n-1)/x.n {
					t.Errorf("%s: minibatch %d has %d rows of %d", what, m, len(id)/row, rows)
				}
				for i, v := range id { // what belongs to one step stays together
					if pairs[2*i] != 2*v || pairs[2*i+1] != 2*v+1 || by == replay.ByEnv && i%row > 0 && v != id[i-1]+1 {
						t.Fatalf("%s: %v goes with %v", what, id, pairs)
					}
				}
				if mini.Gone.Ok() || rl.Floats(mini.Scale)[0] != 3 {
					t.Errorf("%s: the scalar is %v, the absent leaf %v", what, mini.Scale, mini.Gone)
				}
				ids = append(ids, id...)
			}
			slices.Sort(ids)
			equal(t, what, ids, rl.Read[float32](b.ID))
		}
	}
}

func TestTakeShapes(t *testing.T) {
	s := scope(t)
	b := newBatch(s, 4, 6)
	steps := replay.Take(b, s.Key("k"), replay.ByStep, 0, 3)
	equal(t, "by step", steps.X.Shape().Dimensions, []int{8, 2})
	envs := replay.Take(b, s.Key("k"), replay.ByEnv, 0, 2)
	equal(t, "by environment", envs.X.Shape().Dimensions, []int{2, 6, 2})
	lone := replay.Take(b.ID, s.Key("k"), replay.ByStep, 0, 3)
	equal(t, "a tensor alone", rl.Read[float32](lone), rl.Read[float32](steps.ID))
}

func TestTakeFollowsKey(t *testing.T) {
	s := scope(t)
	b := newBatch(s, 8, 16)
	order := func(k rl.Key) []float32 { return rl.Read[float32](replay.Take(b, k, replay.ByStep, 0, 1).ID) }
	k := s.Key("shuffle")
	equal(t, "the same key", order(k), order(k))
	if slices.Equal(order(k), order(k.Fold(1))) {
		t.Error("two keys give one order")
	}
	if slices.IsSorted(order(k)) {
		t.Error("nothing is shuffled")
	}
}

func TestTakeErrors(t *testing.T) {
	s := scope(t)
	k := s.Key("k")
	b := newBatch(s, 4, 6)
	for _, x := range []struct {
		change func(*batch)
		by     replay.By
		want   string
	}{
		{func(b *batch) { b.X = iota32(s, 0, 4, 5, 2) }, replay.ByStep, "X has rows [4 5], others have [4 6]"},
		{func(b *batch) { b.X = iota32(s, 0, 6, 4, 2) }, replay.ByStep, "X has rows [6 4], others have [4 6]"}, // as many
		{func(b *batch) { b.Gone = iota32(s, 0, 3) }, replay.ByEnv, "Gone has rows [3], others have [4]"},
		{func(b *batch) { b.Gone = iota32(s, 0, 4) }, replay.ByStep, "Gone has shape (Float32)[4]: no environment and time axis"},
	} {
		bad := b
		x.change(&bad)
		fails(t, func() { replay.Take(bad, k, x.by, 0, 2) }, x.want)
	}
	fails(t, func() { replay.Take(iota32(s, 0, 4), k, replay.ByStep, 0, 2) }, "the batch has shape (Float32)[4]")
	fails(t, func() { replay.Take(b, k, replay.ByStep, 2, 2) }, "minibatch 2 of 2 cannot be taken from 24 rows")
	fails(t, func() { replay.Take(b, k, replay.ByStep, -1, 2) }, "minibatch -1 of 2")
	fails(t, func() { replay.Take(b, k, replay.ByEnv, 0, 5) }, "minibatch 0 of 5 cannot be taken from 4 rows")
	fails(t, func() { replay.Take(batch{Scale: b.Scale}, k, replay.ByEnv, 0, 1) }, "replay_test.batch has no tensor")
}

func BenchmarkTake(b *testing.B) {
	s := scope(b)
	x := newBatch(s, 128, 128)
	b.ReportAllocs()
	for b.Loop() {
		replay.Take(x, s.Key("k"), replay.ByStep, 0, 4)
	}
}
