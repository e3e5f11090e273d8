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

// benchElements reports the time per element.
func benchElements(b *testing.B, n int, f func()) {
	b.ReportAllocs()
	used := cpuSeconds()
	for b.Loop() {
		f()
	}
	used = cpuSeconds() - used
	b.ReportMetric(used*1e9/float64(n)/float64(b.N), "cpu-ns/elem")
}

func BenchmarkElementwise(b *testing.B) {
	const n = 1024 // as much as the first cache keeps of three operands
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	normals(rng(1), x)
	normals(rng(2), y)
	for _, r := range reference {
		b.Run(r.name, func(b *testing.B) { benchElements(b, n, func() { Unary32(r.op, z, x) }) })
	}
	b.Run("add", func(b *testing.B) { benchElements(b, n, func() { Binary32(Add, z, x, y) }) })
	b.Run("max", func(b *testing.B) { benchElements(b, n, func() { Binary32(Max, z, x, y) }) })
	b.Run("pow", func(b *testing.B) { benchElements(b, n, func() { Binary32(Pow, z, x, y) }) })
	b.Run("tanhgrad", func(b *testing.B) { benchElements(b, n, func() { TanhGrad32(z, x, y) }) })
	b.Run("short", func(b *testing.B) { benchElements(b, 64, func() { Unary32(Relu, z[:64], x[:64]) }) })
}

func BenchmarkReduce(b *testing.B) {
	const n = 65536
	x, s := make([]float32, n), make([]float32, n)
	normals(rng(1), x)
	for op := range numReduce {
		b.Run(fmt.Sprintf("all/%d", op), func(b *testing.B) { benchElements(b, n, func() { Reduce32(op, x) }) })
	}
	for _, k := range []int{2, 6, 16, 64} {
		b.Run(fmt.Sprintf("rows/%d", k), func(b *testing.B) {
			benchElements(b, n, func() { ReduceRows32(ReduceSum, s, x, n/k, k) })
		})
		b.Run(fmt.Sprintf("rowsmax/%d", k), func(b *testing.B) {
			benchElements(b, n, func() { ReduceRows32(ReduceMax, s, x, n/k, k) })
		})
		b.Run(fmt.Sprintf("cols/%d", k), func(b *testing.B) {
			benchElements(b, n, func() { ReduceCols32(ReduceSum, s[:k], x, n/k, k, s) })
		})
		idx := make([]int32, n)
		b.Run(fmt.Sprintf("argmax/%d", k), func(b *testing.B) {
			benchElements(b, n, func() { ArgRows32(idx, x, n/k, k, false) })
		})
	}
}

func BenchmarkMove(b *testing.B) {
	const n = 256
	x, y := make([]float32, n*n), make([]float32, n*n)
	u := make([]uint32, n*n)
	b.Run("transpose", func(b *testing.B) { benchElements(b, n*n, func() { Transpose32(y, n, x, n, n, n) }) })
	b.Run("philox", func(b *testing.B) { benchElements(b, n*n, func() { Philox32(u, [4]uint32{1}, [2]uint32{2}) }) })
}
