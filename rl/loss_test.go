package rl_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

// fit is the input of the loss of these tests: rows of a regression.
type fit struct{ X, Y, W rl.Tensor }

// regression returns the squared error of a small nonlinear model, by row.
func regression(s *rl.Scope, p *rl.Params) *rl.Loss[fit, pair] {
	return rl.NewLoss(s, "regression", func(c *rl.Ctx, in fit) (loss, weight rl.Tensor, aux pair) {
		y := graph.Tanh(linear(c, p, in.X.Node(), 1))
		d := graph.Sub(graph.Squeeze(y, 1), in.Y.Node())
		return rl.Wrap(graph.Square(d)), in.W, pair{X: rl.Wrap(d)}
	}, p)
}

func data(s *rl.Scope, lo, hi int) fit {
	return fit{X: floats(s, randoms("x", 40)[2*lo:2*hi], hi-lo, 2), Y: floats(s, randoms("y", 20)[lo:hi], hi-lo)}
}

// gradient returns what a step of size 1 by the plainest rule takes off.
func gradient(s *rl.Scope, p *rl.Params, g rl.Grads) []float64 {
	before := values(p)
	st := rl.NewState(s)
	p.Save(st)
	rl.NewOpt(s, fmt.Sprint("sgd", p.Version()), sgd{}, p).Apply(g, 1)
	out := minus(before, values(p))
	if err := p.Load(st); err != nil {
		rl.Fail(err)
	}
	return out
}

func TestGradAgainstFiniteDifferences(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 2, 1)
	in := data(s, 0, 8)
	in.W = floats(s, []float64{1, 2, 0, .5, 1, 1, 3, 0}, 8)
	l := regression(s, p)
	g, aux := l.Grad(rl.Key{}, in)
	got := gradient(s, p, g)
	if aux.X.Rows() != 8 || aux.Y.Ok() {
		t.Errorf("aux is %v", aux)
	}
	x, y, w, theta := rl.Floats(in.X), rl.Floats(in.Y), rl.Floats(in.W), values(p) // theta: b, w0, w1
	mean := func(theta []float64) (sum float64) {
		total := 0.0
		for i := range y {
			d := math.Tanh(theta[0]+theta[1]*x[2*i]+theta[2]*x[2*i+1]) - y[i]
			sum += w[i] * d * d
			total += w[i]
		}
		return sum / total
	}
	const h = 1e-5
	want := make([]float64, len(theta))
	for j := range theta {
		at := func(d float64) float64 {
			moved := append([]float64(nil), theta...)
			moved[j] += d
			return mean(moved)
		}
		want[j] = (at(h) - at(-h)) / (2 * h)
	}
	near(t, "gradient", got, want, 1e-5)
}

// Rows without weight do not count, whatever they hold.
func TestMaskedRowsDoNotCount(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 2, 1)
	l := regression(s, p)
	short, _ := l.Grad(rl.Key{}, data(s, 0, 6))
	masked := data(s, 0, 9)
	masked.W = floats(s, []float64{1, 1, 1, 1, 1, 1, 0, 0, 0}, 9)
	long, _ := l.Grad(rl.Key{}, masked)
	want := gradient(s, p, short)
	near(t, "gradient", gradient(s, p, long), want, 1e-6)
	// Equal weights are no weights.
	doubled := data(s, 0, 6)
	doubled.W = floats(s, []float64{2, 2, 2, 2, 2, 2}, 6)
	twice, _ := l.Grad(rl.Key{}, doubled)
	near(t, "gradient", gradient(s, p, twice), want, 1e-6)
}

// Gradients are applied once: their memory is the optimiser's from then on.
func TestGradsAreSpent(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 2, 1)
	o := rl.NewOpt(s, "opt", heavyBall{}, p)
	g, _ := regression(s, p).Grad(rl.Key{}, data(s, 0, 6))
	o.Apply(g, .1)
	fails(t, func() { o.Apply(g, .1) }, "applied before")
}

func TestNoWeightNoStep(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 2, 1)
	l := regression(s, p)
	o := rl.NewOpt(s, "opt", heavyBall{}, p)
	g, _ := l.Grad(rl.Key{}, data(s, 0, 6))
	o.Apply(g, .1) // gives the rule a momentum that could move on without a gradient
	before, version := values(p), p.Version()
	empty := data(s, 0, 6)
	empty.W = floats(s, make([]float64, 6), 6)
	g, _ = l.Grad(rl.Key{}, empty)
	o.Apply(g, .1)
	equal(t, "parameters", values(p), before)
	if o.Count() != 1 || p.Version() != version {
		t.Errorf("count %d, version %d", o.Count(), p.Version())
	}
}

