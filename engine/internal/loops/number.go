package loops

import (
	"unsafe"

	"github.com/gomlx/compute"
)

type signed interface {
	~int8 | ~int16 | ~int32 | ~int64
}

type unsigned interface {
	~uint8 | ~uint16 | ~uint32 | ~uint64
}

type number interface {
	signed | unsigned | float32 | float64
}

// numbers are the operations that every native number type has.
func numbers[T number]() map[compute.OpType]Fn {
	return map[compute.OpType]Fn{
		compute.OpTypeAdd:            add[T],
		compute.OpTypeSub:            sub[T],
		compute.OpTypeMul:            mul[T],
		compute.OpTypeMax:            maximum[T],
		compute.OpTypeMin:            minimum[T],
		compute.OpTypeClamp:          clamp[T],
		compute.OpTypeNeg:            neg[T],
		compute.OpTypeEqual:          equal[T],
		compute.OpTypeNotEqual:       notEqual[T],
		compute.OpTypeLessThan:       less[T],
		compute.OpTypeLessOrEqual:    lessOrEqual[T],
		compute.OpTypeGreaterThan:    func(dst, a, b, c unsafe.Pointer, n int) { less[T](dst, b, a, c, n) },
		compute.OpTypeGreaterOrEqual: func(dst, a, b, c unsafe.Pointer, n int) { lessOrEqual[T](dst, b, a, c, n) },
		compute.OpTypeWhere:          where[T],
	}
}

func add[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] + y[i]
	}
}

func sub[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] - y[i]
	}
}

func mul[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] * y[i]
	}
}

// maximum gives NaN if either operand is, as Go's max does.
func maximum[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = max(x[i], y[i])
	}
}

func minimum[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[T](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = min(x[i], y[i])
	}
}

func clamp[T number](dst, a, b, c unsafe.Pointer, n int) {
	d, lo, x, hi := of[T](dst, n), of[T](a, n), of[T](b, n), of[T](c, n)
	for i := range d {
		d[i] = min(max(x[i], lo[i]), hi[i])
	}
}

func neg[T number](dst, a, _, _ unsafe.Pointer, n int) {
	d, x := of[T](dst, n), of[T](a, n)
	for i := range d {
		d[i] = -x[i]
	}
}

func equal[T comparable](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[bool](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] == y[i]
	}
}

func notEqual[T comparable](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[bool](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] != y[i]
	}
}

func less[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[bool](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] < y[i]
	}
}

func lessOrEqual[T number](dst, a, b, _ unsafe.Pointer, n int) {
	d, x, y := of[bool](dst, n), of[T](a, n), of[T](b, n)
	for i := range d {
		d[i] = x[i] <= y[i]
	}
}
