package nn_test

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/layers/activation"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

type network interface {
	Apply(c *rl.Ctx, sc *model.Scope, x *node) *node
}

// build makes a network's parameters for inputs of a shape.
func build(s *rl.Scope, net network, dtype dtypes.DType, dims ...int) *rl.Params {
	return rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
		net.Apply(c, sc, graph.Zeros(c.Graph(), shapes.Make(dtype, dims...)))
	})
}

func apply(s *rl.Scope, p *rl.Params, net network, x rl.Tensor) []float64 {
	return eval(s, func(c *rl.Ctx, x []*node) []*node {
		return []*node{net.Apply(c, c.Scope(p), x[0])}
	}, x)[0]
}

// affine returns x w + b for one row.
func affine(x, w, b []float64) []float64 {
	out := slices.Clone(b)
	for j := range out {
		for i := range x {
			out[j] += x[i] * w[i*len(b)+j]
		}
	}
	return out
}

func each(x []float64, f func(float64) float64) []float64 {
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = f(v)
	}
	return out
}

func TestMLP(t *testing.T) {
	relu := func(x float64) float64 { return max(0, x) }
	for _, c := range []struct {
		net nn.MLP
		f   func(float64) float64
	}{
		{nn.MLP{Hidden: []int{5, 4}, Out: 2, OutGain: .5}, math.Tanh},
		{nn.MLP{Hidden: []int{5, 4}, Out: 2, Act: activation.TypeRelu, Gain: 3}, relu},
		{nn.MLP{Hidden: []int{5, 4}}, math.Tanh},
	} {
		s := scope(t)
		p := build(s, c.net, dtypes.Float32, 1, 3)
		w := weights(p)
		in := wave(6, 0)
		var want []float64
		for r := range 2 {
			x := each([]float64{float64(in[3*r]), float64(in[3*r+1]), float64(in[3*r+2])}, func(x float64) float64 { return x })
			for i := range c.net.Hidden {
				l := fmt.Sprintf("hidden_%d/", i)
				x = each(affine(x, w[l+"weights"], w[l+"biases"]), c.f)
			}
			if c.net.Out > 0 {
				x = affine(x, w["out/weights"], w["out/biases"])
			}
			want = append(want, x...)
		}
		near(t, "output", apply(s, p, c.net, rl.FromFlat(s, in, 2, 3)), want, 1e-5)
	}
}

func TestGain(t *testing.T) {
	w := weights(build(scope(t), nn.MLP{Hidden: []int{8}, Out: 1, OutGain: .01}, dtypes.Float32, 1, 8))
	norm := func(x []float64) (n float64) {
		for _, v := range x {
			n += v * v
		}
		return n
	}
	near(t, "squared norms", []float64{norm(w["hidden_0/weights"]), norm(w["out/weights"])}, []float64{16, 1e-4}, 1e-5)
}

// Applied twice in one graph with one scope, a network has one set of weights.
func TestShared(t *testing.T) {
	s := scope(t)
	net := nn.MLP{Hidden: []int{4}, Out: 2}
	p := build(s, net, dtypes.Float32, 1, 3)
	x := rl.FromFlat(s, wave(6, 0), 2, 3)
	y := eval(s, func(c *rl.Ctx, x []*node) []*node {
		sc := c.Scope(p)
		return []*node{net.Apply(c, sc, x[0]), net.Apply(c, sc, x[0])}
	}, x)
	if !reflect.DeepEqual(y[0], y[1]) {
		t.Error("the second application has other weights")
	}
	if n := len(p.Paths()); n != 4 {
		t.Errorf("%d tensors, want 4: %v", n, p.Paths())
	}
}

// networks are all kinds, with the dimensions of one row.
var networks = []struct {
	name string
	net  network
	row  []int
}{
	{"mlp", nn.MLP{Hidden: []int{6}, Out: 3}, []int{4}},
	{"cnn", nn.CNN{Layers: []nn.Conv{{3, 3, 2}, {4, 2, 1}}, Units: 5}, []int{7, 6, 2}},
}

func TestLeadingAxes(t *testing.T) {
	for _, c := range networks {
		s := scope(t)
		p := build(s, c.net, dtypes.Float32, append([]int{1}, c.row...)...)
		n := size(c.row)
		flat := apply(s, p, c.net, rl.FromFlat(s, wave(6*n, 0), append([]int{6}, c.row...)...))
		deep := apply(s, p, c.net, rl.FromFlat(s, wave(6*n, 0), append([]int{2, 3}, c.row...)...))
		if !reflect.DeepEqual(flat, deep) {
			t.Errorf("%s: leading axes change the output", c.name)
		}
	}
}

func TestRowIndependent(t *testing.T) {
	for _, c := range networks {
		s := scope(t)
		p := build(s, c.net, dtypes.Float32, append([]int{1}, c.row...)...)
		n := size(c.row)
		x := wave(5*n, 0)
		before := apply(s, p, c.net, rl.FromFlat(s, x, append([]int{5}, c.row...)...))
		other := slices.Clone(x)
		copy(other[:2*n], wave(2*n, 5))
		after := apply(s, p, c.net, rl.FromFlat(s, other, append([]int{5}, c.row...)...))
		out := len(before) / 5
		if !reflect.DeepEqual(before[2*out:], after[2*out:]) {
			t.Errorf("%s: a row depends on another", c.name)
		}
		if reflect.DeepEqual(before[:2*out], after[:2*out]) {
			t.Errorf("%s: a row does not depend on itself", c.name)
		}
	}
}

