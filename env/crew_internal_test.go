package env

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/rl"
)

func newTestScope(t testing.TB) *rl.Scope {
	b, err := gobackend.New("ops_sequential")
	if err != nil {
		t.Fatal(err)
	}
	return rl.NewScope(rl.NewDevice(b), 1)
}

// typed shows a random number in every type there is, and adds its action to it.
type typed struct{ closed *atomic.Int32 }

var types = []dtypes.DType{
	dtypes.Bool, dtypes.Int8, dtypes.Int16, dtypes.Int32, dtypes.Int64, dtypes.Uint8, dtypes.Uint16, dtypes.Uint32,
	dtypes.Uint64, dtypes.Float32, dtypes.Float64,
}

func typedSpec() Spec {
	var d rl.Dict
	for _, t := range types {
		b := rl.Box{Low: []float64{0}, High: []float64{100}, Dims: []int{2}, DType: t}
		if t == dtypes.Bool {
			b.High = []float64{1}
		}
		d = append(d, rl.SpaceLeaf{Name: t.String(), Space: b})
	}
	return Spec{ID: "Typed-v0", Limit: 3, Obs: d, Action: d}
}

func put[T Number](obs Row, x T) { Leaf[T](obs, dtypes.FromGenericsType[T]().String())[1] = x }

func (h typed) Reset(k rl.Key, obs Row) {
	n := k.IntN(0, 0, 100)
	put(obs, n%2 == 0)
	put(obs, int8(n))
	put(obs, int16(n))
	put(obs, int32(n))
	put(obs, int64(n))
	put(obs, uint8(n))
	put(obs, uint16(n))
	put(obs, uint32(n))
	put(obs, uint64(n))
	put(obs, float32(n))
	put(obs, float64(n))
}

func (h typed) Step(k rl.Key, action, obs Row) (float64, bool, bool) {
	h.Reset(k, obs)
	sum := float64(Leaf[int8](action, "Int8")[0]) + float64(Leaf[uint64](action, "Uint64")[1]) + Leaf[float64](action, "Float64")[0]
	if Leaf[bool](action, "Bool")[0] {
		sum++
	}
	return sum, false, false
}

func (h typed) Close() error {
	if h.closed.Add(1) == 2 {
		return errors.New("stuck")
	}
	return nil
}

// Whatever the number of goroutines, and whatever the type, a step has the same
// bits.
func TestCrew(t *testing.T) {
	var want []string
	for _, hands := range []int{1, 2, 3, 8, 100} {
		s := newTestScope(t)
		closed := new(atomic.Int32)
		e := Entry{ID: "Typed-v0", New: func(s *rl.Scope, n int, _ any) (Batch, error) {
			return Hosts(s, n, typedSpec(), func(int) (Host, error) { return typed{closed}, nil })
		}}
		b, err := Open(s, e, 11, nil)
		if err != nil {
			t.Fatal(err)
		}
		h, _ := Find[*hostBatch](b)
		h.crew.hands = hands
		var got []string
		for i := range 8 {
			x := b.Step(Sample(s, b.Spec(), b.Obs(), rl.NewKey(5).Fold(uint64(i))))
			for _, leaf := range rl.Leaves(x) {
				if leaf.Ok() {
					got = append(got, fmt.Sprint(rl.Floats(leaf)))
				}
			}
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d goroutines give other bits", hands)
		}
		if err := s.Close(); err == nil || !strings.Contains(err.Error(), "environment 1: stuck") || closed.Load() != 11 {
			t.Errorf("%d closed, %v", closed.Load(), err)
		}
	}
}

// Of environments that fail at once, the first is named.
func TestCrewFails(t *testing.T) {
	for _, hands := range []int{1, 4} {
		c := crew{hands: hands}
		at, err := c.do(10, func(i int) {
			if i%3 == 2 {
				panic(fmt.Sprint("broken ", i))
			}
		})
		if at != 2 || err == nil || !strings.Contains(err.Error(), "broken 2") {
			t.Errorf("%d goroutines: environment %d, %v", hands, at, err)
		}
	}
}

// Work is spread once it is worth it.
func TestCrewSize(t *testing.T) {
	c := crew{}
	for _, x := range []struct {
		cost time.Duration
		n    int
		want bool // more than one
	}{{0, 64, false}, {worth, 64, false}, {time.Second, 1, false}} {
		if c.cost = x.cost; (c.size(x.n) > 1) != x.want {
			t.Errorf("%v for %d environments: %d goroutines", x.cost, x.n, c.size(x.n))
		}
	}
	c.hands = 3
	if c.size(64) != 3 || c.size(2) != 2 {
		t.Errorf("%d and %d goroutines", c.size(64), c.size(2))
	}
}

// busy takes some time for a step.
type busy struct{ work int }

func (h busy) Reset(k rl.Key, obs Row) { obs.Float32("")[0] = float32(k.Uniform(0, 0)) }

func (h busy) Step(k rl.Key, _, obs Row) (float64, bool, bool) {
	x := 0.
	for i := range h.work {
		x += k.Uniform(0, i)
	}
	obs.Float32("")[0] = float32(x)
	return x, false, false
}

func BenchmarkHosts(b *testing.B) {
	spec := Spec{ID: "Busy", Limit: 100, Obs: rl.Box{Dims: []int{1}}, Action: rl.Discrete{N: 2}}
	for _, work := range []int{0, 1000} {
		for _, hands := range []int{1, 0} {
			b.Run(fmt.Sprintf("work%d/hands%d", work, hands), func(b *testing.B) {
				s := newTestScope(b)
				batch, err := Hosts(s, 16, spec, func(int) (Host, error) { return busy{work}, nil })
				if err != nil {
					b.Fatal(err)
				}
				h, _ := Find[*hostBatch](batch)
				h.crew.hands = hands
				act := Sample(s, batch.Spec(), batch.Obs(), s.Key("act"))
				for b.Loop() {
					batch.Step(act)
				}
				b.ReportMetric(float64(b.N*16)/b.Elapsed().Seconds(), "steps/s")
			})
		}
	}
}
