//go:build !amd64 || noasm

package kernel

// Scratch returns how many float32 of scratch Run and RunRange need.
func (g *Gemm32) Scratch() int { return 0 }

func (g *Gemm32) run(r0, r1, c0, c1 int, _ []float32) { g.runGo(r0, r1, c0, c1) }
