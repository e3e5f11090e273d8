package kernel

// RowScratch is how much scratch the broadcasts want for short rows; with less, or nil, they still work, one call of
// a kernel for every row.
const RowScratch = 2 * rowTile

// shortRow is the length from which a kernel call per row is worth it.
const shortRow = 16

// rowTile is the least length worth a kernel call; shorter rows are repeated up to it.
const rowTile = 256

// Row32 writes op(x[i,j], row[j]) to dst[i,j], for an m x n matrix without gaps.
func Row32(op BinaryOp, dst, x, row []float32, m, n int, scratch []float32) {
	eachRow(cur.binaryVV[op], dst, x, row, m, n, scratch)
}

func eachRow(f func(dst, x, row []float32), dst, x, row []float32, m, n int, scratch []float32) {
	total := max(0, min(m*n, len(dst), len(x)))
	row = repeat(scratch, row, n, total)
	for i := 0; i < total && len(row) > 0; i += len(row) {
		e := min(i+len(row), total)
		f(dst[i:e], x[i:e], row[:e-i])
	}
}

// Row32Rev writes op(row[j], x[i,j]) to dst[i,j].
func Row32Rev(op BinaryOp, dst, row, x []float32, m, n int, scratch []float32) {
	f := cur.binaryVV[op]
	total := max(0, min(m*n, len(dst), len(x)))
	row = repeat(scratch, row, n, total)
	for i := 0; i < total && len(row) > 0; i += len(row) {
		e := min(i+len(row), total)
		f(dst[i:e], row[:e-i], x[i:e])
	}
}

// repeat gives a short row as many times over as make rowTile or cover total, where scratch has the room; it gives
// nothing if row is shorter than n.
func repeat(scratch, row []float32, n, total int) []float32 {
	if n <= 0 || len(row) < n {
		return nil
	}
	row = row[:n]
	if n >= rowTile || total <= n || len(scratch) < RowScratch {
		return row
	}
	at := copy(scratch, row)
	for at < rowTile && at < total {
		at += copy(scratch[at:RowScratch], row)
	}
	return scratch[:at]
}

// Col32 writes op(x[i,j], col[i]) to dst[i,j], for an m x n matrix without gaps.
func Col32(op BinaryOp, dst, x, col []float32, m, n int, scratch []float32) {
	m = matrixRows(m, n, len(dst), len(x), len(col))
	if n < shortRow && len(scratch) >= RowScratch {
		for i := 0; i < m; {
			v, e := spread(scratch, col, i, m, n)
			cur.binaryVV[op](dst[i*n:e*n], x[i*n:e*n], v)
			i = e
		}
		return
	}
	for i := range m {
		cur.binaryVS[op](dst[i*n:(i+1)*n], x[i*n:(i+1)*n], col[i])
	}
}

// Col32Rev writes op(col[i], x[i,j]) to dst[i,j].
func Col32Rev(op BinaryOp, dst, col, x []float32, m, n int, scratch []float32) {
	m = matrixRows(m, n, len(dst), len(x), len(col))
	if n < shortRow && len(scratch) >= RowScratch {
		for i := 0; i < m; {
			v, e := spread(scratch, col, i, m, n)
			cur.binaryVV[op](dst[i*n:e*n], v, x[i*n:e*n])
			i = e
		}
		return
	}
	for i := range m {
		cur.binarySV[op](dst[i*n:(i+1)*n], col[i], x[i*n:(i+1)*n])
	}
}

// spread repeats each of col[i:e] n times, e as far as scratch allows.
func spread(scratch, col []float32, i, m, n int) (v []float32, e int) {
	e = min(i+RowScratch/n, m)
	at := 0
	if n == 2 {
		for k, c := range col[i:e] {
			pair := (*[2]float32)(scratch[2*k:])
			pair[0], pair[1] = c, c
		}
		return scratch[:2*(e-i)], e
	}
	for _, c := range col[i:e] {
		for j := range scratch[at : at+n] {
			scratch[at+j] = c
		}
		at += n
	}
	return scratch[:at], e
}

// matrixRows is how many whole rows of n all operands have, at most m; zero for n <= 0.
func matrixRows(m, n, dst, x, col int) int {
	if n <= 0 {
		return 0
	}
	return max(0, min(m, dst/n, x/n, col))
}
