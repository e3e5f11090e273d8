package kernel

// Fill sets every element of dst.
func Fill[T any](dst []T, v T) {
	for i := range dst {
		dst[i] = v
	}
}

// Transpose32 writes the transpose of x, m x n in rows of ldx, to dst, n x m in rows of ldd. They must not overlap.
// Sizes that do not fit the slices do nothing.
func Transpose32(dst []float32, ldd int, x []float32, ldx, m, n int) {
	if m <= 0 || n <= 0 || checkMatrix("", len(x), m, n, ldx, false) != nil || checkMatrix("", len(dst), n, m, ldd, false) != nil {
		return
	}
	cur.transpose(dst, ldd, x, ldx, m, n)
}

// Transpose is Transpose32 for any element type.
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

// CopyRows32 copies an m x n matrix from rows of lds to rows of ldd. Sizes that do not fit the slices do nothing.
func CopyRows32(dst []float32, ldd int, src []float32, lds, m, n int) {
	if m > 0 && n > 0 && checkMatrix("", len(dst), m, n, ldd, false) == nil && checkMatrix("", len(src), m, n, lds, false) == nil {
		cur.copyRows(dst, ldd, src, lds, m, n)
	}
}

// AddRows32 adds an m x n matrix in rows of lds to one in rows of ldd. Sizes that do not fit the slices do nothing.
func AddRows32(dst []float32, ldd int, src []float32, lds, m, n int) {
	if m > 0 && n > 0 && checkMatrix("", len(dst), m, n, ldd, false) == nil && checkMatrix("", len(src), m, n, lds, false) == nil {
		cur.addRows(dst, ldd, src, lds, m, n)
	}
}

// GatherRows copies row idx[i] of x to row i of dst, rows being n long. An index outside x is clamped into it, as
// XLA does.
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

// ScatterRows copies row i of x to row idx[i] of dst, in order, so that the last of equal indices stays. An index
// outside dst is dropped.
func ScatterRows[T any, I int32 | int64 | uint32](dst, x []T, idx []I, n int) {
	if n <= 0 {
		return
	}
	for i := range min(len(idx), len(x)/n) {
		if r := int(idx[i]); r >= 0 && r < len(dst)/n {
			copy(dst[r*n:(r+1)*n], x[i*n:(i+1)*n])
		}
	}
}

// ScatterAddRows32 adds row i of x to row idx[i] of dst, in order. An index outside dst is dropped.
func ScatterAddRows32[I int32 | int64 | uint32](dst, x []float32, idx []I, n int) {
	if n <= 0 {
		return
	}
	for i := range min(len(idx), len(x)/n) {
		if r := int(idx[i]); r >= 0 && r < len(dst)/n {
			d := dst[r*n : (r+1)*n]
			Binary32(Add, d, d, x[i*n:(i+1)*n])
		}
	}
}

// CopyStrided copies a block of any rank between two layouts: element (i0,i1,...) is at the sum of i*stride in
// either slice, strides counted in elements and never negative. Blocks that do not fit the slices are not copied.
func CopyStrided[T any](dst []T, dstStride []int, src []T, srcStride, dims []int) {
	if !fits(len(dst), dstStride, dims) || !fits(len(src), srcStride, dims) {
		return
	}
	copyStrided(dst, dstStride, src, srcStride, dims)
}

func fits(have int, stride, dims []int) bool {
	last := 0
	if len(stride) < len(dims) {
		return false
	}
	for i, d := range dims {
		if d <= 0 || stride[i] < 0 {
			return false
		}
		last += (d - 1) * stride[i]
	}
	return last < have
}

func copyStrided[T any](dst []T, ds []int, src []T, ss, dims []int) {
	switch {
	case len(dims) == 0:
		dst[0] = src[0]
	case len(dims) > 1:
		for i := range dims[0] {
			copyStrided(dst[i*ds[0]:], ds[1:], src[i*ss[0]:], ss[1:], dims[1:])
		}
	case ds[0] == 1 && ss[0] == 1:
		copy(dst[:dims[0]], src)
	default:
		for i := range dims[0] {
			dst[i*ds[0]] = src[i*ss[0]]
		}
	}
}
