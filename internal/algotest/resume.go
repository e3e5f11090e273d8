package algotest

import (
	"reflect"
	"slices"
	"testing"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Resumes checks that a run which is loaded into fresh components in its middle
// ends in the bits of one that goes on.
func Resumes(t *testing.T, a algo.Algorithm, e env.Entry, steps int64, set ...string) {
	t.Helper()
	var middle, end, again *rl.State
	train(t, a, e, nil, steps, set, nil, func(c rl.Cut) error {
		switch {
		case c.Last:
			end = saved(c.Run)
		case c.Steps >= steps/2 && middle == nil:
			middle = saved(c.Run)
		}
		return nil
	})
	train(t, a, e, nil, steps, set, middle, func(c rl.Cut) error {
		if c.Last {
			again = saved(c.Run)
		}
		return nil
	})
	same := func(x, y rl.Array) bool {
		return x.Name == y.Name && x.Shape.Equal(y.Shape) && reflect.DeepEqual(x.Flat, y.Flat)
	}
	if end == nil || again == nil {
		t.Fatal("a run did not come to its end")
	}
	if moved := !slices.EqualFunc(middle.Arrays(), end.Arrays(), same); !moved {
		t.Error("nothing happened after the middle")
	}
	for i, x := range end.Arrays() {
		if y := again.Arrays()[i]; !same(x, y) {
			t.Errorf("%s differs from %s", y.Name, x.Name)
		}
	}
}

func saved(r *rl.Run) *rl.State {
	s := rl.NewState(r.Scope())
	r.Save(s)
	return s
}
