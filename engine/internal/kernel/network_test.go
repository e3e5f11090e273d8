package kernel

import (
	"fmt"
	"testing"
)

// layer is one dense layer of a benchmark network, with everything a training step writes.
type layer struct {
	in, out      int
	act          UnaryOp
	back         GradOp
	w, b, dw, db []float32
	y, dy        []float32 // outputs and their gradient
}

func newLayer(in, out, batch int, act UnaryOp, back GradOp) *layer {
	l := &layer{in: in, out: out, act: act, back: back}
	for _, p := range []*[]float32{&l.w, &l.dw} {
		*p = make([]float32, in*out)
	}
	l.b, l.db = make([]float32, out), make([]float32, out)
	l.y, l.dy = make([]float32, batch*out), make([]float32, batch*out)
	normals(rng(uint64(in*out)), l.w)
	Binary32VS(Mul, l.w, l.w, 0.1)
	return l
}

// train runs a batch forward and back through the layers, as the engine would call the kernels.
func train(tb testing.TB, layers []*layer, x, target []float32, batch int, scratch []float32) {
	run := func(g Gemm32) {
		if err := g.Run(scratch); err != nil {
			tb.Fatal(err)
		}
	}
	in := x
	for _, l := range layers {
		run(Gemm32{M: batch, N: l.out, K: l.in, A: in, LDA: l.in, B: l.w, LDB: l.out, C: l.y, LDC: l.out, Bias: l.b, Act: l.act})
		in = l.y
	}
	last := layers[len(layers)-1]
	Binary32(Sub, last.dy, last.y, target)
	for i := len(layers) - 1; i >= 0; i-- {
		l, in := layers[i], x
		if i > 0 {
			p := layers[i-1]
			in = p.y
			run(Gemm32{M: batch, N: l.in, K: l.out, A: l.dy, LDA: l.out, B: l.w, LDB: l.out, TransB: true, C: p.dy, LDC: l.in,
				Grad: p.back, Y: p.y, LDY: l.in})
		}
		run(Gemm32{M: l.in, N: l.out, K: batch, A: in, LDA: l.in, TransA: true, B: l.dy, LDB: l.out, C: l.dw, LDC: l.out})
		ReduceCols32(ReduceSum, l.db, l.dy, batch, l.out, scratch)
	}
}

// BenchmarkNetwork is a training step of the networks that matter, on one core, without what an engine adds.
func BenchmarkNetwork(b *testing.B) {
	for _, n := range []struct {
		name  string
		sizes []int
		act   UnaryOp
		back  GradOp
	}{
		{"4-64-64-2", []int{4, 64, 64, 2}, Tanh, TanhGrad},
		{"17-256-256-6", []int{17, 256, 256, 6}, Relu, ReluGrad},
	} {
		for _, batch := range []int{1, 64, 256, 1024, 4096} {
			b.Run(fmt.Sprintf("%s/%d", n.name, batch), func(b *testing.B) {
				var layers []*layer
				flop := 0.0
				for i := range n.sizes[1:] {
					act, back := n.act, n.back
					if i == len(n.sizes)-2 {
						act, back = Identity, NoGrad
					}
					layers = append(layers, newLayer(n.sizes[i], n.sizes[i+1], batch, act, back))
					per := 2 * float64(batch*n.sizes[i]*n.sizes[i+1])
					flop += 2 * per
					if i > 0 {
						flop += per
					}
				}
				x, target := make([]float32, batch*n.sizes[0]), make([]float32, batch*n.sizes[len(n.sizes)-1])
				normals(rng(3), x)
				scratch := make([]float32, 1<<18)
				used := cpuSeconds()
				for b.Loop() {
					train(b, layers, x, target, batch, scratch)
				}
				used = cpuSeconds() - used
				b.ReportMetric(flop*float64(b.N)/used*1e-9, "GFLOP/cpu-s")
				b.ReportAllocs()
			})
		}
	}
}
