package nn_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/nn"
	"github.com/weft-rl/weft/rl"
)

const samples = 20000

// described is everything about one row's distribution, and samples of it.
type described struct {
	samples, mode    []float64
	entropy, logMode float64
	meanLog          float64 // of the log-probabilities of the samples
}

// describe draws from the distribution that f makes of x, one row.
func describe(t *testing.T, f func(x *node) nn.Dist, x ...float32) described {
	t.Helper()
	s := scope(t)
	rows := make([]float32, 0, samples*len(x))
	for range samples {
		rows = append(rows, x...)
	}
	out := eval(s, func(c *rl.Ctx, in []*node) []*node {
		d := f(in[0])
		a := d.Sample(c, "a")
		m := d.Mode()
		return []*node{a.Leaf("").Node(), m.Leaf("").Node(), d.Entropy(), d.LogProb(m), d.LogProb(again(a))}
	}, rl.FromFlat(s, rows, samples, len(x)))
	k := len(out[1]) / samples
	mean := 0.0
	for _, lp := range out[4] {
		mean += lp / samples
	}
	return described{out[0], out[1][:k], out[2][0], out[3][0], mean}
}

// again returns an action that a distribution cannot know as its own sample.
func again(a rl.Tree) rl.Tree {
	return a.Map(func(x rl.Tensor) rl.Tensor { return rl.Wrap(graph.Identity(x.Node())) })
}

func softmax(x ...float64) []float64 {
	total := 0.0
	for _, v := range x {
		total += math.Exp(v)
	}
	return each(x, func(v float64) float64 { return math.Exp(v) / total })
}

func entropy(p ...float64) (h float64) {
	for _, x := range p {
		if x > 0 {
			h -= x * math.Log(x)
		}
	}
	return h
}

// frequencies of whole numbers 0..n-1 in column i of k.
func frequencies(x []float64, i, k, n int) []float64 {
	f := make([]float64, n)
	for j := i; j < len(x); j += k {
		f[int(x[j])] += float64(k) / float64(len(x))
	}
	return f
}

// band is six deviations of a frequency at worst.
var band = 6 * math.Sqrt(.25/samples)

func TestCategorical(t *testing.T) {
	p := softmax(.5, -1, 2)
	d := describe(t, func(x *node) nn.Dist { return nn.Categorical(x, rl.Tensor{}) }, .5, -1, 2)
	near(t, "frequency", frequencies(d.samples, 0, 1, 3), p, band)
	near(t, "mode, its log-probability, entropy", []float64{d.mode[0], d.logMode, d.entropy}, []float64{2, math.Log(p[2]), entropy(p...)}, 1e-5)
	near(t, "mean log-probability", []float64{d.meanLog}, []float64{-entropy(p...)}, .03)
	from := describe(t, func(x *node) nn.Dist { return nn.Categorical(x, rl.Tensor{}).From(-5) }, .5, -1, 2)
	near(t, "mode from -5", []float64{from.mode[0], from.logMode}, []float64{-3, math.Log(p[2])}, 1e-5)
}

