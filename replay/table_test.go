package replay_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type transition struct {
	Obs        rl.Tree
	Reward     rl.Tensor `replay:"sum"`
	Next       rl.Tree   `replay:"last"`
	Terminated rl.Tensor `replay:"last"`
	Extra      rl.Tensor // absent
}

// history is a table and, beside it, all that it was ever given.
type history struct {
	s      *rl.Scope
	table  *replay.Table[transition]
	envs   int
	reward [][]float32 // by step, environment
	term   [][]bool
	done   [][]bool
}

func newHistory(t testing.TB, envs, capacity int, how replay.Options) *history {
	s := scope(t)
	return &history{s: s, envs: envs, table: replay.NewTable[transition](s, "table", capacity, how)}
}

// add takes one step. An observation is (step, environment), its successor the same
// with a step more and a half, as of a final observation.
func (h *history) add() {
	t := len(h.reward)
	k := rl.NewKey(7)
	obs, next := make([]float32, 2*h.envs), make([]float32, 2*h.envs)
	reward, term, done := make([]float32, h.envs), make([]bool, h.envs), make([]bool, h.envs)
	for e := range h.envs {
		obs[2*e], obs[2*e+1] = float32(t), float32(e)
		next[2*e], next[2*e+1] = float32(t)+1.5, float32(e)
		reward[e] = float32(k.IntN(t, 3*e, 8))
		done[e] = k.IntN(t, 3*e+1, 5) == 0
		term[e] = done[e] && k.IntN(t, 3*e+2, 2) == 0
	}
	h.reward, h.term, h.done = append(h.reward, reward), append(h.term, term), append(h.done, done)
	h.table.Insert(transition{
		Obs: rl.One(rl.FromFlat(h.s, obs, h.envs, 2)), Next: rl.One(rl.FromFlat(h.s, next, h.envs, 2)),
		Reward: rl.FromFlat(h.s, reward, h.envs), Terminated: rl.FromFlat(h.s, term, h.envs),
	}, rl.FromFlat(h.s, done, h.envs))
}

// check compares a sample with what the history says of its rows.
func (h *history) check(t *testing.T, s replay.Sample[transition], n int, gamma float64) {
	t.Helper()
	index, discount := rl.Read[int64](s.Index), rl.Read[float32](s.Discount)
	obs, next := rl.Read[float32](s.Data.Obs.Leaf("")), rl.Read[float32](s.Data.Next.Leaf(""))
	reward, term := rl.Read[float32](s.Data.Reward), rl.Read[bool](s.Data.Terminated)
	if s.Data.Extra.Ok() || s.Valid.Ok() {
		t.Error("an absent tensor is there")
	}
	for i, r := range index {
		step, e := int(r)/h.envs, int(r)%h.envs
		sum, power, last := 0.0, 1.0, step
		for last = step; ; last++ {
			sum += power * float64(h.reward[last][e])
			power *= gamma
			if h.done[last][e] || last == step+n-1 {
				break
			}
		}
		if obs[2*i] != float32(step) || obs[2*i+1] != float32(e) || next[2*i] != float32(last)+1.5 || next[2*i+1] != float32(e) ||
			float64(reward[i]) != sum || term[i] != h.term[last][e] || float64(discount[i]) != power {
			t.Fatalf("row %d: from %v to %v, reward %v, discount %v, terminated %v; want step %d of %d to %d, %v, %v, %v",
				r, obs[2*i:2*i+2], next[2*i:2*i+2], reward[i], discount[i], term[i], step, e, last, sum, power, h.term[last][e])
		}
	}
}

// TestTable compares samples with a plain account of everything that happened,
// over rings that wrap in the middle of a step, episodes that end in both ways and
// rows of several steps. Sums of small numbers times powers of 1/2 are exact.
func TestTable(t *testing.T) {
	for _, c := range []struct {
		envs, capacity, n int
		priority          bool
	}{{1, 7, 1, false}, {3, 10, 1, false}, {3, 10, 3, false}, {2, 64, 4, false}, {3, 10, 3, true}, {1, 16, 2, true}, {4, 33, 1, true}} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			h := newHistory(t, c.envs, c.capacity, replay.Options{NStep: c.n, Discount: .5, Priority: c.priority})
			for step := range 40 {
				h.add()
				inserted := (step + 1) * c.envs
				held := max(0, min(inserted, c.capacity)-(c.n-1)*c.envs)
				if !h.table.Ready(held) || h.table.Ready(held+1) {
					t.Fatalf("after %d steps not ready for %d rows, or for more", step+1, held)
				}
				if held == 0 {
					continue
				}
				s := h.table.Sample(h.s.Key("sample").Fold(uint64(step)), 16)
				h.check(t, s, c.n, .5)
				for _, r := range rl.Read[int64](s.Index) {
					if lo := max(0, inserted-c.capacity); r < int64(lo) || r >= int64(lo+held) {
						t.Fatalf("row %d of [%d, %d)", r, lo, lo+held)
					}
				}
				if c.priority {
					h.table.Prioritise(s.Index, iota32(h.s, 1, 16))
				}
			}
		})
	}
}

