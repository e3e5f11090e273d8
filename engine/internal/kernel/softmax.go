package kernel

// Rows are done softmaxRows at a time, but no more than softmaxSize elements: enough to keep the kernels busy, few
// enough for the first cache.
const (
	softmaxRows = 128
	softmaxSize = 2048
)

// SoftmaxScratch is how many values of scratch SoftmaxRows32 and LogSoftmaxRows32 need for rows of n.
func SoftmaxScratch(n int) int { return RowScratch + softmaxRows + max(n, softmaxSize) }

// SoftmaxRows32 writes exp(x-max)/sum(exp(x-max)) row by row; the bits are those of ReduceRows32, Col32 and Unary32
// called one after the other. dst may be x. With too little scratch nothing is done.
func SoftmaxRows32(dst, x []float32, m, n int, scratch []float32) {
	softmax(dst, x, m, n, scratch, func(d, v, s, _ []float32, k int) {
		rowCol, col := s[:RowScratch], s[RowScratch:RowScratch+k]
		ReduceRows32(ReduceMax, col, v, k, n)
		Col32(Sub, d, v, col, k, n, rowCol)
		Unary32(Exp, d, d)
		ReduceRows32(ReduceSum, col, d, k, n)
		Col32(Div, d, d, col, k, n, rowCol)
	})
}

// LogSoftmaxRows32 writes (x-max) - log(sum(exp(x-max))) row by row, with the bits of the operations called one after
// the other. dst may be x. With too little scratch nothing is done.
func LogSoftmaxRows32(dst, x []float32, m, n int, scratch []float32) {
	softmax(dst, x, m, n, scratch, func(d, v, s, e []float32, k int) {
		rowCol, col := s[:RowScratch], s[RowScratch:RowScratch+k]
		ReduceRows32(ReduceMax, col, v, k, n)
		Col32(Sub, d, v, col, k, n, rowCol)
		Unary32(Exp, e, d)
		ReduceRows32(ReduceSum, col, e, k, n)
		Unary32(Log, col, col)
		Col32(Sub, d, d, col, k, n, rowCol)
	})
}

// softmax calls f on pieces of k rows, with scratch for a column and for a piece.
func softmax(dst, x []float32, m, n int, scratch []float32, f func(d, v, s, e []float32, k int)) {
	if n <= 0 || len(scratch) < SoftmaxScratch(n) {
		return
	}
	step := min(softmaxRows, max(1, softmaxSize/n))
	m = max(0, min(m, len(dst)/n, len(x)/n))
	for i := 0; i < m; i += step {
		k := min(step, m-i)
		f(dst[i*n:(i+k)*n], x[i*n:(i+k)*n], scratch, scratch[RowScratch+softmaxRows:][:k*n], k)
	}
}