func size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

func TestCNN(t *testing.T) {
	s := scope(t)
	net := nn.CNN{Layers: []nn.Conv{{2, 3, 2}}, Gain: 1}
	const h, w, ch = 6, 5, 2
	x := make([]uint8, h*w*ch)
	for i := range x {
		x[i] = uint8(i * 37)
	}
	p := build(s, net, dtypes.Uint8, 1, h, w, ch)
	k := weights(p)["conv_0/weights"] // [3, 3, 2, 2]
	var want []float64
	for y := 0; y+3 <= h; y += 2 {
		for z := 0; z+3 <= w; z += 2 {
			for o := range 2 {
				sum := 0.0
				for dy := range 3 {
					for dz := range 3 {
						for i := range ch {
							sum += float64(x[((y+dy)*w+z+dz)*ch+i]) / 255 * k[((dy*3+dz)*ch+i)*2+o]
						}
					}
				}
				want = append(want, max(0, sum))
			}
		}
	}
	near(t, "features", apply(s, p, net, rl.FromFlat(s, x, 1, h, w, ch)), want, 1e-5)
}

func TestNatureCNN(t *testing.T) {
	s := scope(t)
	p := build(s, nn.NatureCNN, dtypes.Uint8, 1, 44, 44, 4)
	if y := apply(s, p, nn.NatureCNN, rl.FromFlat(s, make([]uint8, 2*44*44*4), 2, 44, 44, 4)); len(y) != 2*512 {
		t.Errorf("%d features, want %d", len(y), 2*512)
	}
	want := []string{"conv_0/biases", "conv_0/weights", "conv_1/biases", "conv_1/weights", "conv_2/biases", "conv_2/weights", "dense/biases", "dense/weights"}
	if !slices.Equal(p.Paths(), want) {
		t.Errorf("paths %v", p.Paths())
	}
	for _, c := range []struct {
		net  network
		dims []int
		want string
	}{
		{nn.NatureCNN, []int{1, 20, 20, 4}, "does not fit"},
		{nn.NatureCNN, []int{20, 20, 4}, "needs images"},
		{nn.CNN{Layers: []nn.Conv{{3, 3, 0}}}, []int{1, 9, 9, 1}, "at least 1"},
		{nn.MLP{Hidden: []int{0}}, []int{1, 2}, "at least 1"},
	} {
		if got := failure(func() { build(scope(t), c.net, dtypes.Uint8, c.dims...) }); !strings.Contains(got, c.want) {
			t.Errorf("%v: error %q, want %q", c.dims, got, c.want)
		}
	}
}

// TestCNNFor: the smallest side that the three layers of NatureCNN fit into is 36: 36, 8, 3, 1.
func TestCNNFor(t *testing.T) {
	for _, c := range []struct{ height, width, units int }{{84, 84, 512}, {36, 36, 512}, {36, 35, 128}, {35, 84, 128}, {10, 10, 128}} {
		if got := nn.CNNFor(c.height, c.width).Units; got != c.units {
			t.Errorf("%dx%d: %d units, want %d", c.height, c.width, got, c.units)
		}
	}
}

func TestActivationNamed(t *testing.T) {
	for name, want := range map[string]nn.Activation{"tanh": activation.TypeTanh, "leaky_relu": activation.TypeLeakyRelu} {
		if got, err := nn.ActivationNamed(name); err != nil || got != want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if _, err := nn.ActivationNamed("than"); err == nil || !strings.Contains(err.Error(), "tanh") {
		t.Errorf("error %v does not say what to take", err)
	}
}

func TestFeatures(t *testing.T) {
	s := scope(t)
	space := rl.Dict{
		{Name: "box", Space: rl.Box{Dims: []int{2, 1}}}, {Name: "n", Space: rl.Discrete{N: 3, Start: 1}},
		{Name: "m", Space: rl.MultiDiscrete{N: []int{2, 3}}}, {Name: "b", Space: rl.MultiBinary{N: 2}},
		{Name: "byte", Space: rl.Box{Dims: []int{1}, DType: dtypes.Uint8}},
	}
	names := []string{"box", "n", "m", "b", "byte"}
	got := eval(s, func(c *rl.Ctx, x []*node) []*node {
		leaves := make([]rl.Tensor, len(x))
		for i := range x {
			leaves[i] = rl.Wrap(x[i])
		}
		return []*node{nn.Features(space, rl.NewTree(names, leaves))}
	}, rl.FromFlat(s, []float32{.5, -1, 2, 3}, 2, 2, 1), rl.FromFlat(s, []int32{1, 3}, 2),
		rl.FromFlat(s, []int32{0, 2, 1, 0}, 2, 2), rl.FromFlat(s, []int32{1, 0, 0, 1}, 2, 2), rl.FromFlat(s, []uint8{255, 0}, 2, 1))
	near(t, "features", got[0], []float64{
		.5, -1, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1,
		2, 3, 0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 0,
	}, 0)
}
