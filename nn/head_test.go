package nn_test

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

func actionShape(n int) shapes.Shape { return shapes.Make(dtypes.Int32, n) }

func box(dims ...int) rl.Box { return rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: dims} }

// Every head's samples are of the space's shape and dtype, and for bounded ones
// in it.
func TestHead(t *testing.T) {
	nested := rl.Dict{
		{Name: "fire", Space: rl.Discrete{N: 2}},
		{Name: "arm", Space: rl.Dict{{Name: "reach", Space: box(2)}, {Name: "grip", Space: rl.MultiBinary{N: 3}}}},
	}
	for _, c := range []struct {
		space           rl.Space
		units, squashed int
	}{
		{rl.Discrete{N: 4, Start: 7}, 4, 4},
		{rl.MultiDiscrete{N: []int{2, 3}}, 5, 5},
		{rl.MultiBinary{N: 3}, 3, 3},
		{box(), 1, 2},
		{box(2, 3), 6, 12},
		{rl.Box{Low: []float64{0, 5}, High: []float64{1, 9}, Dims: []int{2}, DType: dtypes.Float64}, 2, 4},
		{nested, 7, 9},
	} {
		for _, h := range []struct {
			nn.Head
			units int
		}{{nn.NewHead(c.space), c.units}, {nn.NewBoundedHead(c.space), c.units}, {nn.NewSquashedHead(c.space), c.squashed}} {
			if h.Units() != h.units {
				t.Errorf("%s: %d units, want %d", c.space, h.Units(), h.units)
			}
			testHead(t, c.space, h.Head)
		}
	}
}

func testHead(t *testing.T, space rl.Space, h nn.Head) {
	s := scope(t)
	zeros := func(c *rl.Ctx) *node { return graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, h.Units())) }
	p := rl.NewParams(s, "p", func(c *rl.Ctx, sc *model.Scope) {
		nn.Dense(c, sc.At("net"), zeros(c), 1, 1)
		h.Dist(c, sc.At("head"), zeros(c), rl.Tree{})
	})
	type out struct {
		Action rl.Tree
		Log    rl.Tensor
	}
	f := rl.NewFunc(s, "act", func(c *rl.Ctx, x rl.Tensor) out {
		d := h.Dist(c, c.Scope(p).At("head"), x.Node(), rl.Tree{})
		a := d.Sample(c, "a")
		return out{h.Clip(a), rl.Wrap(d.LogProb(a))}
	})
	const rows = 50
	got := f.Call(s.Key("k"), rl.FromFlat(s, wave(rows*h.Units(), 0), rows, h.Units()))
	for _, l := range space.Leaves() {
		a := got.Action.Leaf(l.Name)
		want := shapes.Make(l.Space.Shape().DType, append([]int{rows}, l.Space.Shape().Dimensions...)...)
		if !a.Shape().Equal(want) {
			t.Errorf("%s: action %q has shape %s, want %s", space, l.Name, a.Shape(), want)
		}
		if row, at, x, bad := rl.Outside(l.Space, a); bad {
			t.Errorf("%s: number %d of row %d is %g", space, at, row, x)
		}
	}
	if len(rl.Floats(got.Log)) != rows {
		t.Errorf("%s: log-probabilities %s", space, got.Log.Shape())
	}
}

func TestHeadLogStd(t *testing.T) {
	s := scope(t)
	space := rl.Dict{{Name: "a", Space: box(2)}, {Name: "b", Space: box(1)}}
	h := nn.NewHead(space)
	p := rl.NewParams(s, "p", func(c *rl.Ctx, sc *model.Scope) {
		h.Dist(c, sc, graph.Zeros(c.Graph(), shapes.Make(dtypes.Float32, 1, 3)), rl.Tree{})
	})
	if want := map[string][]float64{"a/log_std": {0, 0}, "b/log_std": {0}}; !reflect.DeepEqual(weights(p), want) {
		t.Errorf("parameters %v, want %v", weights(p), want)
	}
}

// A mask of one leaf of a Dict holds for that leaf.
func TestHeadLegal(t *testing.T) {
	s := scope(t)
	h := nn.NewHead(rl.Dict{{Name: "a", Space: rl.Discrete{N: 3}}, {Name: "b", Space: rl.Discrete{N: 2, Start: 1}}})
	out := eval(s, func(c *rl.Ctx, x []*node) []*node {
		m := h.Dist(c, nil, x[0], rl.NewTree([]string{"a"}, []rl.Tensor{rl.Wrap(x[1])})).Mode()
		return []*node{m.Leaf("a").Node(), m.Leaf("b").Node()}
	}, rl.FromFlat(s, []float32{1, 2, 9, 0, 1}, 1, 5), rl.FromFlat(s, []bool{true, true, false}, 1, 3))
	near(t, "modes", append(out[0], out[1]...), []float64{1, 2}, 0)
}

func TestHeadErrors(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		space rl.Space
		want  string
	}{
		{rl.Dict{}, "no actions"},
		{rl.Discrete{}, "no policy can act"},
		{rl.Box{Dims: []int{2}, DType: dtypes.Uint8}, "boxes hold floats"},
	} {
		if got := failure(func() { nn.NewHead(c.space) }); !strings.Contains(got, c.want) {
			t.Errorf("%s: error %q, want %q", c.space, got, c.want)
		}
	}
	s := scope(t)
	for _, h := range []struct {
		head nn.Head
		want string
	}{
		{nn.NewHead(rl.Discrete{N: 3}), "2 outputs, the actions need 3"},
		{nn.NewSquashedHead(rl.Box{High: []float64{inf}, Dims: []int{1}}), "finite bounds"},
	} {
		got := failure(func() {
			eval(s, func(c *rl.Ctx, x []*node) []*node {
				return []*node{h.head.Dist(c, nil, x[0], rl.Tree{}).Entropy()}
			}, rl.FromFlat(s, []float32{1, 2}, 1, 2))
		})
		if !strings.Contains(got, h.want) {
			t.Errorf("error %q, want %q", got, h.want)
		}
	}
}
