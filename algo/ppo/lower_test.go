package ppo

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

func trainer(t *testing.T, set ...string) (*Trainer, *rl.Scope) {
	d, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	s := rl.NewScope(d, 7)
	c := new(Config)
	if err := config.Defaults(c); err != nil {
		t.Fatal(err)
	}
	c.Envs, c.Horizon = 8, 16
	made, err := build(s, algo.On(s, classic.All[0], nil, nil), c)
	if err != nil {
		t.Fatal(err)
	}
	return made.(*Trainer), s
}

// A device program of the loop gives the bits of the loop.
func TestLowered(t *testing.T) {
	type seen struct {
		logs [][]rl.Logged
		eps  []rl.Episode
	}
	watch := func(s *seen) func(rl.Cut) error {
		return func(c rl.Cut) error {
			if c.Iter > 0 {
				s.logs = append(s.logs, c.Logs)
			}
			s.eps = append(s.eps, c.Episodes...)
			return nil
		}
	}
	state := func(r *rl.Run, s *rl.Scope) []rl.Array {
		st := rl.NewState(s)
		r.Save(st)
		return st.Arrays()
	}
	const steps = 8 * 16 * 7
	var plain, lowered seen
	a, sa := trainer(t)
	ra := rl.NewRun(sa, steps, watch(&plain))
	if err := rl.Train(a, ra); err != nil {
		t.Fatal(err)
	}
	b, sb := trainer(t)
	rb := rl.NewRun(sb, steps, watch(&lowered))
	p, err := rl.Lower(rb, 4, func(run *rl.Run) { trainLowered(b, run) })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Train(func(int64) int64 { return 1 << 62 }); err != nil {
		t.Fatal(err)
	}
	want, got := state(ra, sa), state(rb, sb)
	if len(want) != len(got) {
		t.Fatalf("%d arrays, want %d", len(got), len(want))
	}
	for i := range want {
		if want[i].Name != got[i].Name || !equalFlat(want[i].Flat, got[i].Flat) {
			t.Errorf("%s differs", want[i].Name)
		}
	}
	if !slices.EqualFunc(plain.logs, lowered.logs, slices.Equal[[]rl.Logged]) {
		t.Errorf("logs\n%v\nwant\n%v", lowered.logs, plain.logs)
	}
	if !reflect.DeepEqual(plain.eps, lowered.eps) || len(plain.eps) == 0 {
		t.Errorf("episodes %v, want %v", lowered.eps, plain.eps)
	}
}

func equalFlat(a, b any) bool {
	switch a := a.(type) {
	case []float32:
		return slices.Equal(a, b.([]float32))
	case []float64:
		return slices.Equal(a, b.([]float64))
	case []int64:
		return slices.Equal(a, b.([]int64))
	case []int32:
		return slices.Equal(a, b.([]int32))
	case []uint32:
		return slices.Equal(a, b.([]uint32))
	case []bool:
		return slices.Equal(a, b.([]bool))
	}
	return false
}
