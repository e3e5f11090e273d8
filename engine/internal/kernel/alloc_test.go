package kernel

import "testing"

// TestAllocs: no kernel allocates, on any level.
func TestAllocs(t *testing.T) {
	const n = 64
	x, y, z := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	u, b := make([]uint32, n*n), make([]bool, n*n)
	normals(rng(1), x)
	scratch := make([]float32, 1<<17)
	a := Adam{Beta1: 0.9, Beta2: 0.999, LR: 1, Debias1: 1, Debias2: 1, Eps: 1}
	for name, f := range map[string]func(){
		"product": func() {
			g := Gemm32{M: n, N: n, K: n, A: x, LDA: n, B: y, LDB: n, TransB: true, C: z, LDC: n, Bias: x, Act: Tanh}
			_ = g.Run(scratch)
		},
		"unary":     func() { Unary32(Sin, z, x) },
		"binary":    func() { Binary32(Pow, z, x, y) },
		"row":       func() { Row32(Add, z, x, y, n, n, scratch) },
		"col":       func() { Col32(Add, z, x, y, n, n, scratch) },
		"compare":   func() { Compare32(Less, b, x, y) },
		"rows":      func() { ReduceRows32(ReduceMax, z, x, n, n) },
		"columns":   func() { ReduceCols32(ReduceSum, z, x, n, n, scratch) },
		"softmax":   func() { SoftmaxRows32(z, x, n, n, scratch) },
		"log":       func() { LogSoftmaxRows32(z, x, n*n/2, 2, scratch) },
		"philox":    func() { Philox32(u, [4]uint32{}, [2]uint32{}) },
		"adam":      func() { a.Step(z, y, y, x) },
		"transpose": func() { Transpose32(z, n, x, n, n, n) },
		"strided":   func() { CopyStrided(z, []int{n, 1}, x, []int{1, n}, []int{n, n}) },
	} {
		levels(t, func(l Level) {
			if got := testing.AllocsPerRun(10, f); got != 0 {
				t.Errorf("%v %s: %v allocations", l, name, got)
			}
		})
	}
}
