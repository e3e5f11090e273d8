package mujoco

// The sums of NumPy are pairwise: eight running sums of up to 128 numbers, and
// halves beyond. Rewards have Gymnasium's bits only if they are added up in the
// same order.

const (
	lanes = 8
	block = 128
)

// sum adds f(lo) to f(hi-1) up. f is a rounded number: conversions keep the
// compiler from fusing its product with the addition.
func sum[T float32 | float64](lo, hi int, f func(i int) T) T {
	n := hi - lo
	if n > block {
		half := n / 2
		half -= half % lanes
		return sum(lo, lo+half, f) + sum(lo+half, hi, f)
	}
	var total T
	if n >= lanes {
		var r [lanes]T
		for ; hi-lo >= lanes; lo += lanes {
			for j := range r {
				r[j] += f(lo + j)
			}
		}
		total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
	}
	for ; lo < hi; lo++ {
		total += f(lo)
	}
	return total
}

// actionCost returns weight times the squared norm of an action, in single precision
// as NumPy has it.
func actionCost(weight float64, action []float32) float64 {
	squares := sum(0, len(action), func(i int) float32 { return float32(action[i] * action[i]) })
	return float64(float32(weight) * squares)
}

func sumSquares(x []float64) float64 {
	return sum(0, len(x), func(i int) float64 { return float64(x[i] * x[i]) })
}

func sumSquaresClipped(x []float64, r interval) float64 {
	return sum(0, len(x), func(i int) float64 {
		v := r.clip(x[i])
		return float64(v * v)
	})
}
