// Package loops has the inner loops of the engine in plain Go: what one operation does to a run of
// contiguous elements, for every element type. Where the kernel package has a faster loop, that one
// is used; both give the same bits.
package loops

import "unsafe"

// Fn runs one elementwise operation on n elements: dst[i] = op(a[i], b[i], c[i]). Operands an
// operation does not have are nil. dst may be the same memory as an operand of the same element
// size, but must not overlap one otherwise.
type Fn func(dst, a, b, c unsafe.Pointer, n int)

func of[T any](p unsafe.Pointer, n int) []T { return unsafe.Slice((*T)(p), n) }

// unary makes a loop of a function of one element; the call in the loop is too slow for what
// networks are made of, which has loops of its own.
func unary[T, U any](f func(T) U) Fn {
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		d, x := of[U](dst, n), of[T](a, n)
		for i := range d {
			d[i] = f(x[i])
		}
	}
}

func binary[T, U any](f func(T, T) U) Fn {
	return func(dst, a, b, _ unsafe.Pointer, n int) {
		d, x, y := of[U](dst, n), of[T](a, n), of[T](b, n)
		for i := range d {
			d[i] = f(x[i], y[i])
		}
	}
}

// Copy returns the loop that copies elements of the given size.
func Copy(size int) Fn {
	return func(dst, a, _, _ unsafe.Pointer, n int) {
		copy(of[byte](dst, n*size), of[byte](a, n*size))
	}
}
