package kernel

// Transpose32 writes the transpose of x, m x n in rows of ldx, to dst, n x m in rows of ldd. They
// must not overlap. Sizes that do not fit the slices do nothing.
func Transpose32(dst []float32, ldd int, x []float32, ldx, m, n int) {
	if m <= 0 || n <= 0 || checkMatrix("", len(x), m, n, ldx, false) != nil || checkMatrix("", len(dst), n, m, ldd, false) != nil {
		return
	}
	cur.transpose(dst, ldd, x, ldx, m, n)
}

// Transpose does what Transpose32 does for any element type.
func Transpose[T any](dst []T, ldd int, x []T, ldx, m, n int) {
	if m <= 0 || n <= 0 || checkMatrix("", len(x), m, n, ldx, false) != nil || checkMatrix("", len(dst), n, m, ldd, false) != nil {
		return
	}
	transposeGo(dst, ldd, x, ldx, m, n)
}

// transposeGo walks blocks that fit the first cache on both sides.
func transposeGo[T any](dst []T, ldd int, x []T, ldx, m, n int) {
	const block = 16
	for i0 := 0; i0 < m; i0 += block {
		for j0 := 0; j0 < n; j0 += block {
			for i := i0; i < min(i0+block, m); i++ {
				for j := j0; j < min(j0+block, n); j++ {
					dst[j*ldd+i] = x[i*ldx+j]
				}
			}
		}
	}
}

// CopyRows32 copies an m x n matrix from rows of lds to rows of ldd. Sizes that do not fit the
// slices do nothing.
func CopyRows32(dst []float32, ldd int, src []float32, lds, m, n int) {
	if m > 0 && n > 0 && checkMatrix("", len(dst), m, n, ldd, false) == nil && checkMatrix("", len(src), m, n, lds, false) == nil {
		cur.copyRows(dst, ldd, src, lds, m, n)
	}
}

// GatherRows copies row idx[i] of x to row i of dst, rows being n long. An index outside x is
// clamped into it, as XLA does.
func GatherRows[T any, I int32 | int64 | uint32](dst, x []T, idx []I, n int) {
	if n <= 0 || len(x) < n {
		return
	}
	last := len(x)/n - 1
	for i := range min(len(idx), len(dst)/n) {
		r := min(max(int(idx[i]), 0), last)
		copy(dst[i*n:(i+1)*n], x[r*n:(r+1)*n])
	}
}
