package rl_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/rl"
)

func TestSpaces(t *testing.T) {
	for _, x := range []struct {
		space       rl.Space
		text, shape string
		choices     int
	}{
		{rl.Box{Low: []float64{-1}, High: []float64{2}, Dims: []int{3}}, "Box(-1..2, [3])", "(Float32)[3]", 0},
		{rl.Box{Dims: []int{2, 2}}, "Box(-Inf..+Inf, [2 2])", "(Float32)[2, 2]", 0},
		{rl.Box{High: []float64{255}, Low: []float64{0}, Dims: []int{4}, DType: dtypes.Uint8}, "Box(0..255, [4])", "(Uint8)[4]", 0},
		{rl.Discrete{N: 4}, "Discrete(4)", "(Int32)", 4},
		{rl.Discrete{N: 4, Start: -1}, "Discrete(4 from -1)", "(Int32)", 4},
		{rl.MultiDiscrete{N: []int{2, 3}}, "MultiDiscrete([2 3])", "(Int32)[2]", 5},
		{rl.MultiBinary{N: 3}, "MultiBinary(3)", "(Int32)[3]", 6},
	} {
		if x.space.String() != x.text || x.space.Shape().String() != x.shape || rl.Choices(x.space) != x.choices {
			t.Errorf("%s, %s, %d choices; want %s, %s, %d",
				x.space, x.space.Shape(), rl.Choices(x.space), x.text, x.shape, x.choices)
		}
		if l := x.space.Leaves(); len(l) != 1 || l[0].Name != "" || l[0].Space.String() != x.text {
			t.Errorf("the leaves of %s are %v", x.space, l)
		}
	}
}

func TestDict(t *testing.T) {
	box := rl.Box{Dims: []int{2}}
	d := rl.Dict{
		{"position", box},
		{"hand", rl.Dict{{"left", rl.Discrete{N: 2}}, {"right", rl.Dict{{"finger", rl.MultiBinary{N: 5}}}}}},
		{"alone", rl.Discrete{N: 3}},
	}
	var names, texts []string
	for _, l := range d.Leaves() {
		names, texts = append(names, l.Name), append(texts, l.Space.String())
	}
	equal(t, "names", names, []string{"position", "hand.left", "hand.right.finger", "alone"})
	equal(t, "spaces", texts, []string{"Box(-Inf..+Inf, [2])", "Discrete(2)", "MultiBinary(5)", "Discrete(3)"})
	want := "Dict(position: Box(-Inf..+Inf, [2]), hand: Dict(left: Discrete(2), right: Dict(finger: MultiBinary(5))), alone: Discrete(3))"
	if d.String() != want || d.Shape().Ok() || rl.Choices(d) != 0 {
		t.Errorf("%s, shape %s", d, d.Shape())
	}
}

func TestOutside(t *testing.T) {
	s := scope(t)
	nan, inf := math.NaN(), math.Inf(1)
	unit := rl.Box{Low: []float64{0}, High: []float64{1}, Dims: []int{2}}
	each := rl.Box{Low: []float64{0, -5}, High: []float64{1, 5}, Dims: []int{2}}
	for _, c := range []struct {
		space   rl.Space
		batch   rl.Tensor
		row, at int // -1 if all is inside
	}{
		{unit, floats(s, []float64{0, 1, .5, .5}, 2, 2), -1, 0},
		{unit, floats(s, []float64{0, 1, .5, 1.5, 9, 9}, 3, 2), 1, 1},
		{unit, floats(s, []float64{0, nan}, 1, 2), 0, 1},
		{unit, rl.FromFlat(s, []float64{0, 1, -1, 0}, 2, 2), 1, 0},
		{each, floats(s, []float64{1, 5, 0, -5}, 2, 2), -1, 0},
		{each, floats(s, []float64{1, 5, 2, 2}, 2, 2), 1, 0},
		{each, floats(s, []float64{0, nan, 2, 2}, 2, 2), 0, 1},
		{rl.Box{Low: []float64{0}, High: []float64{1, 5}, Dims: []int{2}}, floats(s, []float64{1, 5, 1, -1}, 2, 2), 1, 1},
		{rl.Box{Dims: []int{2}}, floats(s, []float64{inf, -inf, 0, nan}, 2, 2), 1, 1},
		// A bound with more digits than float32 holds does not exclude itself.
		{rl.Box{Low: []float64{-.1}, High: []float64{.1}}, floats(s, []float64{.1, -.1}, 2), -1, 0},
		{rl.Box{High: []float64{200}, Dims: []int{1}, DType: dtypes.Uint8}, rl.FromFlat(s, []uint8{200, 201}, 2, 1), 1, 0},
		{rl.Discrete{N: 3}, rl.FromFlat(s, []int32{0, 2, 3}, 3), 2, 0},
		{rl.Discrete{N: 3, Start: 5}, rl.FromFlat(s, []int32{5, 7, 4}, 3), 2, 0},
		{rl.Discrete{N: 3, Start: 5}, rl.FromFlat(s, []int64{5, 7}, 2), -1, 0},
		{rl.MultiDiscrete{N: []int{2, 3}}, rl.FromFlat(s, []int32{1, 2, 0, 3}, 2, 2), 1, 1},
		{rl.MultiDiscrete{N: []int{2, 3}}, rl.FromFlat(s, []int32{1, 2, 2, 2}, 2, 2), 1, 0},
		{rl.MultiBinary{N: 2}, rl.FromFlat(s, []int32{0, 1, -1, 0}, 2, 2), 1, 0},
	} {
		row, at, x, bad := rl.Outside(c.space, c.batch)
		what := fmt.Sprintf("%s of %v", c.space, rl.Floats(c.batch))
		if bad != (c.row >= 0) {
			t.Errorf("%s: found %v (%d, %d), %v", what, x, row, at, bad)
			continue
		}
		if !bad {
			continue
		}
		want := rl.Floats(c.batch)[c.row*max(1, c.space.Shape().Size())+c.at]
		if row != c.row || at != c.at || math.Float64bits(x) != math.Float64bits(want) && x == x {
			t.Errorf("%s: found %v at (%d, %d), want %v at (%d, %d)", what, x, row, at, want, c.row, c.at)
		}
	}
}
