package kernel

import "math"

// ReduceOp is a reduction.
type ReduceOp uint8

// The reductions. ReduceMax and ReduceMin are Max and Min of all, so NaN wins.
const (
	ReduceSum ReduceOp = iota
	ReduceProduct
	ReduceMax
	ReduceMin
	numReduce
)

const (
	reduceLanes = 16
	// ReduceBlock is the length of the blocks a row is reduced in.
	ReduceBlock = 4096
	// ColumnBlock is how many rows a block of a column reduction has.
	ColumnBlock = 64
)

// Binary returns the operation that joins two partial results.
func (o ReduceOp) Binary() BinaryOp { return [...]BinaryOp{Add, Mul, Max, Min}[o] }

// Identity returns the result for no elements: the value every chain starts from.
func (o ReduceOp) Identity() float32 {
	inf := float32(math.Inf(1))
	return [...]float32{0, 1, -inf, inf}[o]
}

func (o ReduceOp) join(x, y float32) float32 {
	switch o {
	case ReduceSum:
		return x + y
	case ReduceProduct:
		return x * y
	case ReduceMax:
		return max(x, y)
	}
	return min(x, y)
}

// Reduce32 reduces all of x: blocks of ReduceBlock, each by lanes, then the blocks by a pairwise
// tree.
func Reduce32(op ReduceOp, x []float32) float32 {
	if len(x) <= ReduceBlock {
		return cur.reduce[op](x)
	}
	var t tree
	for len(x) > 0 {
		n := min(len(x), ReduceBlock)
		t.push(op, cur.reduce[op](x[:n]))
		x = x[n:]
	}
	return t.result(op)
}

// Blocks returns how many partial results ReduceBlocks32 makes of n elements.
func Blocks(n int) int { return (n + ReduceBlock - 1) / ReduceBlock }

// ReduceBlocks32 writes the partial results of blocks [b0,b1) of x to partial[b0:b1], for a caller
// that shares the blocks out; Tree32 joins them. The result has the bits of Reduce32.
func ReduceBlocks32(op ReduceOp, partial, x []float32, b0, b1 int) {
	for b := max(b0, 0); b < min(b1, Blocks(len(x)), len(partial)); b++ {
		partial[b] = cur.reduce[op](x[b*ReduceBlock : min((b+1)*ReduceBlock, len(x))])
	}
}

// Tree32 joins partial results pairwise: neighbours, then neighbours of those, and so on.
func Tree32(op ReduceOp, partial []float32) float32 {
	if len(partial) == 0 {
		return op.Identity()
	}
	var t tree
	for _, v := range partial {
		t.push(op, v)
	}
	return t.result(op)
}

// tree joins values pairwise as they come: level l waits with the join of 2**l of them.
type tree struct {
	level [64]float32
	n     uint64
}

func (t *tree) push(op ReduceOp, v float32) {
	l := 0
	for ; t.n>>l&1 != 0; l++ {
		v = op.join(t.level[l], v)
	}
	t.level[l] = v
	t.n++
}

func (t *tree) result(op ReduceOp) float32 {
	var v float32
	first := true
	for l := range t.level {
		switch {
		case t.n>>l&1 == 0:
		case first:
			v, first = t.level[l], false
		default:
			v = op.join(t.level[l], v)
		}
	}
	return v
}

// ReduceRows32 reduces each row of an m x n matrix without gaps into dst[i], each row as Reduce32
// would.
func ReduceRows32(op ReduceOp, dst, x []float32, m, n int) {
	if n <= 0 {
		fillIdentity(op, dst, m)
		return
	}
	m = max(0, min(m, len(dst), len(x)/n))
	if n <= cur.short {
		cur.reduceShort[op](dst[:m], x[:m*n], n)
		return
	}
	for i := range m {
		dst[i] = Reduce32(op, x[i*n:(i+1)*n])
	}
}

func fillIdentity(op ReduceOp, dst []float32, m int) {
	for i := range min(m, len(dst)) {
		dst[i] = op.Identity()
	}
}

