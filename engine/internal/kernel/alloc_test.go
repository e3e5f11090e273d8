package kernel

import "testing"

// TestAllocs: no kernel allocates, on any level.
func TestAllocs(t *testing.T) {
	const n = 64
	x, y, z := make([]float32, n*n), make([]float32, n*n), make([]float32, n*n)
	u, b := make([]uint32, n*n), make([]bool, n*n)
	normals(rng(1), x)
	scratch := make([]float32, 1<<17)
	for name, f := range map[string]func(){
		"product": func() {
			g := Gemm32{M: n, N: n, K: n, A: x, LDA: n, B: y, LDB: n, TransB: true, C: z, LDC: n}
			_ = g.Run(scratch)
		},
		"unary":     func() { Unary32(Sin, z, x) },
		"binary":    func() { Binary32(Pow, z, x, y) },
		"compare":   func() { Compare32(Less, b, x, y) },
		"rows":      func() { ReduceRows32(ReduceMax, z, x, n, n) },
		"columns":   func() { ReduceCols32(ReduceSum, z, x, n, n, scratch) },
		"philox":    func() { Philox32(u, [4]uint32{}, [2]uint32{}) },
		"transpose": func() { Transpose32(z, n, x, n, n, n) },
		"add, act":  func() { AddAct32(Tanh, z, x, y) },
	} {
		levels(t, func(l Level) {
			if got := testing.AllocsPerRun(10, f); got != 0 {
				t.Errorf("%v %s: %v allocations", l, name, got)
			}
		})
	}
}
