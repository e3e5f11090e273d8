package kernel

import "math"

// fillRestGo sets what has no vector kernel on any level.
func fillRestGo(t *table) {
	t.transpose = transposeGo[float32]
	t.copyRows = func(dst []float32, ldd int, src []float32, lds, m, n int) {
		for i := range m {
			copy(dst[i*ldd:i*ldd+n], src[i*lds:])
		}
	}
	for op, f := range map[BinaryOp]func(x, y float64) float64{Rem: math.Mod, Atan2: math.Atan2} {
		t.binaryVV[op] = func(dst, x, y []float32) {
			for i := range dst {
				dst[i] = float32(f(float64(x[i]), float64(y[i])))
			}
		}
		t.binaryVS[op] = func(dst, x []float32, y float32) {
			for i := range dst {
				dst[i] = float32(f(float64(x[i]), float64(y)))
			}
		}
		t.binarySV[op] = func(dst []float32, x float32, y []float32) {
			for i := range dst {
				dst[i] = float32(f(float64(x), float64(y[i])))
			}
		}
	}
}
