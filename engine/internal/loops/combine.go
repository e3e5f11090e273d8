package loops

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/kernel"
)

// Kind is how two elements become one in a reduction, a window or a scatter.
type Kind int

// The kinds. And, Or and Xor are those of bools, and of the bits of integers.
const (
	None Kind = iota
	Sum
	Product
	Max
	Min
	And
	Or
	Xor
)

// Idempotent reports whether an element joined with itself is that element.
func (k Kind) Idempotent() bool { return k == Max || k == Min || k == And || k == Or }

// Vector returns the kernel that reduces float32, false if there is none.
func (k Kind) Vector() (kernel.ReduceOp, bool) {
	switch k {
	case Sum:
		return kernel.ReduceSum, true
	case Product:
		return kernel.ReduceProduct, true
	case Max:
		return kernel.ReduceMax, true
	case Min:
		return kernel.ReduceMin, true
	}
	return 0, false
}

// CombineFn joins n elements of src into dst: dst[i*ds] = kind(dst[i*ds], src[i*ss]), strides in
// elements, in order. With a dst stride of 0 it reduces.
type CombineFn func(dst, src unsafe.Pointer, n, ds, ss int)

type combineKey struct {
	kind Kind
	in   dtypes.DType
}

// combination is a loop, and the bits of the element that changes nothing.
type combination struct {
	fn       CombineFn
	identity uint64
}

var combinations = newCombinations()

// Combine returns the loop of a kind.
func Combine(kind Kind, d dtypes.DType) (CombineFn, bool) {
	c, ok := combinations[combineKey{kind, d}]
	return c.fn, ok
}

// Identity returns the bits of the element that changes nothing, in the low bytes.
func Identity(kind Kind, d dtypes.DType) uint64 { return combinations[combineKey{kind, d}].identity }

// combiner collects combinations.
type combiner map[combineKey]combination

func newCombinations() combiner {
	c := combiner{}
	combineNumber(c, dtypes.Int8, math.MinInt8, int8(math.MaxInt8))
	combineNumber(c, dtypes.Int16, math.MinInt16, int16(math.MaxInt16))
	combineNumber(c, dtypes.Int32, math.MinInt32, int32(math.MaxInt32))
	combineNumber(c, dtypes.Int64, math.MinInt64, int64(math.MaxInt64))
	combineNumber(c, dtypes.Uint8, 0, uint8(math.MaxUint8))
	combineNumber(c, dtypes.Uint16, 0, uint16(math.MaxUint16))
	combineNumber(c, dtypes.Uint32, 0, uint32(math.MaxUint32))
	combineNumber(c, dtypes.Uint64, 0, uint64(math.MaxUint64))
	combineNumber(c, dtypes.Float32, float32(math.Inf(-1)), float32(math.Inf(1)))
	combineNumber(c, dtypes.Float64, math.Inf(-1), math.Inf(1))
	combineBits[uint8](c, dtypes.Int8, dtypes.Uint8)
	combineBits[uint16](c, dtypes.Int16, dtypes.Uint16)
	combineBits[uint32](c, dtypes.Int32, dtypes.Uint32)
	combineBits[uint64](c, dtypes.Int64, dtypes.Uint64)
	combineBits[uint8](c, dtypes.Bool)
	all := c[combineKey{And, dtypes.Bool}]
	all.identity = 1
	c[combineKey{And, dtypes.Bool}] = all
	c[combineKey{Min, dtypes.Bool}] = all // false is less than true
	c[combineKey{Max, dtypes.Bool}] = c[combineKey{Or, dtypes.Bool}]
	return c
}

// bitsOf returns the bytes of an element as a word.
func bitsOf[T any](x T) (w uint64) {
	*(*T)(unsafe.Pointer(&w)) = x
	return w
}

func combineSet[T any](c combiner, k Kind, d dtypes.DType, identity T, fn CombineFn) {
	c[combineKey{k, d}] = combination{fn, bitsOf(identity)}
}

func combineNumber[T number](c combiner, d dtypes.DType, least, most T) {
	combineSet(c, Sum, d, T(0), func(dst, src unsafe.Pointer, n, ds, ss int) {
		for i := range n {
			*at2[T](dst, i*ds) += *at2[T](src, i*ss)
		}
	})
	combineSet(c, Product, d, T(1), func(dst, src unsafe.Pointer, n, ds, ss int) {
		for i := range n {
			*at2[T](dst, i*ds) *= *at2[T](src, i*ss)
		}
	})
	combineSet(c, Max, d, least, func(dst, src unsafe.Pointer, n, ds, ss int) {
		for i := range n {
			p := at2[T](dst, i*ds)
			*p = max(*p, *at2[T](src, i*ss))
		}
	})
	combineSet(c, Min, d, most, func(dst, src unsafe.Pointer, n, ds, ss int) {
		for i := range n {
			p := at2[T](dst, i*ds)
			*p = min(*p, *at2[T](src, i*ss))
		}
	})
}

func combineBits[T unsigned](c combiner, ds ...dtypes.DType) {
	for _, d := range ds {
		combineSet(c, And, d, ^T(0), func(dst, src unsafe.Pointer, n, ds, ss int) {
			for i := range n {
				*at2[T](dst, i*ds) &= *at2[T](src, i*ss)
			}
		})
		combineSet(c, Or, d, T(0), func(dst, src unsafe.Pointer, n, ds, ss int) {
			for i := range n {
				*at2[T](dst, i*ds) |= *at2[T](src, i*ss)
			}
		})
		combineSet(c, Xor, d, T(0), func(dst, src unsafe.Pointer, n, ds, ss int) {
			for i := range n {
				*at2[T](dst, i*ds) ^= *at2[T](src, i*ss)
			}
		})
	}
}