func TestWeightShape(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 2, 1)
	in := data(s, 0, 6)
	in.W = rl.Scalar(1) // would count as one row for all
	fails(t, func() { regression(s, p).Grad(rl.Key{}, in) }, `graph function "regression"`, "the weight has shape")
	in.W = floats(s, []float64{1, -2, 0, 0, 0, 0}, 6)
	fails(t, func() { regression(s, p).Grad(rl.Key{}, in) }, `the weights of loss "regression" add up to -1`)
	in.W = floats(s, []float64{1, math.NaN(), 0, 0, 0, 0}, 6)
	fails(t, func() { regression(s, p).Grad(rl.Key{}, in) }, "add up to NaN")
}

func TestNaNStops(t *testing.T) {
	s := scope(t)
	s.AddSteps(1234)
	p := params(s, "net", 2, 1)
	in := data(s, 0, 6)
	y := rl.Floats(in.Y)
	for name, bad := range map[string]float64{"NaN": math.NaN(), "+Inf": math.Inf(1)} {
		y[4] = bad
		in.Y = floats(s, y, 6)
		fails(t, func() { regression(s, p).Grad(rl.Key{}, in) },
			"loss_test.go:", "step 1234", `loss "regression" is `+name+" in row 4")
	}
	// The row of a loss by sequences is the sequence.
	deep := rl.NewLoss(s, "deep", func(c *rl.Ctx, in rl.Tensor) (loss, weight, aux rl.Tensor) {
		return rl.Wrap(graph.Mul(in.Node(), graph.Squeeze(variable(c, p, "b", 1)))), rl.Tensor{}, rl.Tensor{}
	}, p)
	x := floats(s, []float64{1, 2, 3, 4, math.NaN(), 6}, 3, 2)
	fails(t, func() { deep.Grad(rl.Key{}, x) }, `loss "deep" is NaN in row 2`)
	// The square root has a finite value and no finite slope at 0.
	edge := rl.NewLoss(s, "edge", func(c *rl.Ctx, in rl.Tensor) (loss, weight, aux rl.Tensor) {
		zero := graph.MulScalar(variable(c, p, "w", 2, 1), 0)
		return rl.Wrap(graph.Add(in.Node(), graph.ReduceAllSum(graph.Sqrt(zero)))), rl.Tensor{}, rl.Tensor{}
	}, p)
	fails(t, func() { edge.Grad(rl.Key{}, floats(s, []float64{1}, 1)) },
		"step 1234", `gradient of net/w in loss "edge" is NaN (element 0)`)
}

// Other parameters that a loss reads are held fixed, its own that it does not
// read have no slope.
func TestGradOnlyOfItsOwn(t *testing.T) {
	s := scope(t)
	p, q, unused := params(s, "p", 2, 1), params(s, "q", 2, 1), params(s, "unused", 2, 1)
	l := rl.NewLoss(s, "l", func(c *rl.Ctx, in fit) (loss, weight rl.Tensor, aux struct{}) {
		y := graph.Add(linear(c, p, in.X.Node(), 1), linear(c, q, in.X.Node(), 1))
		return rl.Wrap(graph.Square(y)), rl.Tensor{}, aux
	}, p, unused)
	before, still, other := values(p), values(unused), values(q)
	g, _ := l.Grad(rl.Key{}, data(s, 0, 4))
	rl.NewOpt(s, "opt", sgd{}, p, unused).Apply(g, .1)
	equal(t, "other", values(q), other)
	equal(t, "unused", values(unused), still)
	if fmt.Sprint(values(p)) == fmt.Sprint(before) {
		t.Error("its own did not move")
	}
}

func TestLossRefuses(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 2, 1)
	build := func(*rl.Ctx, rl.Tensor) (a, b, c rl.Tensor) { return }
	fails(t, func() { rl.NewLoss(s, "l", build) }, `loss "l": no parameters are given`)
	fails(t, func() { rl.NewLoss(seeded(t, 2), "l", build, p) }, `parameters "net" belong to another scope`)
	l := regression(s, p)
	f := rl.NewFunc(s, "f", func(_ *rl.Ctx, in fit) rl.Tensor { l.Grad(rl.Key{}, in); return in.X })
	fails(t, func() { f.Call(rl.Key{}, data(s, 0, 3)) }, `loss "regression" is differentiated in the loop`)
}
