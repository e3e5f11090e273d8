package nn_test

import (
	"strings"
	"testing"

	"github.com/weft-rl/weft/nn"
)

func TestSchedules(t *testing.T) {
	at := []float64{-1, 0, .25, .5, .75, 1, 2}
	for _, c := range []struct {
		name string
		s    nn.Schedule
		want []float64
	}{
		{"constant", nn.Constant(3), []float64{3, 3, 3, 3, 3, 3, 3}},
		{"linear", nn.Linear(1, 0), []float64{1, 1, .75, .5, .25, 0, 0}},
		{"cosine", nn.Cosine(1, 0), []float64{1, 1, .8535534, .5, .1464466, 0, 0}},
		{"cosine up", nn.Cosine(2, 4), []float64{2, 2, 2.2928932, 3, 3.7071068, 4, 4}},
		{"piecewise", nn.Piecewise(nn.Point{At: 0, X: 1}, nn.Point{At: .5, X: 2}, nn.Point{At: .5, X: 5}, nn.Point{At: 1, X: 7}), []float64{1, 1, 1.5, 5, 6, 7, 7}},
		{"one point", nn.Piecewise(nn.Point{At: .5, X: 2}), []float64{2, 2, 2, 2, 2, 2, 2}},
		{"warmup", nn.Warmup(.5, 0, nn.Linear(1, 0)), []float64{0, 0, .375, .5, .25, 0, 0}},
		{"warmup from", nn.Warmup(.5, .2, nn.Constant(1)), []float64{.2, .2, .6, 1, 1, 1, 1}},
		{"no warmup", nn.Warmup(0, 0, nn.Constant(1)), []float64{0, 1, 1, 1, 1, 1, 1}},
	} {
		var got []float64
		for _, p := range at {
			got = append(got, c.s(p))
		}
		near(t, c.name, got, c.want, 1e-7)
	}
	for _, f := range []func(){
		func() { nn.Piecewise() },
		func() { nn.Piecewise(nn.Point{At: 1}, nn.Point{At: 0}) },
	} {
		if msg := failure(f); !strings.Contains(msg, "schedule") {
			t.Errorf("error %q", msg)
		}
	}
}
