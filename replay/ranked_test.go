package replay_test

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// ranking is a table of two environments whose rows have their numbers as reward.
type ranking struct {
	s     *rl.Scope
	table *replay.Table[transition]
	rows  int
}

func newRanking(t *testing.T, capacity, steps int) *ranking {
	s := scope(t)
	return &ranking{s: s, table: replay.NewTable[transition](s, "table", capacity, replay.Options{NStep: steps, Discount: 1, Priority: true})}
}

// insert adds a step, with priorities unless there are none.
func (r *ranking) insert(priority ...float32) {
	no := rl.FromFlat(r.s, []bool{false, false}, 2)
	e := transition{Reward: iota32(r.s, r.rows, 2), Terminated: no}
	r.rows += 2
	if len(priority) == 0 {
		r.table.Insert(e, no)
		return
	}
	r.table.InsertRanked(e, no, rl.FromFlat(r.s, priority, len(priority)))
}

// odds returns the probabilities of rows, by number, as a sample says them.
func (r *ranking) odds() map[int64]float64 {
	s := r.table.Sample(r.s.Key("sample"), 400)
	out := map[int64]float64{}
	for i, row := range rl.Read[int64](s.Index) {
		out[row] = float64(rl.Read[float32](s.Prob)[i])
	}
	return out
}

func (r *ranking) want(t *testing.T, priorities map[int64]float64) {
	t.Helper()
	total := 0.0
	for _, p := range priorities {
		total += p
	}
	got := r.odds()
	for row, p := range priorities {
		if math.Abs(got[row]-p/total) > 1e-6 {
			t.Errorf("row %d has probability %v, want %v of %v: %v", row, got[row], p, total, got)
		}
	}
	if len(got) != len(priorities) {
		t.Errorf("rows %v are drawn, want %v", got, priorities)
	}
}

// TestRanked: rows enter with the priorities that they are inserted with, the others with
// the largest that any was given.
func TestRanked(t *testing.T) {
	r := newRanking(t, 100, 1)
	r.insert()
	r.insert(2, 5)
	r.insert()
	r.want(t, map[int64]float64{0: 1, 1: 1, 2: 2, 3: 5, 4: 5, 5: 5})
	r.table.Prioritise(rl.FromFlat(r.s, []int64{3}, 1), rl.FromFlat(r.s, []float32{.5}, 1))
	r.table.InsertRanked(transition{Reward: iota32(r.s, 6, 2), Terminated: rl.FromFlat(r.s, []bool{false, false}, 2)}, rl.FromFlat(r.s, []bool{false, false}, 2), rl.Tensor{})
	r.want(t, map[int64]float64{0: 1, 1: 1, 2: 2, 3: .5, 4: 5, 5: 5, 6: 5, 7: 5})
}

// TestRankedSteps: a row of three steps has the priority of its first one when the last
// one has come, also of a table that was saved in between and of one that wraps.
func TestRankedSteps(t *testing.T) {
	r := newRanking(t, 8, 3)
	r.insert(1, 2)
	r.insert(3, 4)
	r.insert(5, 6)
	r.want(t, map[int64]float64{0: 1, 1: 2})
	state := rl.NewState(r.s)
	r.table.Save(state)
	again := newRanking(t, 8, 3)
	if err := again.table.Load(state); err != nil {
		t.Fatal(err)
	}
	again.rows = r.rows
	for _, x := range []*ranking{r, again} {
		x.insert(7, 8)
		x.insert(9, 10)
		x.want(t, map[int64]float64{2: 3, 3: 4, 4: 5, 5: 6})
	}
}

// TestRankedWrong: priorities are positive numbers, one for each row, of a table that
// draws by them.
func TestRankedWrong(t *testing.T) {
	fails(t, func() { newRanking(t, 8, 1).insert(1, 0) }, "priorities are positive numbers")
	fails(t, func() { newRanking(t, 8, 1).insert(1, 2, 3) }, "3 priorities for the rows of 2 environments")
	h := newHistory(t, 1, 8, replay.Options{})
	fails(t, func() {
		h.table.InsertRanked(transition{}, rl.Tensor{}, rl.FromFlat(h.s, []float32{1}, 1))
	}, "make it with Options.Priority")
}