// reduceGo returns the twin of the lane order: lane j joins elements j, j+16, ..., and the lanes
// are joined 8 apart, then 4, 2 and 1.
func reduceGo(op ReduceOp, x []float32) float32 {
	var l [reduceLanes]float32
	for i := range l {
		l[i] = op.Identity()
	}
	for i, v := range x {
		l[i%reduceLanes] = op.join(l[i%reduceLanes], v)
	}
	for s := reduceLanes / 2; s > 0; s /= 2 {
		for j := range s {
			l[j] = op.join(l[j], l[j+s])
		}
	}
	return l[0]
}

func fillReduceGo(t *table) {
	for op := range numReduce {
		t.reduce[op] = func(x []float32) float32 { return reduceGo(op, x) }
		t.columns[op] = func(dst, x []float32) { columnsGo(op, dst, x) }
	}
	t.argBest = argBestGo
}

// ReduceCols32 reduces an m x n matrix without gaps over its rows into dst[j]: blocks of
// ColumnBlock rows, in order within a block, then the blocks by a pairwise tree. scratch holds
// ColumnScratch(m, n) values.
func ReduceCols32(op ReduceOp, dst, x []float32, m, n int, scratch []float32) {
	nb := ColumnBlocks(m)
	if nb <= 1 {
		ReduceColBlocks32(op, dst, x, m, n, 0, nb)
		if nb == 0 {
			fillIdentity(op, dst, n)
		}
		return
	}
	ReduceColBlocks32(op, scratch, x, m, n, 0, nb)
	TreeCols32(op, dst, scratch, nb, n)
}

// ColumnBlocks returns how many blocks a column reduction over m rows has.
func ColumnBlocks(m int) int { return (m + ColumnBlock - 1) / ColumnBlock }

// ColumnScratch returns how many values of scratch ReduceCols32 needs.
func ColumnScratch(m, n int) int { return ColumnBlocks(m) * n }

// ReduceColBlocks32 writes the partial rows of blocks [b0,b1) to partial[b*n:(b+1)*n], for a caller
// that shares the blocks out; TreeCols32 joins them.
func ReduceColBlocks32(op ReduceOp, partial, x []float32, m, n, b0, b1 int) {
	if n <= 0 || m*n > len(x) {
		return
	}
	for b := max(b0, 0); b < min(b1, ColumnBlocks(m), len(partial)/n); b++ {
		r0, r1 := b*ColumnBlock, min((b+1)*ColumnBlock, m)
		cur.columns[op](partial[b*n:(b+1)*n], x[r0*n:r1*n])
	}
}

// TreeCols32 joins nb partial rows of n pairwise into dst; partial is overwritten.
func TreeCols32(op ReduceOp, dst, partial []float32, nb, n int) {
	if nb <= 0 || n <= 0 || nb*n > len(partial) {
		return
	}
	for s := 1; s < nb; s *= 2 {
		for i := 0; i+s < nb; i += 2 * s {
			p := partial[i*n : (i+1)*n]
			Binary32(op.Binary(), p, p, partial[(i+s)*n:(i+s+1)*n])
		}
	}
	copy(dst, partial[:n])
}

// columnsGo joins the rows of x, each as long as dst, in order, starting from the identity.
func columnsGo(op ReduceOp, dst, x []float32) {
	id := op.Identity()
	for j := range dst {
		dst[j] = op.join(id, x[j])
	}
	for n := len(dst); len(x) > n; {
		x = x[n:]
		for j, v := range x[:n] {
			dst[j] = op.join(dst[j], v)
		}
	}
}

// ArgRows32 writes to dst[i] where row i of an m x n matrix has its largest (or, with least,
// smallest) element. The first wins among equals, and a NaN wins over all. A row of no elements
// gives 0.
func ArgRows32(dst []int32, x []float32, m, n int, least bool) {
	if n <= 0 {
		clear(dst[:max(0, min(m, len(dst)))])
		return
	}
	m = max(0, min(m, len(dst), len(x)/n))
	if n <= cur.short {
		which := 0
		if least {
			which = 1
		}
		cur.argShort[which](dst[:m], x[:m*n], n)
		return
	}
	for i := range m {
		dst[i] = int32(cur.argBest(x[i*n:(i+1)*n], least))
	}
}

func argBestGo(x []float32, least bool) int {
	best := 0
	for i, v := range x {
		b := x[best]
		if b != b {
			break
		}
		if v != v || !least && v > b || least && v < b {
			best = i
		}
	}
	return best
}
