package replay_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"testing"

	"github.com/gomlx/compute/gobackend"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// given is a row for Reservoir. ID is its number, Bytes a picture of it.
type given struct {
	ID    rl.Tensor
	Bytes rl.Tree
	Extra rl.Tensor // absent
}

// rowsFrom returns n rows from a number on.
func rowsFrom(s *rl.Scope, from, n int) given {
	id, pixels := make([]int64, n), make([]uint8, 2*n)
	for i := range id {
		id[i] = int64(from + i)
		pixels[2*i], pixels[2*i+1] = uint8(from+i), uint8(from+i+1)
	}
	return given{ID: rl.FromFlat(s, id, n), Bytes: rl.One(rl.FromFlat(s, pixels, n, 2))}
}

// kept returns the numbers of the rows in a reservoir, by slot.
func kept(s *rl.Scope, r *replay.Reservoir[given]) []int64 {
	st := rl.NewState(s)
	r.Save(st)
	return rl.GetSlice[int64](st, "number")
}

// TestReservoirByHand: the rows that are kept are those of algorithm R, worked out
// with integers of any size.
func TestReservoirByHand(t *testing.T) {
	s := scope(t)
	r := replay.NewReservoir[given](s, "reservoir", 4)
	key := s.Key("reservoir").Use("reservoir")
	var want []int64
	for step := range 20 {
		r.Insert(rowsFrom(s, 3*step, 3), rl.Tensor{})
		for n := int64(3 * step); n < int64(3*step+3); n++ {
			if len(want) < 4 {
				want = append(want, n)
				continue
			}
			w := key.Bits(int(n), 0)
			x := new(big.Int).SetUint64(uint64(w[0]) | uint64(w[1])<<32)
			x.Rsh(x.Mul(x, big.NewInt(n+1)), 64)
			if x.Int64() < 4 {
				want[x.Int64()] = n
			}
		}
		equal(t, fmt.Sprint("kept after step ", step), kept(s, r), want)
	}
	if slices.Max(want) < 4 {
		t.Error("nothing was ever replaced")
	}
	x := r.Sample(s.Key("sample"), 16)
	equal(t, "rows", rl.Read[int64](x.Data.ID), rl.Read[int64](x.Index))
	for i, id := range rl.Read[int64](x.Index) {
		equal(t, "bytes", rl.Read[uint8](x.Data.Bytes.Leaf(""))[2*i:2*i+2], []uint8{uint8(id), uint8(id + 1)})
		if p := rl.Read[float32](x.Prob)[i]; p != .25 || !slices.Contains(want, id) {
			t.Errorf("row %d, probability %v", id, p)
		}
	}
	if x.Data.Extra.Ok() || x.Discount.Ok() || x.Valid.Ok() {
		t.Error("an absent tensor is there")
	}
}

// TestReservoirUniform: over many seeds, every row is kept, and drawn, about equally
// often.
func TestReservoirUniform(t *testing.T) {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	const seeds, rows, capacity = 4000, 40, 5
	keeps, draws := make([]float64, rows), make([]float64, rows)
	for seed := range uint64(seeds) {
		s := rl.NewScope(rl.NewDevice(b), seed)
		r := replay.NewReservoir[given](s, "reservoir", capacity)
		for step := range rows / 2 {
			r.Insert(rowsFrom(s, 2*step, 2), rl.Tensor{})
		}
		for _, n := range kept(s, r) {
			keeps[n]++
		}
		draws[rl.Read[int64](r.Sample(s.Key("sample"), 1).Index)[0]]++
	}
	for name, count := range map[string][]float64{"kept": keeps, "drawn": draws} {
		mean, chi := 0.0, 0.0
		for _, c := range count {
			mean += c / rows
		}
		for _, c := range count {
			chi += (c - mean) * (c - mean) / mean
		}
		// 39 degrees of freedom; the bound is mean and five standard deviations.
		if bound := 39 + 5*math.Sqrt(2*39); chi > bound {
			t.Errorf("%s: chi squared %.1f, above %.1f: %v", name, chi, bound, count)
		}
	}
}

