package loops

import (
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"
)

// halves derives the 16-bit floats' loops from float32's: widen, compute, round once.
func halves() {
	for op, fn := range floatOps() {
		table[key{op, dtypes.BFloat16}] = half(op, fn, bfloat16.BFloat16.Float32, toBFloat16)
		table[key{op, dtypes.Float16}] = half(op, fn, float16.Float16.Float32, toFloat16)
	}
	table[key{compute.OpTypeWhere, dtypes.BFloat16}] = where[uint16]
	table[key{compute.OpTypeWhere, dtypes.Float16}] = where[uint16]
}

func floatOps() map[compute.OpType]Fn {
	fns := map[compute.OpType]Fn{}
	for k, fn := range table {
		if k.in == dtypes.Float32 && k.op != compute.OpTypeWhere {
			fns[k.op] = fn
		}
	}
	return fns
}

// halfChunk is how many elements are widened at a time, on the stack.
const halfChunk = 128

func half[H ~uint16](op compute.OpType, fn Fn, widen func(H) float32, narrow func(float32) H) Fn {
	toBool := boolean(op)
	return func(dst, a, b, c unsafe.Pointer, n int) {
		var bufs [3][halfChunk]float32
		for i := 0; i < n; i += halfChunk {
			m := min(halfChunk, n-i)
			ptrs := [3]unsafe.Pointer{a, b, c}
			for j, p := range ptrs {
				if p == nil {
					continue
				}
				src := of[H](unsafe.Add(p, 2*i), m)
				for k, h := range src {
					bufs[j][k] = widen(h)
				}
				ptrs[j] = unsafe.Pointer(&bufs[j])
			}
			if toBool {
				fn(unsafe.Add(dst, i), ptrs[0], ptrs[1], ptrs[2], m)
				continue
			}
			fn(unsafe.Pointer(&bufs[0]), ptrs[0], ptrs[1], ptrs[2], m)
			out := of[H](unsafe.Add(dst, 2*i), m)
			for k := range out {
				out[k] = narrow(bufs[0][k])
			}
		}
	}
}

// boolean reports whether op gives bools, whatever it is given.
func boolean(op compute.OpType) bool {
	switch op {
	case compute.OpTypeEqual, compute.OpTypeNotEqual, compute.OpTypeLessThan, compute.OpTypeLessOrEqual,
		compute.OpTypeGreaterThan, compute.OpTypeGreaterOrEqual, compute.OpTypeIsNaN, compute.OpTypeIsFinite,
		compute.OpTypeEqualTotalOrder, compute.OpTypeNotEqualTotalOrder, compute.OpTypeLessThanTotalOrder,
		compute.OpTypeLessOrEqualTotalOrder, compute.OpTypeGreaterThanTotalOrder,
		compute.OpTypeGreaterOrEqualTotalOrder:
		return true
	}
	return false
}
