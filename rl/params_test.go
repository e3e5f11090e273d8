package rl_test

import (
	"math"
	"testing"

	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/ml/model"

	"github.com/weft-rl/weft/rl"
)

func TestParams(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 2, 3)
	equal(t, "paths", p.Paths(), []string{"b", "w"})
	equal(t, "b", p.Tensors()[0].Shape().Dimensions, []int{3})
	equal(t, "w", p.Tensors()[1].Shape().Dimensions, []int{2, 3})
	if p.Name() != "net" || p.Size() != 9 || p.Version() != 0 {
		t.Errorf("%s has %d numbers, version %d", p.Name(), p.Size(), p.Version())
	}
	q := params(s, "other", 1, 1)
	if ps := s.Params(); len(ps) != 2 || ps[0] != p || ps[1] != q {
		t.Errorf("the scope's parameters are %v", ps)
	}
	fails(t, func() { params(s, "net", 1, 1) }, `two components are called "net"`)
	fails(t, func() {
		rl.NewParams(s, "bad", func(c *rl.Ctx, _ *model.Scope) { graph.MatMul(c.Const(1), c.Const(1)) })
	}, `parameters "bad"`, "params_test.go:")
}

// Parameters whose name begins with another's are not the other's.
func TestParamsNames(t *testing.T) {
	s := scope(t)
	for _, name := range []string{"network", "net", "nets"} {
		equal(t, name, params(s, name, 1, 1).Paths(), []string{"b", "w"})
	}
	fails(t, func() { params(s, "net/actor", 1, 1) }, `parameters "net/actor"`, "has no /")
	fails(t, func() { params(s, "", 1, 1) }, "not empty")
}

// Two networks with the same inner names live side by side in one graph.
func TestTwoParamsInOneGraph(t *testing.T) {
	s := scope(t)
	p, q := params(s, "p", 2, 2), params(s, "q", 2, 2)
	x := floats(s, []float64{1, 0, 0, 1}, 2, 2)
	apply := func(nets ...*rl.Params) rl.Tensor {
		return compute(s, rl.Key{}, func(c *rl.Ctx, x []*node) *node {
			y := x[0]
			for _, net := range nets {
				y = linear(c, net, y, 2)
			}
			return y
		}, x)
	}
	want := compute(s, rl.Key{}, func(c *rl.Ctx, x []*node) *node { return linear(c, q, x[0], 2) }, apply(p))
	sameBits(t, "q after p", apply(p, q), want)
	// Twice the same network is the same parameters.
	once := compute(s, rl.Key{}, func(c *rl.Ctx, x []*node) *node { return linear(c, p, x[0], 2) }, apply(p))
	sameBits(t, "p after p", apply(p, p), once)
}

func TestBlend(t *testing.T) {
	s := scope(t)
	for _, tau := range []float64{0, .3, 1} {
		name := func(x string) string { return x + string(rune('0'+int(10*tau))) }
		p, q := params(s, name("p"), 2, 2), params(s, name("q"), 2, 2)
		f := rl.NewFunc(s, "f", func(c *rl.Ctx, in rl.Tensor) rl.Tensor { return rl.Wrap(linear(c, p, in.Node(), 2)) })
		x := floats(s, []float64{0, 0}, 1, 2)
		f.Call(rl.Key{}, x)
		a, b := values(p), values(q)
		want := make([]float64, len(a))
		for i := range a {
			want[i] = (1-tau)*a[i] + tau*b[i]
		}
		p.Blend(q, tau)
		near(t, name("blend"), values(p), want, 1e-7)
		equal(t, "source", values(q), b)
		near(t, "what a function reads afterwards", rl.Floats(f.Call(rl.Key{}, x)), want[:2], 1e-7)
		if tau == 1 {
			equal(t, "copy", values(p), b)
		}
		if p.Version() != 1 || q.Version() != 0 {
			t.Errorf("versions %d and %d", p.Version(), q.Version())
		}
	}
}

// A copy takes nothing over from what it replaces.
func TestBlendCopyOverNaN(t *testing.T) {
	s := scope(t)
	net := func(name string, x float32) *rl.Params {
		return rl.NewParams(s, name, func(_ *rl.Ctx, sc *model.Scope) { constant(sc, "w", []float32{x}, 1) })
	}
	p := net("p", float32(math.NaN()))
	p.Blend(net("q", 2), 1)
	equal(t, "copy", values(p), []float64{2})
}

func TestBlendStructure(t *testing.T) {
	s := scope(t)
	p, other := params(s, "p", 2, 1), params(s, "other", 1, 2)
	less := rl.NewParams(s, "less", func(_ *rl.Ctx, sc *model.Scope) { constant(sc, "w", []float32{1, 2}, 2, 1) })
	for _, tau := range []float64{.5, 1} {
		fails(t, func() { p.Blend(other, tau) }, `parameters "p" and "other" differ in structure`)
		fails(t, func() { p.Blend(less, tau) }, `parameters "p" and "less" differ in structure`)
	}
}

func TestParamsSaveLoad(t *testing.T) {
	s := scope(t)
	p := params(s, "net", 2, 3)
	st := rl.NewState(s)
	p.Save(st)
	want := values(p)
	q := params(s, "other", 2, 3)
	p.Blend(q, 1)
	if err := p.Load(copied(s, st)); err != nil {
		t.Fatal(err)
	}
	equal(t, "loaded", values(p), want)
	if p.Version() != 2 {
		t.Errorf("version %d after a blend and a load", p.Version())
	}
	says(t, p.Load(copied(s, st, "w")), `state "w" is missing`)
	says(t, params(s, "wide", 3, 2).Load(copied(s, st)), `state "b" has shape (Float32)[3], want (Float32)[2]`)
	equal(t, "after a failed load", values(p), want)
}

// Initial values come from the scope's seed and the path, through InitKey.
func TestInitKey(t *testing.T) {
	draw := func(seed uint64, path string) (k rl.Key) {
		s := seeded(t, seed)
		rl.NewParams(s, "net", func(c *rl.Ctx, sc *model.Scope) {
			constant(sc, "x", []float32{1}, 1)
			k = c.InitKey(path)
		})
		return k
	}
	first, again := draw(1, "a"), draw(1, "a")
	if first != again || first == draw(1, "b") || first == draw(2, "a") {
		t.Error("InitKey is no function of seed and path")
	}
}