func at2[T any](p unsafe.Pointer, i int) *T {
	var t T
	return (*T)(unsafe.Add(p, i*int(unsafe.Sizeof(t))))
}

// Typed are the loops that other operations need of an element type.
type Typed struct {
	// Best returns which of n elements, stride apart, is largest, or smallest: the first of equals,
	// the first NaN.
	Best func(src unsafe.Pointer, n, stride int, least bool) int
	// SortIndex returns the positions of n keys in order, in idx or tmp; see sortIndex.
	SortIndex func(keys unsafe.Pointer, idx, tmp []int32, descending bool) []int32
	// Less orders two elements.
	Less func(a, b unsafe.Pointer) bool
	// Product is C = op(A)*op(B) with C, dense in rows of ldc, m x n; strides say where elements of
	// A and B are.
	Product func(m, n, k int, a unsafe.Pointer, ai, ak int, b unsafe.Pointer, bk, bj int, c unsafe.Pointer, ldc int)
	// Int reads element i as an integer; nil for floats.
	Int func(p unsafe.Pointer, i int) int
	// SetInt writes element i; nil for floats.
	SetInt func(p unsafe.Pointer, i, v int)
	// FromInt writes n elements start, start+1, ....
	Count func(dst unsafe.Pointer, start, n, step int)
}

// Of returns the loops of a native number type.
func Of(d dtypes.DType) (Typed, bool) {
	t, ok := typed[d]
	return t, ok
}

var typed = map[dtypes.DType]Typed{
	dtypes.Int8: integerLoops[int8](), dtypes.Int16: integerLoops[int16](), dtypes.Int32: integerLoops[int32](),
	dtypes.Int64: integerLoops[int64](), dtypes.Uint8: integerLoops[uint8](), dtypes.Uint16: integerLoops[uint16](),
	dtypes.Uint32: integerLoops[uint32](), dtypes.Uint64: integerLoops[uint64](),
	dtypes.Float32: numberLoops[float32](), dtypes.Float64: float64Loops(),
}

func numberLoops[T number]() Typed {
	return Typed{Best: best[T], Product: product[T], Count: count[T], SortIndex: sortIndex[T],
		Less: func(a, b unsafe.Pointer) bool { return *(*T)(a) < *(*T)(b) }}
}

func integerLoops[T integer]() Typed {
	t := numberLoops[T]()
	t.Int = func(p unsafe.Pointer, i int) int { return int(*at2[T](p, i)) }
	t.SetInt = func(p unsafe.Pointer, i, v int) { *at2[T](p, i) = T(v) }
	return t
}

func float64Loops() Typed {
	t := numberLoops[float64]()
	t.Product = product64
	return t
}

func best[T number](src unsafe.Pointer, n, stride int, least bool) int {
	at := 0
	b := *at2[T](src, 0)
	for i := 1; i < n && b == b; i++ {
		v := *at2[T](src, i*stride)
		if v != v || least && v < b || !least && v > b {
			at, b = i, v
		}
	}
	return at
}

func count[T number](dst unsafe.Pointer, start, n, step int) {
	for i := range n {
		*at2[T](dst, i*step) = T(start + i)
	}
}

func product[T number](m, n, k int, a unsafe.Pointer, ai, ak int, b unsafe.Pointer, bk, bj int, c unsafe.Pointer, ldc int) {
	for i := range m {
		row := of[T](unsafe.Pointer(at2[T](c, i*ldc)), n)
		clear(row)
		for p := range k {
			x := *at2[T](a, i*ai+p*ak)
			for j := range row {
				row[j] += x * *at2[T](b, p*bk+j*bj)
			}
		}
	}
}

// product64 makes one chain of fused multiply-adds for each element, as the kernels' products are.
func product64(m, n, k int, a unsafe.Pointer, ai, ak int, b unsafe.Pointer, bk, bj int, c unsafe.Pointer, ldc int) {
	span := func(p unsafe.Pointer, rows, cols, rs, cs int) ([]float64, int, bool) {
		if rows == 0 || cols == 0 {
			return nil, cols, false
		}
		x := of[float64](p, (rows-1)*rs+(cols-1)*cs+1)
		if cs == 1 {
			return x, max(rs, cols), false
		}
		return x, cs, true
	}
	x, lda, transA := span(a, m, k, ai, ak)
	y, ldb, transB := span(b, k, n, bk, bj)
	z, _, _ := span(c, m, n, ldc, 1)
	if err := kernel.Gemm64(m, n, k, x, lda, transA, y, ldb, transB, z, ldc, false); err != nil {
		panic(fmt.Sprintf("engine: a planned product does not fit: %v", err))
	}
}

// Philox fills dst with random bits: the stream of the cipher from counter on under key, least
// significant byte first.
func Philox(dst []byte, counter [4]uint32, key [2]uint32) {
	n := len(dst) / 16 * 16
	if n > 0 {
		kernel.Philox32(unsafe.Slice((*uint32)(unsafe.Pointer(&dst[0])), n/4), counter, key)
	}
	if n < len(dst) {
		var last [4]uint32
		kernel.Philox32(last[:], kernel.AddCounter(counter, uint64(n/16)), key)
		copy(dst[n:], unsafe.Slice((*byte)(unsafe.Pointer(&last)), 16))
	}
}
