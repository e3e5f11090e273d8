package loops

import (
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/engine/internal/kernel"
)

// scalarKey finds the loop in which operand which is a single element.
type scalarKey struct {
	key
	which int
}

var scalarTable = map[scalarKey]Fn{}

// Scalar returns the loop of op in which operand which (0 is the first) points to one element that serves for all.
func Scalar(op compute.OpType, in dtypes.DType, which int) (Fn, bool) {
	fn, ok := scalarTable[scalarKey{key{op, in}, which}]
	return fn, ok
}

var unaryKernels = map[compute.OpType]kernel.UnaryOp{
	compute.OpTypeNeg: kernel.Neg, compute.OpTypeAbs: kernel.Abs, compute.OpTypeSign: kernel.Sign,
	compute.OpTypeSqrt: kernel.Sqrt, compute.OpTypeRsqrt: kernel.Rsqrt, compute.OpTypeExp: kernel.Exp,
	compute.OpTypeExpm1: kernel.Expm1, compute.OpTypeLog: kernel.Log, compute.OpTypeLog1p: kernel.Log1p,
	compute.OpTypeTanh: kernel.Tanh, compute.OpTypeLogistic: kernel.Logistic, compute.OpTypeSin: kernel.Sin,
	compute.OpTypeCos: kernel.Cos, compute.OpTypeErf: kernel.Erf, compute.OpTypeFloor: kernel.Floor,
	compute.OpTypeCeil: kernel.Ceil, compute.OpTypeRound: kernel.Round,
}

var binaryKernels = map[compute.OpType]kernel.BinaryOp{
	compute.OpTypeAdd: kernel.Add, compute.OpTypeSub: kernel.Sub, compute.OpTypeMul: kernel.Mul,
	compute.OpTypeDiv: kernel.Div, compute.OpTypeMax: kernel.Max, compute.OpTypeMin: kernel.Min,
	compute.OpTypePow: kernel.Pow, compute.OpTypeRem: kernel.Rem, compute.OpTypeAtan2: kernel.Atan2,
}

var compareKernels = map[compute.OpType]kernel.CompareOp{
	compute.OpTypeEqual: kernel.Equal, compute.OpTypeNotEqual: kernel.NotEqual, compute.OpTypeLessThan: kernel.Less,
	compute.OpTypeLessOrEqual: kernel.LessEqual, compute.OpTypeGreaterThan: kernel.Greater,
	compute.OpTypeGreaterOrEqual: kernel.GreaterEqual,
}

var wordKernels = map[compute.OpType]kernel.BitOp{
	compute.OpTypeAdd: kernel.AddU, compute.OpTypeSub: kernel.SubU, compute.OpTypeMul: kernel.MulU,
	compute.OpTypeBitwiseAnd: kernel.BitAnd, compute.OpTypeBitwiseOr: kernel.BitOr,
	compute.OpTypeBitwiseXor: kernel.BitXor, compute.OpTypeShiftLeft: kernel.Shl,
	compute.OpTypeShiftRightLogical: kernel.Shr, compute.OpTypeShiftRightArithmetic: kernel.Sra,
}

// kernels puts the vector kernels in the place of the plain loops.
func kernels() {
	for op, k := range unaryKernels {
		table[key{op, dtypes.Float32}] = func(dst, a, _, _ unsafe.Pointer, n int) {
			kernel.Unary32(k, of[float32](dst, n), of[float32](a, n))
		}
	}
	for op, k := range binaryKernels {
		binaryKernel(op, k)
	}
	for op, k := range compareKernels {
		compareKernel(op, k)
	}
	for op, k := range wordKernels {
		wordKernel(op, dtypes.Uint32, k)
		wordKernel(op, dtypes.Int32, k)
	}
	selectKernel()
	conv(dtypes.Int32, dtypes.Float32, func(dst, a, _, _ unsafe.Pointer, n int) {
		kernel.Int32ToFloat32(of[float32](dst, n), of[int32](a, n))
	})
	conv(dtypes.Float32, dtypes.Int32, func(dst, a, _, _ unsafe.Pointer, n int) {
		kernel.Float32ToInt32(of[int32](dst, n), of[float32](a, n))
	})
	conv(dtypes.Uint32, dtypes.Float32, func(dst, a, _, _ unsafe.Pointer, n int) {
		kernel.Uint32ToFloat32(of[float32](dst, n), of[uint32](a, n))
	})
	conv(dtypes.Bool, dtypes.Float32, func(dst, a, _, _ unsafe.Pointer, n int) {
		kernel.BoolToFloat32(of[float32](dst, n), of[bool](a, n))
	})
}

func at[T any](p unsafe.Pointer) T { return *(*T)(p) }

func binaryKernel(op compute.OpType, k kernel.BinaryOp) {
	table[key{op, dtypes.Float32}] = func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Binary32(k, of[float32](dst, n), of[float32](a, n), of[float32](b, n))
	}
	scalarTable[scalarKey{key{op, dtypes.Float32}, 0}] = func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Binary32SV(k, of[float32](dst, n), at[float32](a), of[float32](b, n))
	}
	scalarTable[scalarKey{key{op, dtypes.Float32}, 1}] = func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Binary32VS(k, of[float32](dst, n), of[float32](a, n), at[float32](b))
	}
}

func compareKernel(op compute.OpType, k kernel.CompareOp) {
	table[key{op, dtypes.Float32}] = func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Compare32(k, of[bool](dst, n), of[float32](a, n), of[float32](b, n))
	}
	scalarTable[scalarKey{key{op, dtypes.Float32}, 0}] = func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Compare32SV(k, of[bool](dst, n), at[float32](a), of[float32](b, n))
	}
	scalarTable[scalarKey{key{op, dtypes.Float32}, 1}] = func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Compare32VS(k, of[bool](dst, n), of[float32](a, n), at[float32](b))
	}
}

func wordKernel(op compute.OpType, d dtypes.DType, k kernel.BitOp) {
	table[key{op, d}] = func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Bits32(k, of[uint32](dst, n), of[uint32](a, n), of[uint32](b, n))
	}
	scalarTable[scalarKey{key{op, d}, 0}] = func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Bits32SV(k, of[uint32](dst, n), at[uint32](a), of[uint32](b, n))
	}
	scalarTable[scalarKey{key{op, d}, 1}] = func(dst, a, b, _ unsafe.Pointer, n int) {
		kernel.Bits32VS(k, of[uint32](dst, n), of[uint32](a, n), at[uint32](b))
	}
}

func selectKernel() {
	w := key{compute.OpTypeWhere, dtypes.Float32}
	table[w] = func(dst, a, b, c unsafe.Pointer, n int) {
		kernel.Select32(of[float32](dst, n), of[bool](a, n), of[float32](b, n), of[float32](c, n))
	}
	scalarTable[scalarKey{w, 1}] = func(dst, a, b, c unsafe.Pointer, n int) {
		kernel.Select32SV(of[float32](dst, n), of[bool](a, n), at[float32](b), of[float32](c, n))
	}
	scalarTable[scalarKey{w, 2}] = func(dst, a, b, c unsafe.Pointer, n int) {
		kernel.Select32VS(of[float32](dst, n), of[bool](a, n), of[float32](b, n), at[float32](c))
	}
}
