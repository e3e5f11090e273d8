package nn_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

// values returns a network for two numbers and three choices that count from 5.
func values(t *testing.T, distribution string) nn.Values {
	t.Helper()
	d := nn.Distributional{Distribution: distribution, Atoms: 5, VMin: -2, VMax: 2, Quantiles: 4}
	v, err := nn.NewValues(nn.Layers{Hidden: []int{4}, Activation: "tanh"}, d, rl.Box{Dims: []int{2}}, rl.Discrete{N: 3, Start: 5})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestValues: predictions of all kinds have their shapes, dueling moves those of all choices alike,
// and a choice has its own predictions.
func TestValues(t *testing.T) {
	for distribution, numbers := range map[string]int{"none": 1, "categorical": 5, "quantile": 4} {
		s := scope(t)
		v := values(t, distribution)
		v.Dueling = true
		if v.Numbers() != numbers {
			t.Errorf("%s: %d numbers, want %d", distribution, v.Numbers(), numbers)
		}
		p := rl.NewParams(s, "q", v.Init)
		in := rl.FromFlat(s, wave(4, 1), 2, 2)
		out := eval(s, func(c *rl.Ctx, x []*node) []*node {
			z := v.Apply(c, c.Scope(p), rl.Obs{X: rl.One(rl.Wrap(x[0]))}, "")
			plain := v
			plain.Dueling = false
			advantage := plain.Apply(c, c.Scope(p), rl.Obs{X: rl.One(rl.Wrap(x[0]))}, "")
			action := rl.One(rl.Wrap(graph.Const(x[0].Graph(), []int32{7, 5})))
			three := func(z *node) *node { return graph.Reshape(z, 2, 3, numbers) }
			return []*node{z, graph.Sub(three(z), three(advantage)), v.Of(z, action), v.Mean(z)}
		}, in)
		if len(out[0]) != 2*3*numbers || len(out[3]) != 2*3 {
			t.Fatalf("%s: %d predictions, %d means", distribution, len(out[0]), len(out[3]))
		}
		state := weights(p)["value/biases"]
		if len(state) != numbers {
			t.Errorf("%s: a state has %d numbers, want %d", distribution, len(state), numbers)
		}
		for row := range 2 {
			for choice := range 3 { // what dueling changes is the same for all choices
				at := (row*3 + choice) * numbers
				near(t, distribution+": shift", out[1][at:at+numbers], out[1][row*3*numbers:row*3*numbers+numbers], 1e-5)
			}
		}
		of := slices.Concat(out[0][2*numbers:3*numbers], out[0][3*numbers:4*numbers])
		near(t, distribution+": of a choice", out[2], of, 0)
	}
}

// TestValuesMean: categorical distributions over -2 to 2, and quantiles.
func TestValuesMean(t *testing.T) {
	s := scope(t)
	const low = -1e9
	for distribution, z := range map[string][]float32{"categorical": {low, low, 0, 0, low}, "quantile": {-1, 0, 1, 2}} {
		v := values(t, distribution)
		out := eval(s, func(_ *rl.Ctx, x []*node) []*node { return []*node{v.Mean(x[0])} }, rl.FromFlat(s, z, 1, len(z)))
		near(t, distribution, out[0], []float64{.5}, 1e-6)
	}
}

// TestValuesLegal: choices that a mask forbids are neither the best nor drawn.
func TestValuesLegal(t *testing.T) {
	s := scope(t)
	v := values(t, "quantile")
	const rows = 300
	z, legal := make([]float32, rows*12), make([]bool, rows*3)
	for i := range rows {
		for q := range 4 {
			z[i*12+4+q] = 9 // the second is best, which every other row forbids
			z[i*12+8+q] = 5
		}
		copy(legal[3*i:], []bool{true, i%2 == 0, true})
	}
	out := eval(s, func(c *rl.Ctx, x []*node) []*node {
		obs := rl.Obs{Legal: rl.One(rl.Wrap(x[1]))}
		return []*node{v.Best(x[0], obs).Leaf("").Node(), v.Any(c, "any", x[0], obs).Leaf("").Node()}
	}, rl.FromFlat(s, z, rows, 3, 4), rl.FromFlat(s, legal, rows, 3))
	count := map[float64]int{}
	for i := range rows {
		if want := []float64{6, 7}[i%2]; out[0][i] != want {
			t.Fatalf("row %d: the best is %v, want %v", i, out[0][i], want)
		}
		if i%2 == 1 {
			count[out[1][i]]++
		}
	}
	if count[6] != 0 || count[5] < 50 || count[7] < 50 {
		t.Errorf("choices without the second are drawn so often: %v", count)
	}
}

// TestValuesNoise: all dense layers are noisy, and two uses in one function are apart.
func TestValuesNoise(t *testing.T) {
	s := scope(t)
	v := values(t, "none")
	v.Dueling, v.Noise.Sigma = true, .5
	p := rl.NewParams(s, "q", v.Init)
	noisy := 0
	for _, path := range p.Paths() {
		if strings.HasSuffix(path, "weight_deviations") {
			noisy++
		}
	}
	if noisy != 3 {
		t.Errorf("%d noisy layers, want 3: %v", noisy, p.Paths())
	}
	out := eval(s, func(c *rl.Ctx, x []*node) []*node {
		var z []*node
		for _, use := range []string{"a", "b", ""} {
			z = append(z, v.Apply(c, c.Scope(p), rl.Obs{X: rl.One(rl.Wrap(x[0]))}, use))
		}
		return z
	}, rl.FromFlat(s, wave(2, 1), 1, 2))
	if out[0][0] == out[1][0] || out[0][0] == out[2][0] {
		t.Errorf("values %v, %v, without noise %v", out[0], out[1], out[2])
	}
}

// TestValuesRefused: actions that cannot be listed, and a support without an extent.
func TestValuesRefused(t *testing.T) {
	if _, err := nn.NewValues(nn.Layers{Activation: "tanh"}, nn.Distributional{}, rl.Box{Dims: []int{2}}, rl.Box{Dims: []int{1}}); err == nil {
		t.Error("actions in a box were accepted")
	}
	for _, c := range []struct {
		distribution string
		lo, hi       float64
		ok           bool
	}{{"categorical", 1, 1, false}, {"categorical", 2, 1, false}, {"categorical", 0, 1, true}, {"quantile", 2, 1, true}} {
		if err := (nn.Distributional{Distribution: c.distribution, VMin: c.lo, VMax: c.hi}).Validate(); (err == nil) != c.ok {
			t.Errorf("%v: %v", c, err)
		}
	}
}

// TestDistributionalLoss: one row, worked out by hand: the target is 1 + .5 next.
func TestDistributionalLoss(t *testing.T) {
	s := scope(t)
	loss := func(distribution string, delta float64, z, next []float32) []float64 {
		v := values(t, distribution)
		dims := []int{1, len(z)}[:min(2, len(z))] // a mean has no axis of its own
		out := eval(s, func(_ *rl.Ctx, x []*node) []*node {
			loss, size := v.Loss(x[0], x[1], x[2], x[3], delta)
			return []*node{loss, size}
		}, rl.FromFlat(s, z, dims...), rl.FromFlat(s, []float32{1}, 1), rl.FromFlat(s, []float32{.5}, 1), rl.FromFlat(s, next, dims...))
		return slices.Concat(out...)
	}
	near(t, "squared", loss("none", 0, []float32{5}, []float32{2}), []float64{9, 3}, 1e-6)
	near(t, "Huber", loss("none", 1, []float32{5}, []float32{2}), []float64{2.5, 3}, 1e-6)
	const low, ln2, ln5 = -1e9, .69314718, 1.60943791
	// All of the next return is at 0, so all of the target at 1, which has probability 1/5.
	near(t, "divergence", loss("categorical", 0, make([]float32, 5), []float32{low, low, 0, low, low}), []float64{ln5, ln5}, 1e-5)
	// At 1 it is at 1.5: half at 1, half at 2, instead of 1/5 each.
	near(t, "divergence", loss("categorical", 0, make([]float32, 5), []float32{low, low, low, 0, low}), []float64{ln5 - ln2, ln5 - ln2}, 1e-5)
	// Samples are 2 throughout, predictions 1 throughout: weights 1/8, 3/8, 5/8, 7/8.
	near(t, "quantiles", loss("quantile", 1, []float32{1, 1, 1, 1}, []float32{2, 2, 2, 2}), []float64{1, 1}, 1e-6)
}

// TestTargetFixed: nothing is learnt by moving the target.
func TestTargetFixed(t *testing.T) {
	s := scope(t)
	for _, distribution := range []string{"none", "categorical", "quantile"} {
		v := values(t, distribution)
		dims := []int{1, v.Numbers()}[:min(2, v.Numbers())] // a mean has no axis of its own
		out := eval(s, func(_ *rl.Ctx, x []*node) []*node {
			loss, _ := v.Loss(x[0], x[1], x[2], x[3], 1)
			return graph.Gradient(graph.ReduceAllSum(loss), x[0], x[3])
		}, rl.FromFlat(s, wave(v.Numbers(), 0), dims...), rl.FromFlat(s, []float32{1}, 1), rl.FromFlat(s, []float32{.5}, 1), rl.FromFlat(s, wave(v.Numbers(), 3), dims...))
		near(t, distribution, out[1], make([]float64, v.Numbers()), 0)
		if out[0][0] == 0 {
			t.Errorf("%s: predictions have no gradient", distribution)
		}
	}
}