// Masks hold exactly, whatever the logits.
func TestMasked(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name   string
		logits []float32
		legal  []bool
		want   []float64
	}{
		{"some", []float32{1, 2, 3}, []bool{true, false, true}, []float64{softmax(1, 3)[0], 0, softmax(1, 3)[1]}},
		{"one", []float32{-1e30, 5, 1e30}, []bool{true, false, false}, []float64{1, 0, 0}},
		{"huge", []float32{0, 3e38, 1}, []bool{true, false, true}, []float64{softmax(0, 1)[0], 0, softmax(0, 1)[1]}},
		{"infinite", []float32{0, inf, 1}, []bool{true, false, true}, []float64{softmax(0, 1)[0], 0, softmax(0, 1)[1]}},
		{"far apart", []float32{-1e5, 0, 1e5}, []bool{true, true, false}, []float64{0, 1, 0}},
		{"none", []float32{0, 1, 2}, []bool{false, false, false}, softmax(0, 1, 2)},
	} {
		s := scope(t)
		const n = 2000
		var rows []float32
		var legal []bool
		for range n {
			rows, legal = append(rows, c.logits...), append(legal, c.legal...)
		}
		out := eval(s, func(ctx *rl.Ctx, x []*node) []*node {
			d := nn.Categorical(x[0], rl.Wrap(x[1]))
			all := func(i float64) *node {
				return d.LogProb(rl.One(rl.Wrap(graph.FillScalar(ctx.Graph(), actionShape(n), i))))
			}
			grad := graph.Gradient(graph.ReduceAllSum(graph.Add(d.Entropy(), d.LogProb(d.Mode()))), x[0])[0]
			return []*node{d.Probs(), d.Entropy(), d.Sample(ctx, "a").Leaf("").Node(), all(0), all(1), all(2), all(3), grad}
		}, rl.FromFlat(s, rows, n, 3), rl.FromFlat(s, legal, n, 3))
		near(t, c.name+": probabilities", out[0][:3], c.want, 1e-6)
		near(t, c.name+": entropy", out[1][:1], []float64{entropy(c.want...)}, 1e-5)
		for i, f := range frequencies(out[2], 0, 1, 3) {
			if c.want[i] == 0 && f != 0 {
				t.Errorf("%s: option %d of probability 0 was drawn", c.name, i)
			}
			near(t, c.name+": frequency", []float64{f}, []float64{c.want[i]}, 6*math.Sqrt(.25/n))
		}
		for i, none := 0, !c.legal[0] && !c.legal[1] && !c.legal[2]; i < 3; i++ {
			lp := out[3+i][0]
			if open := c.legal[i] || none; open == math.IsInf(lp, -1) {
				t.Errorf("%s: log-probability of %d is %v", c.name, i, lp)
			}
		}
		if !math.IsInf(out[6][0], -1) {
			t.Errorf("%s: an option out of range has log-probability %v", c.name, out[6][0])
		}
		for _, g := range out[7] {
			if math.IsNaN(g) || math.IsInf(g, 0) {
				t.Errorf("%s: gradient %v", c.name, g)
				break
			}
		}
	}
}

func TestMultiDiscrete(t *testing.T) {
	a, b := softmax(1, 0), softmax(0, 1, -1)
	d := describe(t, func(x *node) nn.Dist { return nn.MultiDiscrete(x, []int{2, 3}, rl.Tensor{}) }, 1, 0, 0, 1, -1)
	near(t, "frequency 0", frequencies(d.samples, 0, 2, 2), a, band)
	near(t, "frequency 1", frequencies(d.samples, 1, 2, 3), b, band)
	near(t, "mode", d.mode, []float64{0, 1}, 0)
	near(t, "log-probability, entropy", []float64{d.logMode, d.entropy}, []float64{math.Log(a[0] * b[1]), entropy(a...) + entropy(b...)}, 1e-5)
	near(t, "mean log-probability", []float64{d.meanLog}, []float64{-entropy(a...) - entropy(b...)}, .03)
}

func TestMultiDiscreteMasked(t *testing.T) {
	s := scope(t)
	out := eval(s, func(c *rl.Ctx, x []*node) []*node {
		d := nn.MultiDiscrete(x[0], []int{2, 3}, rl.Wrap(x[1]))
		return []*node{d.Probs(), d.Entropy(), d.Mode().Leaf("").Node()}
	}, rl.FromFlat(s, []float32{5, 0, 9, 1, 1, 5, 0, 9, 1, 1}, 2, 5),
		rl.FromFlat(s, []bool{false, true, false, true, true, false, false, true, false, false}, 2, 5))
	p := softmax(5, 0)
	near(t, "probabilities", out[0], []float64{0, 1, 0, 0, .5, .5, p[0], p[1], 0, 1, 0, 0}, 1e-6)
	near(t, "entropy", out[1], []float64{math.Ln2, entropy(p...)}, 1e-5)
	near(t, "mode", out[2], []float64{1, 1, 0, 0}, 0)
}