// TestNStepByHand: gamma 1/2, three steps, rewards 1 2 4 8 16; the third step
// terminates, or is cut off, or nothing ends.
func TestNStepByHand(t *testing.T) {
	for _, c := range []struct {
		name       string
		term, done bool
		reward     []float32 // of the rows of steps 0, 1, 2
		last       []float32
		discount   []float32
		terminated []bool
	}{
		{"goes on", false, false, []float32{3, 6, 12}, []float32{3, 4, 5}, []float32{.125, .125, .125}, []bool{false, false, false}},
		{"terminates", true, true, []float32{3, 4, 4}, []float32{3, 3, 3}, []float32{.125, .25, .5}, []bool{true, true, true}},
		{"cut off", false, true, []float32{3, 4, 4}, []float32{3, 3, 3}, []float32{.125, .25, .5}, []bool{false, false, false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := scope(t)
			table := replay.NewTable[transition](s, "table", 8, replay.Options{NStep: 3, Discount: .5})
			for i := range 5 {
				x := func(v float32) rl.Tree { return rl.One(rl.FromFlat(s, []float32{v}, 1)) }
				table.Insert(transition{
					Obs: x(float32(i)), Next: x(float32(i + 1)), Reward: rl.FromFlat(s, []float32{float32(int(1) << i)}, 1),
					Terminated: rl.FromFlat(s, []bool{c.term && i == 2}, 1),
				}, rl.FromFlat(s, []bool{c.done && i == 2}, 1))
			}
			got := table.Sample(s.Key("sample"), 64)
			reward, next := rl.Read[float32](got.Data.Reward), rl.Read[float32](got.Data.Next.Leaf(""))
			for i, r := range rl.Read[int64](got.Index) {
				if reward[i] != c.reward[r] || next[i] != c.last[r] || rl.Read[float32](got.Discount)[i] != c.discount[r] ||
					rl.Read[bool](got.Data.Terminated)[i] != c.terminated[r] {
					t.Fatalf("row %d: reward %v, next %v, discount %v", r, reward[i], next[i], rl.Read[float32](got.Discount)[i])
				}
			}
		})
	}
}

// TestNStepOfKinds: the rewards of kinds of agents are added up apart, those of a kind's two agents
// as well.
func TestNStepOfKinds(t *testing.T) {
	type joint struct {
		Reward []rl.Tensor `replay:"sum"`
	}
	s := scope(t)
	table := replay.NewTable[joint](s, "table", 8, replay.Options{NStep: 2, Discount: .5})
	for i := range 3 {
		x := float32(int(1) << i)
		table.Insert(joint{[]rl.Tensor{rl.FromFlat(s, []float32{x, 10 * x}, 1, 2), rl.FromFlat(s, []float32{100 * x}, 1)}}, rl.FromFlat(s, []bool{false}, 1))
	}
	got := table.Sample(s.Key("sample"), 16)
	pair, one := rl.Read[float32](got.Data.Reward[0]), rl.Read[float32](got.Data.Reward[1])
	for i, r := range rl.Read[int64](got.Index) {
		want := float32(int(1)<<r) * 2 // of 1 and half of 2, or of 2 and half of 4
		if pair[2*i] != want || pair[2*i+1] != 10*want || one[i] != 100*want {
			t.Fatalf("row %d: rewards %v and %v, want %v, ten and a hundred times that", r, pair[2*i:2*i+2], one[i], want)
		}
	}
}

