package rl_test

import (
	"testing"

	"github.com/weft-rl/weft/rl"
)

func TestOptRefuses(t *testing.T) {
	s := scope(t)
	p, q := params(s, "p", 2, 1), params(s, "q", 2, 1)
	o := rl.NewOpt(s, "opt", sgd{}, q)
	g, _ := regression(s, p).Grad(rl.Key{}, data(s, 0, 3))
	fails(t, func() { o.Apply(g, 1) }, "opt_test.go:", `optimiser "opt" is given gradients of other parameters`)
	fails(t, func() { o.Apply(rl.Grads{}, 1) }, "gradients of other parameters")
	both := rl.NewOpt(s, "both", sgd{}, p, q)
	fails(t, func() { both.Apply(g, 1) }, "gradients of other parameters")
	fails(t, func() { rl.NewOpt(s, "none", sgd{}) }, `optimiser "none" has no parameters`)
	fails(t, func() { rl.NewOpt(seeded(t, 2), "far", sgd{}, p) }, `parameters "p" belong to another scope`)
}

// updates makes n updates and gives the parameters after each.
func updates(s *rl.Scope, l *rl.Loss[fit, pair], o *rl.Opt, p *rl.Params, from, n int) (out [][]float64) {
	for i := range n {
		g, _ := l.Grad(rl.Key{}, data(s, (from+i)%10, (from+i)%10+5))
		o.Apply(g, .05)
		out = append(out, values(p))
	}
	return out
}

func TestOptSaveLoadContinues(t *testing.T) {
	fresh := func() (*rl.Scope, *rl.Loss[fit, pair], *rl.Opt, *rl.Params) {
		s := scope(t)
		p := params(s, "net", 2, 1)
		return s, regression(s, p), rl.NewOpt(s, "opt", heavyBall{}, p), p
	}
	s, l, o, p := fresh()
	updates(s, l, o, p, 0, 4)
	st := rl.NewState(s)
	p.Save(st.At("net"))
	o.Save(st.At("opt"))
	want := updates(s, l, o, p, 4, 4)

	s, l, o, p = fresh()
	read := copied(s, st)
	if err := p.Load(read.At("net")); err != nil {
		t.Fatal(err)
	}
	if err := o.Load(read.At("opt")); err != nil {
		t.Fatal(err)
	}
	for i, got := range updates(s, l, o, p, 4, 4) {
		equal(t, "parameters after the resume", got, want[i])
	}
	if o.Count() != 8 || p.Version() != 5 {
		t.Errorf("count %d, version %d", o.Count(), p.Version())
	}
	says(t, o.Load(copied(s, st, "opt/net/w/velocity").At("opt")), `state "opt/net/w/velocity" is missing`)
	says(t, o.Load(copied(s, st, "opt/count").At("opt")), `state "opt/count" is missing`)
	if o.Count() != 8 {
		t.Error("a failed load changed the count")
	}
}