func TestMultiBinary(t *testing.T) {
	p, q := sigmoid(1), sigmoid(-2)
	d := describe(t, func(x *node) nn.Dist { return nn.MultiBinary(x, rl.Tensor{}) }, 1, -2)
	near(t, "frequency 0", frequencies(d.samples, 0, 2, 2), []float64{1 - p, p}, band)
	near(t, "frequency 1", frequencies(d.samples, 1, 2, 2), []float64{1 - q, q}, band)
	near(t, "mode", d.mode, []float64{1, 0}, 0)
	near(t, "log-probability, entropy", []float64{d.logMode, d.entropy}, []float64{math.Log(p * (1 - q)), entropy(p, 1-p) + entropy(q, 1-q)}, 1e-5)

	s := scope(t)
	out := eval(s, func(c *rl.Ctx, x []*node) []*node {
		return []*node{nn.MultiBinary(x[0], rl.Wrap(x[1])).Probs()}
	}, rl.FromFlat(s, []float32{1, -2}, 1, 2), rl.FromFlat(s, []bool{true, true, false, true}, 1, 4))
	near(t, "masked", out[0], []float64{1 - p, p, 0, 1}, 1e-6)
}

// A row's first draw is the same whatever the leading axes.
func TestDistAxes(t *testing.T) {
	s := scope(t)
	logits, legal := wave(12, 0), make([]bool, 12)
	for i := range legal {
		legal[i] = i%5 != 0
	}
	box := rl.Box{Low: []float64{-1}, High: []float64{2}, Dims: []int{3}}
	makers := map[string]func(x, m *node) nn.Dist{
		"categorical": func(x, m *node) nn.Dist { return nn.Categorical(x, rl.Wrap(m)) },
		"multi":       func(x, m *node) nn.Dist { return nn.MultiDiscrete(x, []int{2, 1}, rl.Wrap(m)) },
		"binary":      func(x, _ *node) nn.Dist { return nn.MultiBinary(x, rl.Tensor{}) },
		"gaussian":    func(x, _ *node) nn.Dist { return nn.Gaussian(x, graph.MulScalar(x, .5)) },
		"squashed":    func(x, _ *node) nn.Dist { return nn.Squashed(x, graph.MulScalar(x, .5), box) },
	}
	for name, mk := range makers {
		run := func(dims ...int) [][]float64 {
			return eval(s, func(c *rl.Ctx, x []*node) []*node {
				d := mk(x[0], x[1])
				m := d.Mode()
				return []*node{m.Leaf("").Node(), d.LogProb(m), d.Entropy(), d.LogProb(d.Sample(c, "a"))}
			}, rl.FromFlat(s, logits, dims...), rl.FromFlat(s, legal, dims...))
		}
		flat, deep := run(4, 3), run(2, 2, 3)
		for i := range 3 {
			near(t, name, deep[i], flat[i], 0)
		}
		if len(flat[1]) != 4 || len(deep[3]) != 4 {
			t.Errorf("%s: %d log-probabilities for 4 rows", name, len(flat[1]))
		}
	}
}

func moments(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	return mean, variance
}

func TestGaussian(t *testing.T) {
	const std = .5
	d := describe(t, func(x *node) nn.Dist {
		return nn.Gaussian(x, graph.Const(x.Graph(), []float32{float32(math.Log(std)), 0}))
	}, 3, -1)
	var first []float64
	for i := 0; i < len(d.samples); i += 2 {
		first = append(first, d.samples[i])
	}
	mean, variance := moments(first)
	near(t, "moments", []float64{mean, variance}, []float64{3, std * std}, 6*std/math.Sqrt(samples))
	near(t, "mode", d.mode, []float64{3, -1}, 0)
	logTop := -math.Log(2*math.Pi) - math.Log(std)
	near(t, "log-density, entropy", []float64{d.logMode, d.entropy}, []float64{logTop, 1 + math.Log(2*math.Pi) + math.Log(std)}, 1e-5)
	near(t, "mean log-density", []float64{d.meanLog}, []float64{-d.entropy}, 6/math.Sqrt(samples))
}

// squashedLog returns the log-density of one squashed number.
func squashedLog(a, mean, std, lo, hi float64) float64 {
	y := (a - (lo+hi)/2) / ((hi - lo) / 2)
	z := (math.Atanh(y) - mean) / std
	return -z*z/2 - math.Log(std) - .5*math.Log(2*math.Pi) - math.Log((1-y*y)*(hi-lo)/2)
}

