package rl_test

import (
	"fmt"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/weft-rl/weft/rl"
)

func BenchmarkFuncCall(b *testing.B) {
	s := scope(b)
	f := rl.NewFunc(s, "f", func(_ *rl.Ctx, in pair) pair {
		return pair{X: rl.Wrap(graph.Add(in.X.Node(), in.Y.Node()))}
	})
	in := pair{floats(s, make([]float64, 4), 4), floats(s, make([]float64, 4), 4)}
	b.ReportAllocs()
	for b.Loop() {
		f.Call(rl.Key{}, in)
	}
}

func BenchmarkGrad(b *testing.B) {
	s := scope(b)
	p := params(s, "net", 2, 1)
	l, o, in := regression(s, p), rl.NewOpt(s, "opt", heavyBall{}, p), data(s, 0, 8)
	b.ReportAllocs()
	for b.Loop() {
		g, _ := l.Grad(rl.Key{}, in)
		o.Apply(g, .001)
	}
}

func BenchmarkDraws(b *testing.B) {
	s := scope(b)
	f := rl.NewFunc(s, "f", func(c *rl.Ctx, _ struct{}) rl.Tensor { return rl.Wrap(c.Uniform("u", 128, 8)) })
	k := s.Key("k")
	b.ReportAllocs()
	for b.Loop() {
		f.Call(k, struct{}{})
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(128*8), "ns/number")
}

func BenchmarkKeyUniform(b *testing.B) {
	k := rl.NewKey(1)
	i := 0
	for b.Loop() {
		k.Uniform(i, 0)
		i++
	}
}

func BenchmarkPermutationAt(b *testing.B) {
	for _, n := range []int{512, 513, 1 << 20} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := rl.NewPermutation(rl.NewKey(1), n)
			j := 0
			for b.Loop() {
				p.At(j % n)
				j++
			}
		})
	}
}

func BenchmarkGAE(b *testing.B) {
	for _, size := range [][2]int{{4, 128}, {128, 128}} {
		b.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(b *testing.B) {
			e, _ := randomEpisodes(scope(b), size[0], size[1])
			b.ReportAllocs()
			for b.Loop() {
				rl.GAE(.99, .95, e.reward, e.value, e.next, e.term, e.done)
			}
		})
	}
}

func BenchmarkStandardise(b *testing.B) {
	x := floats(scope(b), randoms("x", 128), 128)
	b.ReportAllocs()
	for b.Loop() {
		rl.Standardise(x, rl.Tensor{})
	}
}
