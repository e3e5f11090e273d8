package data_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/data/datatest"
	"github.com/weft-rl/weft/internal/algotest"
	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// meta describes sets whose observations are two numbers, of which the first is the row's, and
// whose actions are one of four.
func meta() data.Meta {
	return data.Meta{Env: "Count-v0", Obs: rl.Box{Dims: []int{2}}, Action: rl.Discrete{N: 4}}
}

// counted returns an episode whose observations begin with the numbers from first on; rewards are
// the same numbers.
func counted(first, steps int, terminated bool) data.Episode {
	e := data.NewEpisode(meta(), steps)
	obs, action, reward := e.Columns[0].([]float32), e.Columns[1].([]int32), e.Columns[2].([]float32)
	for t := range steps + 1 {
		obs[2*t], obs[2*t+1] = float32(first+t), .5
	}
	for t := range steps {
		action[t], reward[t] = int32(t%4), float32(first+t)
	}
	e.Columns[3].([]bool)[steps-1], e.Columns[4].([]bool)[steps-1] = terminated, !terminated
	return e
}

// set returns three episodes of 3, 1 and 5 steps: rows 0..3, 4..5 and 6..11.
func set(t testing.TB) *data.Memory {
	t.Helper()
	m, err := data.NewMemory(meta())
	if err != nil {
		t.Fatal(err)
	}
	for i, steps := range []int{3, 1, 5} {
		if err := m.Add(counted([]int{0, 4, 6}[i], steps, i != 1)); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Complete(); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMemory(t *testing.T) {
	src := set(t)
	datatest.Check(t, src)
	m := src.Meta()
	if m.Episodes != 3 || m.Steps != 9 || m.Longest != 5 {
		t.Errorf("%d episodes of %d steps, the longest of %d", m.Episodes, m.Steps, m.Longest)
	}
	if want := (data.Summary{Mean: (3 + 4 + 40) / 3., Std: m.Returns.Std, Min: 3, Max: 40}); m.Returns != want {
		t.Errorf("returns %+v, want %+v", m.Returns, want)
	}
	if got := m.Norm.Mean[1]; got != .5 || m.Norm.Std[1] != 0 || m.Norm.Mean[0] != 5.5 {
		t.Errorf("observations %+v", m.Norm)
	}
}

// TestAmong: a sample has rows of the set before rows of its own, with their discounts, and the
// first step of an episode is known.
func TestAmong(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	d := data.New[replay.Transition](s, "data", set(t), data.Options{Discount: .5})
	own := d.Sample(rl.NewKey(9), 6)
	own.Data.Obs.First = rl.FromFlat(s, make([]bool, 6), 6)
	own.Data.Next.First = own.Data.Obs.First
	got, want := d.Among(rl.NewKey(3), 4, own), d.Sample(rl.NewKey(3), 4)
	rows, mine := rl.Read[int64](want.Index), rl.Read[int64](own.Index)
	index, reward, first := rl.Read[int64](got.Index), rl.Read[float32](got.Data.Reward), rl.Read[bool](got.Data.Obs.First)
	for i, r := range reward {
		from := append(slices.Clone(rows), mine[4:]...)[i]
		begins := i < 4 && (from == 0 || from == 4 || from == 6)
		if r != float32(from) || first[i] != begins || i < 4 && index[i] != -1 || i >= 4 && index[i] != mine[i] {
			t.Errorf("row %d: reward %v, first %v, index %d; the step is %d", i, r, first[i], index[i], from)
		}
	}
	if got := d.Among(rl.NewKey(3), 0, own); !slices.Equal(rl.Read[int64](got.Index), mine) {
		t.Error("no rows of the set change the sample")
	}
}

// TestFirst: the first episodes of a set are a set of their own, with what is known of them alone.
func TestFirst(t *testing.T) {
	src, err := data.First(set(t), 2)
	if err != nil {
		t.Fatal(err)
	}
	datatest.Check(t, src)
	if m := src.Meta(); m.Episodes != 2 || m.Steps != 4 || m.Longest != 3 || m.Returns.Max != 4 || m.Norm.Mean[0] != 2.5 {
		t.Errorf("%d episodes of %d steps, the longest of %d, returns to %g, observations %v", m.Episodes, m.Steps, m.Longest, m.Returns.Max, m.Norm.Mean)
	}
	if _, err := data.First(set(t), 4); err == nil || !strings.Contains(err.Error(), "the first 4 are asked for, the data set has 3") {
		t.Errorf("four of three episodes: %v", err)
	}
}

// TestSample: every step is drawn as its row has it, and the successor of the last step of an
// episode is the final observation.
func TestSample(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	d := data.New[replay.Transition](s, "data", set(t), data.Options{Discount: .5})
	b := d.Sample(rl.NewKey(3), 400)
	rows, next := rl.Read[int64](b.Index), rl.Read[float32](b.Data.Next.X.Leaf(""))
	reward, term := rl.Read[float32](b.Data.Reward), rl.Read[bool](b.Data.Terminated)
	seen := map[int64]int{}
	for i, r := range rows {
		seen[r]++
		if reward[i] != float32(r) || next[2*i] != float32(r+1) || term[i] != (r == 2 || r == 10) {
			t.Fatalf("row %d: reward %v, next %v, terminated %v", r, reward[i], next[2*i], term[i])
		}
	}
	for _, final := range []int64{3, 5, 11} {
		if seen[final] > 0 {
			t.Errorf("row %d was drawn, which is no step", final)
		}
	}
	if len(seen) != 9 || rl.Read[float32](b.Discount)[0] != .5 {
		t.Errorf("steps %v, discount %v", seen, rl.Read[float32](b.Discount)[0])
	}
}

// TestNStep: rewards are summed to the end of the episode at most, and what is read last is the
// last step's.
func TestNStep(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	d := data.New[replay.Transition](s, "data", set(t), data.Options{NStep: 3, Discount: .5})
	b := d.Sample(rl.NewKey(3), 200)
	reward, discount, next := rl.Read[float32](b.Data.Reward), rl.Read[float32](b.Discount), rl.Read[float32](b.Data.Next.X.Leaf(""))
	want := map[int64][3]float32{ // reward, discount, next
		0: {0 + .5*1 + .25*2, .125, 3}, 1: {1 + .5*2, .25, 3}, 2: {2, .5, 3}, 4: {4, .5, 5},
		6: {6 + .5*7 + .25*8, .125, 9}, 9: {9 + .5*10, .25, 11},
	}
	for i, r := range rl.Read[int64](b.Index) {
		if w, ok := want[r]; ok && w != [3]float32{reward[i], discount[i], next[2*i]} {
			t.Errorf("row %d: reward %v, discount %v, next %v, want %v", r, reward[i], discount[i], next[2*i], w)
		}
	}
}

func TestSequences(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	d := data.New[replay.Transition](s, "data", set(t), data.Options{})
	b := d.Sequences(rl.NewKey(4), 50, 3)
	obs, valid := rl.Read[float32](b.Data.Obs.X.Leaf("")), rl.Read[bool](b.Valid)
	next := rl.Read[float32](b.Data.Next.X.Leaf(""))
	left := map[int64]int{0: 3, 1: 2, 2: 1, 4: 1, 6: 5, 7: 4, 8: 3, 9: 2, 10: 1}
	for i, r := range rl.Read[int64](b.Index) {
		for step := range 3 {
			at := float32(r) + float32(min(step, left[r]-1))
			if valid[3*i+step] != (step < left[r]) || obs[2*(3*i+step)] != at || next[2*(3*i+step)] != at+1 {
				t.Errorf("step %d from row %d: valid %v, observation %v, next %v", step, r, valid[3*i+step], obs[2*(3*i+step)], next[2*(3*i+step)])
			}
		}
	}
	if got := b.Data.Obs.X.Leaf("").Shape().Dimensions; got[0] != 50 || got[1] != 3 || got[2] != 2 {
		t.Errorf("observations %v", got)
	}
}

func TestEpisodes(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	d := data.New[struct{ Reward rl.Tensor }](s, "data", set(t), data.Options{})
	b := d.Episodes(rl.NewKey(4), 30)
	reward, valid, seen := rl.Read[float32](b.Data.Reward), rl.Read[bool](b.Valid), map[int64]bool{}
	for i, r := range rl.Read[int64](b.Index) {
		seen[r] = true
		sum := float32(0)
		for step := range 5 {
			if valid[5*i+step] {
				sum += reward[5*i+step]
			}
		}
		if want := map[int64]float32{0: 3, 4: 4, 6: 40}[r]; sum != want {
			t.Errorf("the episode from row %d has the return %v, want %v", r, sum, want)
		}
	}
	if len(seen) != 3 {
		t.Errorf("episodes from rows %v were drawn", seen)
	}
}

// TestState: a set saves its checksum, and refuses the state of another.
func TestState(t *testing.T) {
	s := rl.NewScope(algotest.Device(t), 1)
	d := data.New[replay.Transition](s, "data", set(t), data.Options{})
	st := rl.NewState(s)
	d.Save(st)
	size := int64(0)
	for _, a := range st.Arrays() {
		size += int64(a.Shape.ByteSize())
	}
	if err := d.Load(st); err != nil || size > 100 {
		t.Errorf("%d bytes of state: %v", size, err)
	}
	other, err := data.NewMemory(meta())
	if err == nil {
		err = other.Add(counted(1, 2, true))
	}
	if err == nil {
		err = other.Complete()
	}
	if err != nil {
		t.Fatal(err)
	}
	e := data.New[replay.Transition](s, "other", other, data.Options{})
	if err := e.Load(st); err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("the state of another set is taken: %v", err)
	}
}

// TestBad: what is wrong with an episode is said with its number and row.
func TestBad(t *testing.T) {
	for _, c := range []struct {
		name, want string
		spoil      func(e *data.Episode)
	}{
		{"NaN", `episode 1: row 2: column "obs" is NaN`, func(e *data.Episode) { e.Columns[0].([]float32)[4] = float32(math.NaN()) }},
		{"infinite", `episode 1: row 1: column "reward" is +Inf`, func(e *data.Episode) { e.Columns[2].([]float32)[1] = float32(math.Inf(1)) }},
		{"space", `episode 1: row 1: number 0 of column "action" is 4, which is not in Discrete(4)`, func(e *data.Episode) { e.Columns[1].([]int32)[1] = 4 }},
		{"end", `episode 1: row 2: the last step of an episode is terminated or truncated, this one is neither`, func(e *data.Episode) { e.Columns[3].([]bool)[2] = false }},
		{"early", `episode 1: row 0: it is terminated or truncated, and another step follows in the same episode`, func(e *data.Episode) { e.Columns[4].([]bool)[0] = true }},
		{"short", `episode 1: column "reward" has 3 numbers, 4 rows of (Float32) have 4`, func(e *data.Episode) { e.Columns[2] = e.Columns[2].([]float32)[:3] }},
		{"empty", `episode 1: an episode has at least one step, this one has 0`, func(e *data.Episode) { e.Steps = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := data.NewBuilder(meta())
			if err == nil {
				err = b.Add(counted(0, 3, true))
			}
			if err != nil {
				t.Fatal(err)
			}
			e := counted(0, 3, true)
			c.spoil(&e)
			if err := b.Add(e); err == nil || err.Error() != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}