// TestReservoirKeep: rows that are not to be kept do not count.
func TestReservoirKeep(t *testing.T) {
	s := scope(t)
	a, b := replay.NewReservoir[given](s, "reservoir", 3), replay.NewReservoir[given](scope(t), "reservoir", 3)
	for step := range 30 {
		e := rowsFrom(s, 4*step, 4)
		a.Insert(e, rl.FromFlat(s, []bool{true, false, step%2 == 0, false}, 4))
		for _, i := range []int{0, 2} {
			if i == 0 || step%2 == 0 {
				b.Insert(rowsFrom(s, 4*step+i, 1), rl.Tensor{})
			}
		}
	}
	sameState(t, s, a, b)
}

// TestReservoirResume: a reservoir that was saved and loaded goes on as if nothing had
// been, at any moment: empty, filling, full.
func TestReservoirResume(t *testing.T) {
	for _, at := range []int{0, 1, 2, 30} {
		sa, sb := scope(t), scope(t)
		a, b := replay.NewReservoir[given](sa, "reservoir", 7), replay.NewReservoir[given](sb, "reservoir", 7)
		for step := range at {
			a.Insert(rowsFrom(sa, 3*step, 3), rl.Tensor{})
		}
		st := rl.NewState(sa)
		a.Save(st)
		if err := b.Load(st); err != nil {
			t.Fatal(err)
		}
		for step := at; step < at+10; step++ {
			if a.Ready(1) {
				k := sa.Key("sample").Fold(uint64(step))
				if x, y := rl.Leaves(a.Sample(k, 5)), rl.Leaves(b.Sample(k, 5)); !slices.EqualFunc(x, y, sameTensor) {
					t.Fatalf("samples differ: %v, %v", x, y)
				}
			}
			a.Insert(rowsFrom(sa, 3*step, 3), rl.Tensor{})
			b.Insert(rowsFrom(sb, 3*step, 3), rl.Tensor{})
		}
		sameState(t, sa, a, b)
	}
}

// TestReservoirErrors: what is wrong is said.
func TestReservoirErrors(t *testing.T) {
	s := scope(t)
	r := replay.NewReservoir[given](s, "reservoir", 3)
	for _, c := range []struct {
		f    func()
		part string
	}{
		{func() { replay.NewReservoir[given](s, "none", 0) }, "capacity 0: it must be at least 1 row"},
		{func() { r.Sample(s.Key("x"), 1) }, "before it has a row"},
		{func() { r.Insert(given{}, rl.Tensor{}) }, "has no tensor to keep rows of"},
		{func() { r.Insert(given{ID: iota32(s, 0, 2), Extra: iota32(s, 0, 3)}, rl.Tensor{}) }, "Extra has 3 rows, others have 2"},
	} {
		fails(t, c.f, c.part)
	}
	r = replay.NewReservoir[given](s, "good", 3)
	r.Insert(rowsFrom(s, 0, 2), rl.Tensor{})
	fails(t, func() { r.Insert(given{ID: iota32(s, 0, 2)}, rl.Tensor{}) }, "other tensors")
	fails(t, func() { r.Insert(rowsFrom(s, 0, 2), rl.FromFlat(s, []bool{true}, 1)) }, "other tensors")
	if !r.Ready(2) || r.Ready(3) || r.Axis() != rl.None || r.InPart([]rl.Span{{Lo: 0, Hi: 1, Of: 3}, {Lo: 1, Hi: 3, Of: 3}}) != nil {
		t.Error("two rows are not ready, or more, or may not come in parts")
	}
	st := rl.NewState(s)
	r.Save(st)
	if replay.NewReservoir[given](s, "other", 4).Load(st) == nil {
		t.Error("the state of another reservoir was loaded")
	}
}

// TestReservoirAllocations: those of a sample do not grow with its rows.
func TestReservoirAllocations(t *testing.T) {
	s := scope(t)
	r := replay.NewReservoir[given](s, "reservoir", 100)
	for step := range 60 {
		r.Insert(rowsFrom(s, 3*step, 3), rl.Tensor{})
	}
	of := func(n int) float64 {
		return testing.AllocsPerRun(50, func() { r.Sample(s.Key("sample"), n) })
	}
	if few, many := of(8), of(512); many > few+4 { // a few by chance
		t.Errorf("%v allocations for 8 rows, %v for 512", few, many)
	}
}
