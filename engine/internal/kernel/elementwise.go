package kernel

// UnaryOp is an elementwise operation of one operand.
type UnaryOp uint8

// The unary operations. Identity copies.
const (
	Identity UnaryOp = iota
	Neg
	Abs
	Sign // NaN and both zeros pass through
	Sqrt
	Rsqrt
	Exp
	Expm1
	Log
	Log1p
	Tanh
	Logistic
	Sin
	Cos
	Erf
	Floor
	Ceil
	Round // half to even
	Relu  // Max(x, +0)
	numUnary
)

// BinaryOp is an elementwise operation of two operands.
type BinaryOp uint8

// The binary operations. Max and Min have NaN win and order -0 below +0; Pow follows C's pow.
const (
	Add BinaryOp = iota
	Sub
	Mul
	Div
	Max
	Min
	Pow
	Rem   // C's fmod: the sign of x
	Atan2 // the angle of (y=x operand, x=y operand), as math.Atan2(x, y)
	numBinary
)

// CompareOp is an elementwise comparison.
type CompareOp uint8

// The comparisons. With a NaN all are false but NotEqual.
const (
	Equal CompareOp = iota
	NotEqual
	Less
	LessEqual
	Greater
	GreaterEqual
	numCompare
)

// swapped returns the comparison with its operands exchanged.
func (o CompareOp) swapped() CompareOp {
	return [...]CompareOp{Equal, NotEqual, Greater, GreaterEqual, Less, LessEqual}[o]
}

// BitOp is an elementwise operation on 32-bit words; signed and unsigned integers share all but the
// right shifts.
type BitOp uint8

// The operations on words. Shift counts of 32 and more clear (Shl, Shr) or keep only the sign
// (Sra).
const (
	BitAnd BitOp = iota
	BitOr
	BitXor
	Shl
	Shr // logical
	Sra // arithmetic
	AddU
	SubU
	MulU // low 32 bits
	numBits
)

// Unary32 writes op(x[i]) to dst[i], for as many elements as both have. dst may be x.
func Unary32(op UnaryOp, dst, x []float32) {
	n := min(len(dst), len(x))
	dst, x = dst[:n], x[:n]
	switch op {
	case Identity:
		copy(dst, x)
	case Sin, Cos:
		trig(op, dst, x)
	default:
		cur.unary[op](dst, x)
	}
}

// Binary32 writes op(x[i], y[i]) to dst[i], for as many elements as all have. dst may be x or y.
func Binary32(op BinaryOp, dst, x, y []float32) {
	n := min(len(dst), len(x), len(y))
	cur.binaryVV[op](dst[:n], x[:n], y[:n])
}

// Binary32VS writes op(x[i], y) to dst[i].
func Binary32VS(op BinaryOp, dst, x []float32, y float32) {
	n := min(len(dst), len(x))
	cur.binaryVS[op](dst[:n], x[:n], y)
}

// Binary32SV writes op(x, y[i]) to dst[i].
func Binary32SV(op BinaryOp, dst []float32, x float32, y []float32) {
	n := min(len(dst), len(y))
	cur.binarySV[op](dst[:n], x, y[:n])
}

// Bits32 writes op(x[i], y[i]) to dst[i].
func Bits32(op BitOp, dst, x, y []uint32) {
	n := min(len(dst), len(x), len(y))
	cur.bitsVV[op](dst[:n], x[:n], y[:n])
}

// Bits32VS writes op(x[i], y) to dst[i].
func Bits32VS(op BitOp, dst, x []uint32, y uint32) {
	n := min(len(dst), len(x))
	cur.bitsVS[op](dst[:n], x[:n], y)
}

// Bits32SV writes op(x, y[i]) to dst[i].
func Bits32SV(op BitOp, dst []uint32, x uint32, y []uint32) {
	n := min(len(dst), len(y))
	cur.bitsSV[op](dst[:n], x, y[:n])
}

// Compare32 writes op(x[i], y[i]) to dst[i].
func Compare32(op CompareOp, dst []bool, x, y []float32) {
	n := min(len(dst), len(x), len(y))
	cur.compareVV[op](dst[:n], x[:n], y[:n])
}

// Compare32VS writes op(x[i], y) to dst[i].
func Compare32VS(op CompareOp, dst []bool, x []float32, y float32) {
	n := min(len(dst), len(x))
	cur.compareVS[op](dst[:n], x[:n], y)
}

// Compare32SV writes op(x, y[i]) to dst[i].
func Compare32SV(op CompareOp, dst []bool, x float32, y []float32) {
	Compare32VS(op.swapped(), dst, y, x)
}

// Select32 writes x[i] to dst[i] where cond[i], else y[i].
func Select32(dst []float32, cond []bool, x, y []float32) {
	n := min(len(dst), len(cond), len(x), len(y))
	cur.selectVV(dst[:n], cond[:n], x[:n], y[:n])
}

// Select32VS does what Select32 does with one y for all.
func Select32VS(dst []float32, cond []bool, x []float32, y float32) {
	n := min(len(dst), len(cond), len(x))
	cur.selectVS(dst[:n], cond[:n], x[:n], y)
}

// Select32SV does what Select32 does with one x for all.
func Select32SV(dst []float32, cond []bool, x float32, y []float32) {
	n := min(len(dst), len(cond), len(y))
	cur.selectSV(dst[:n], cond[:n], x, y[:n])
}

// Int32ToFloat32 converts, rounding to nearest even.
func Int32ToFloat32(dst []float32, x []int32) {
	n := min(len(dst), len(x))
	cur.intToFloat(dst[:n], x[:n])
}

// Uint32ToFloat32 converts, rounding to nearest even.
func Uint32ToFloat32(dst []float32, x []uint32) {
	n := min(len(dst), len(x))
	cur.uintToFloat(dst[:n], x[:n])
}

// Float32ToInt32 truncates towards zero, saturates, and sends NaN to zero.
func Float32ToInt32(dst []int32, x []float32) {
	n := min(len(dst), len(x))
	cur.floatToInt(dst[:n], x[:n])
}

// BoolToFloat32 writes 1 for true and 0 for false.
func BoolToFloat32(dst []float32, x []bool) {
	n := min(len(dst), len(x))
	cur.boolToFloat(dst[:n], x[:n])
}
