package ppo

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// horizon makes minibatches as long as a tile of the kernels for GPUs.
const horizon = 32

func trainer(t *testing.T, on string) (*Trainer, *rl.Scope) {
	d, err := device.Open(on)
	if err != nil {
		t.Fatal(err)
	}
	return trainerOn(t, d, classic.All[0], horizon)
}

func trainerOn(t *testing.T, d *rl.Device, in env.Entry, horizon int) (*Trainer, *rl.Scope) {
	s := rl.NewScope(d, 7)
	c := new(Config)
	if err := config.Defaults(c); err != nil {
		t.Fatal(err)
	}
	c.Envs, c.Horizon = 8, horizon
	made, err := build(s, algo.On(s, in, nil, nil), c)
	if err != nil {
		t.Fatal(err)
	}
	return made.(*Trainer), s
}

// told records the events of a run, and its state at the end.
type told struct {
	logs  [][]rl.Logged
	eps   []rl.Episode
	state []rl.Array
}

// watched trains with train and collects what it told.
func watched(t *testing.T, train func(*Trainer, *rl.Run) error) (s told) {
	t.Helper()
	return watchedOn(t, device.Default, 7, train)
}

func watchedOn(t *testing.T, on string, iterations int64, train func(*Trainer, *rl.Run) error) (s told) {
	t.Helper()
	made, scope := trainer(t, on)
	run := rl.NewRun(scope, 8*horizon*iterations, func(c rl.Cut) error {
		if c.Iter > 0 {
			s.logs = append(s.logs, c.Logs)
		}
		s.eps = append(s.eps, c.Episodes...)
		return nil
	})
	if err := train(made, run); err != nil {
		t.Fatal(err)
	}
	st := rl.NewState(scope)
	run.Save(st)
	s.state = st.Arrays()
	return s
}

// lower returns training as a device program.
func lower(how rl.Chunks) func(*Trainer, *rl.Run) error {
	return func(t *Trainer, run *rl.Run) error {
		train, err := rl.System.Lower(run, how, func(run *rl.Run) { trainLowered(t, run) })
		if err != nil {
			return err
		}
		return train(func(int64) int64 { return math.MaxInt64 })
	}
}

// A device program of the loop gives the bits of the loop, however it is cut up.
func TestLowered(t *testing.T) {
	want := watched(t, func(t *Trainer, run *rl.Run) error { return rl.Train(t, run) })
	for _, how := range []rl.Chunks{{}, {Most: 4}, {Most: 3, Unroll: 4}, {Most: 4, Sums: true}, {Most: 4, Far: true}, {Most: 3, Unroll: 4, Far: true}} {
		got := watched(t, lower(how))
		if !slices.EqualFunc(want.logs, got.logs, slices.Equal[[]rl.Logged]) {
			t.Errorf("%+v: logs\n%v\nwant\n%v", how, got.logs, want.logs)
		}
		if !how.Sums && !reflect.DeepEqual(want.eps, got.eps) || len(want.eps) == 0 {
			t.Errorf("%+v: episodes %v, want %v", how, got.eps, want.eps)
		}
		if len(want.state) != len(got.state) {
			t.Fatalf("%+v: %d arrays, want %d", how, len(got.state), len(want.state))
		}
		for i, a := range want.state {
			if how.Sums && strings.HasPrefix(a.Name, "episodes/window/") {
				continue // one stands for those of an iteration
			}
			if a.Name != got.state[i].Name || !equalFlat(a.Flat, got.state[i].Flat) {
				t.Errorf("%+v: %s differs", how, a.Name)
			}
		}
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