func TestSquashed(t *testing.T) {
	box := rl.Box{Low: []float64{-1}, High: []float64{3}, Dims: []int{1}}
	for _, c := range []struct{ mean, std, tol float64 }{
		{.3, .6, 1e-5}, {-2, 1, 1e-5}, {0, 4, 1e-5}, {1, math.Exp(2), 1e-3}, {0, .01, 1e-5},
	} {
		f := func(x *node) nn.Dist {
			return nn.Squashed(x, graph.Const(x.Graph(), []float32{float32(math.Log(c.std))}), box)
		}
		// The entropy by a fine sum over the number before squashing.
		want := .5*math.Log(2*math.Pi*math.E) + math.Log(c.std) + math.Log(2)
		const fine = 20000
		for i := range fine {
			z := -9 + 18*(float64(i)+.5)/fine
			u := math.Abs(c.mean + c.std*z)
			slope := 2*math.Ln2 - 2*u - 2*math.Log1p(math.Exp(-2*u))
			want += slope * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * 18 / fine
		}
		d := describe(t, f, float32(c.mean))
		near(t, "entropy", []float64{d.entropy}, []float64{want}, c.tol)
		near(t, "mode", d.mode, []float64{1 + 2*math.Tanh(c.mean)}, 1e-5)
		near(t, "log-density of the mode", []float64{d.logMode}, []float64{squashedLog(d.mode[0], c.mean, c.std, -1, 3)}, 2e-3)
		if c.std <= 1 { // wider ones round to the bounds
			near(t, "mean log-density", []float64{d.meanLog}, []float64{-want}, .06)
		}
		for _, a := range d.samples {
			if a < -1 || a > 3 {
				t.Fatalf("sample %g is out of bounds", a)
			}
		}
	}
}

// The log-density of a sample is exact even where rounding takes it to a bound,
// and that of a bound is finite.
func TestSquashedEdges(t *testing.T) {
	s := scope(t)
	box := rl.Box{Low: []float64{-1}, High: []float64{1}, Dims: []int{1}}
	out := eval(s, func(c *rl.Ctx, x []*node) []*node {
		d := nn.Squashed(x[0], graph.ZerosLike(x[0]), box)
		a := d.Sample(c, "a")
		lp := d.LogProb(a)
		bound := d.LogProb(rl.One(rl.Wrap(graph.OnesLike(x[0]))))
		grads := graph.Gradient(graph.ReduceAllSum(graph.Add(lp, bound)), x[0])
		return []*node{a.Leaf("").Node(), lp, bound, grads[0]}
	}, rl.FromFlat(s, []float32{30, -30}, 2, 1))
	near(t, "samples", out[0], []float64{1, -1}, 0)
	for i, lp := range out[1] {
		// Far out, log(1-tanh²u) is 2 log 2 - 2|u|.
		if lp < 45 || lp > 75 {
			t.Errorf("log-density of sample %d is %g", i, lp)
		}
	}
	for _, x := range append(out[2], out[3]...) {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			t.Errorf("not finite at a bound: %v", out[2:])
		}
	}
	for _, b := range []rl.Box{{Dims: []int{1}}, {Low: []float64{1}, High: []float64{1}, Dims: []int{1}}, {Dims: []int{2}}} {
		msg := failure(func() {
			eval(s, func(c *rl.Ctx, x []*node) []*node {
				return []*node{nn.Squashed(x[0], x[0], b).Entropy()}
			}, rl.FromFlat(s, []float32{0}, 1, 1))
		})
		if !strings.Contains(msg, "bounds") && !strings.Contains(msg, "means") {
			t.Errorf("%v: error %q", b, msg)
		}
	}
}

// The log-density of a sample is that of the action, and no sample is past a
// bound, whatever the rounding of the bounds.
func TestSquashedSample(t *testing.T) {
	s := scope(t)
	box := rl.Box{Low: []float64{-.1, .7, -2.3}, High: []float64{.3, .8, 1.1}, Dims: []int{3}}
	out := eval(s, func(c *rl.Ctx, x []*node) []*node {
		d := nn.Squashed(x[0], graph.MulScalar(graph.OnesLike(x[0]), -1.0), box)
		a := d.Sample(c, "a")
		far := nn.Squashed(graph.MulScalar(x[0], 1e6), graph.ZerosLike(x[0]), box).Mode()
		return []*node{d.LogProb(a), d.LogProb(again(a)), far.Leaf("").Node()}
	}, rl.FromFlat(s, wave(300, 0), 100, 3))
	near(t, "log-density", out[0], out[1], 1e-3)
	far := make([]float32, len(out[2]))
	for i, x := range out[2] {
		far[i] = float32(x)
	}
	if _, at, x, bad := rl.Outside(box, rl.FromFlat(s, far, 100, 3)); bad {
		t.Errorf("number %d is %.9g", at, x)
	}
}

