package kernel

import (
	"fmt"
	"testing"
)

// benchGemm reports GFLOP/s for one product.
func benchGemm(b *testing.B, c gemmCase) {
	g := c.make(b, rng(1), func(n int) []float32 { return make([]float32, n) })
	scratch := make([]float32, g.Scratch())
	b.ReportAllocs()
	used := cpuSeconds()
	for b.Loop() {
		if err := g.Run(scratch); err != nil {
			b.Fatal(err)
		}
	}
	used = cpuSeconds() - used
	flop := 2 * float64(c.m) * float64(c.n) * float64(c.k) * float64(b.N)
	b.ReportMetric(flop/b.Elapsed().Seconds()*1e-9, "GFLOP/s")
	if used > 0 {
		b.ReportMetric(flop/used*1e-9, "GFLOP/cpu-s") // what a quiet machine would do
	}
}

func BenchmarkGemmForward(b *testing.B) {
	for _, s := range [][2]int{{4, 64}, {64, 64}, {64, 2}, {64, 1}, {17, 256}, {256, 256}, {256, 6}} {
		for _, m := range []int{1, 16, 64, 1024} {
			c := gemmCase{m: m, k: s[0], n: s[1]}
			b.Run(fmt.Sprintf("%dx%dx%d", m, s[0], s[1]), func(b *testing.B) { benchGemm(b, c) })
		}
	}
}

func BenchmarkGemmEpilogue(b *testing.B) {
	for _, act := range []UnaryOp{Identity, Relu, Tanh, Logistic} {
		c := gemmCase{m: 1024, k: 64, n: 64, bias: true, act: act}
		b.Run(fmt.Sprint(act), func(b *testing.B) { benchGemm(b, c) })
	}
}

func BenchmarkGemmWeights(b *testing.B) {
	for _, s := range [][2]int{{4, 64}, {64, 64}, {64, 2}, {17, 256}, {256, 256}, {256, 6}} {
		c := gemmCase{m: s[0], n: s[1], k: 1024, ta: true}
		b.Run(fmt.Sprintf("%dx%dx%d", s[0], c.k, s[1]), func(b *testing.B) { benchGemm(b, c) })
	}
}

func BenchmarkGemmInputs(b *testing.B) {
	for _, s := range [][2]int{{64, 64}, {2, 64}, {256, 256}, {6, 256}} {
		for _, m := range []int{1, 64, 1024} {
			c := gemmCase{m: m, k: s[0], n: s[1], tb: true}
			b.Run(fmt.Sprintf("%dx%dx%d", m, s[0], s[1]), func(b *testing.B) { benchGemm(b, c) })
		}
	}
}

func BenchmarkGemmSquare(b *testing.B) {
	for _, n := range []int{512, 1024} {
		b.Run(fmt.Sprint(n), func(b *testing.B) { benchGemm(b, gemmCase{m: n, n: n, k: n}) })
	}
}