// TestSequence: whole windows, and where their episodes end.
func TestSequence(t *testing.T) {
	h := newHistory(t, 3, 50, replay.Options{Sequence: 4})
	for range 30 {
		h.add()
	}
	s := h.table.Sample(h.s.Key("sample"), 32)
	valid, reward := rl.Read[bool](s.Valid), rl.Read[float32](s.Data.Reward)
	for i, r := range rl.Read[int64](s.Index) {
		over := false
		for j := range 4 {
			step, e := int(r)/3+j, int(r)%3
			if valid[4*i+j] == over {
				t.Fatalf("row %d: valid %v at step %d", r, valid[4*i:4*i+4], j)
			}
			if reward[4*i+j] != h.reward[step][e] {
				t.Fatalf("row %d: reward %v at step %d", r, reward[4*i+j], j)
			}
			over = over || h.done[step][e]
		}
	}
	equal(t, "shape", s.Data.Obs.Leaf("").Shape().Dimensions, []int{32, 4, 2})
}

// TestProportional: rows come as often as their priorities say, and with the
// probability that the sample reports.
func TestProportional(t *testing.T) {
	h := newHistory(t, 1, 8, replay.Options{Priority: true})
	for range 8 {
		h.add()
	}
	all := []int64{0, 1, 2, 3, 4, 5, 6, 7}
	h.table.Prioritise(rl.FromFlat(h.s, all, 8), rl.FromFlat(h.s, []float32{1, 2, 3, 4, 5, 6, 7, 4}, 8))
	const n = 32_000
	count := make([]int, 8)
	s := h.table.Sample(h.s.Key("sample"), n)
	prob := rl.Read[float32](s.Prob)
	for i, r := range rl.Read[int64](s.Index) {
		count[r]++
		if want := float32([]float64{1, 2, 3, 4, 5, 6, 7, 4}[r] / 32); prob[i] != want {
			t.Fatalf("row %d has probability %v, want %v", r, prob[i], want)
		}
	}
	// One draw from each of n equal parts: the counts are exact up to the parts at
	// the edges.
	for r, c := range count {
		if want := []int{1000, 2000, 3000, 4000, 5000, 6000, 7000, 4000}[r]; math.Abs(float64(c-want)) > 2 {
			t.Errorf("row %d was drawn %d times, want %d", r, c, want)
		}
	}
}

// TestOverwritten: a priority for a row that is gone does not reach the row that
// lies in its slot now.
func TestOverwritten(t *testing.T) {
	h := newHistory(t, 1, 4, replay.Options{Priority: true})
	for range 4 {
		h.add()
	}
	old := rl.FromFlat(h.s, []int64{0, 1}, 2)
	h.table.Prioritise(old, rl.FromFlat(h.s, []float32{1, 1}, 2))
	h.add() // row 4 takes the slot of row 0
	h.table.Prioritise(old, rl.FromFlat(h.s, []float32{.001, 5}, 2))
	s := h.table.Sample(h.s.Key("sample"), 64)
	prob := rl.Read[float32](s.Prob)
	for i, r := range rl.Read[int64](s.Index) {
		if want := map[int64]float32{1: 5. / 8, 2: 1. / 8, 3: 1. / 8, 4: 1. / 8}[r]; prob[i] != want {
			t.Fatalf("row %d has probability %v, want %v", r, prob[i], want)
		}
	}
	h.add() // a new row has the largest priority so far, 5; row 1 is gone
	s = h.table.Sample(h.s.Key("sample"), 64)
	for i, r := range rl.Read[int64](s.Index) {
		if want := map[int64]float32{2: 1. / 8, 3: 1. / 8, 4: 1. / 8, 5: 5. / 8}[r]; rl.Read[float32](s.Prob)[i] != want {
			t.Fatalf("row %d has probability %v, want %v", r, rl.Read[float32](s.Prob)[i], want)
		}
	}
}

// TestUniform: every row comes about equally often.
func TestUniform(t *testing.T) {
	h := newHistory(t, 2, 10, replay.Options{})
	for range 9 {
		h.add()
	}
	count := map[int64]int{}
	s := h.table.Sample(h.s.Key("sample"), 10_000)
	for i, r := range rl.Read[int64](s.Index) {
		count[r]++
		if p := rl.Read[float32](s.Prob)[i]; p != .1 {
			t.Fatalf("probability %v, want .1", p)
		}
	}
	chi := 0.0
	for r := int64(8); r < 18; r++ {
		chi += math.Pow(float64(count[r])-1000, 2) / 1000
	}
	if len(count) != 10 || chi > 27.9 { // 9 degrees of freedom, 1 in 1000
		t.Errorf("%v, chi squared %.1f", count, chi)
	}
}