func TestDistGrad(t *testing.T) {
	box := rl.Box{Low: []float64{-1}, High: []float64{3}, Dims: []int{2}}
	act := func(c *rl.Ctx, x any) rl.Tree { return rl.One(rl.Wrap(graph.Const(c.Graph(), x))) }
	categorical := func(x *node) *nn.Discrete {
		return nn.Categorical(x, rl.Wrap(graph.Const(x.Graph(), [][]bool{{true, false, true, true}})))
	}
	logits, two, logStd := []float32{.5, 2, -1, .25}, []float32{.4, -.3}, []float32{-.2, .3}
	for _, g := range []struct {
		name string
		f    func(c *rl.Ctx, x []*node) *node
		in   [][]float32
	}{
		{"categorical log-probability", func(c *rl.Ctx, x []*node) *node { return categorical(x[0]).LogProb(act(c, []int32{2})) }, [][]float32{logits}},
		{"categorical entropy", func(c *rl.Ctx, x []*node) *node { return categorical(x[0]).Entropy() }, [][]float32{logits}},
		{"multi-discrete", func(c *rl.Ctx, x []*node) *node {
			d := nn.MultiDiscrete(x[0], []int{1, 3}, rl.Tensor{})
			return graph.Add(d.LogProb(act(c, [][]int32{{0, 1}})), d.Entropy())
		}, [][]float32{logits}},
		{"multi-binary at 0", func(c *rl.Ctx, x []*node) *node {
			d := nn.MultiBinary(x[0], rl.Tensor{})
			return graph.Add(d.LogProb(act(c, [][]int32{{0, 1}})), d.Entropy())
		}, [][]float32{{0, .7}}},
		{"gaussian", func(c *rl.Ctx, x []*node) *node {
			d := nn.Gaussian(x[0], x[1])
			return graph.Add(d.LogProb(act(c, [][]float32{{1, 0}})), d.Entropy())
		}, [][]float32{two, logStd}},
		{"squashed", func(c *rl.Ctx, x []*node) *node {
			d := nn.Squashed(x[0], x[1], box)
			return graph.Add(d.LogProb(act(c, [][]float32{{1.5, 0}})), d.Entropy())
		}, [][]float32{two, logStd}},
		{"squashed sample", func(c *rl.Ctx, x []*node) *node {
			d := nn.Squashed(x[0], x[1], box)
			a := d.Sample(c, "a")
			return graph.Add(d.LogProb(a), graph.ReduceSum(graph.Square(a.Leaf("").Node()), -1))
		}, [][]float32{two, logStd}},
		{"squashed at 0", func(c *rl.Ctx, x []*node) *node {
			return nn.Squashed(x[0], graph.ZerosLike(x[0]), box).LogProb(act(c, [][]float32{{1, 1}}))
		}, [][]float32{{0, 0}}},
	} {
		checkGrad(t, g.name, g.f, g.in...)
	}
}

func TestJoint(t *testing.T) {
	s := scope(t)
	names := []string{"move", "aim"}
	out := eval(s, func(c *rl.Ctx, x []*node) []*node {
		a, b := nn.Categorical(x[0], rl.Tensor{}), nn.Gaussian(x[0], graph.ZerosLike(x[0]))
		d := nn.Joint(names, []nn.Dist{a, b})
		m := d.Mode()
		one := graph.Add(a.LogProb(rl.One(m.Leaf("move"))), b.LogProb(rl.One(m.Leaf("aim"))))
		smp := d.Sample(c, "act")
		return []*node{d.LogProb(m), one, d.Entropy(), graph.Add(a.Entropy(), b.Entropy()), m.Leaf("move").Node(), smp.Leaf("aim").Node()}
	}, rl.FromFlat(s, wave(6, 0), 3, 2))
	near(t, "log-probability", out[0], out[1], 0)
	near(t, "entropy", out[2], out[3], 0)
	if len(out[4]) != 3 || len(out[5]) != 6 {
		t.Errorf("shapes %d and %d", len(out[4]), len(out[5]))
	}
	if msg := failure(func() { nn.Joint(names, nil) }); !strings.Contains(msg, "one name for each") {
		t.Errorf("error %q", msg)
	}
}
