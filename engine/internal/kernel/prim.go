package kernel

import "math"

// fma32 returns x*y + z rounded once. The product of two float32 is exact in float64, so the sum
// there is rounded once; rounding it again to float32 can go wrong only where it lies exactly
// between two float32, or in the denormal range, where float32 has fewer bits.
func fma32(x, y, z float32) float32 {
	s := float64(x)*float64(y) + float64(z)
	if b := math.Float64bits(s); b&0x1fffffff != 1<<28 && b<<1 >= (1023-126)<<53 {
		return float32(s)
	}
	return fmaOdd(x, y, z)
}

// fmaOdd rounds the float64 sum to odd, which keeps enough of what was lost for the last rounding
// to go the right way.
func fmaOdd(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	c := float64(z)
	s := p + c
	// TwoSum: e is the exact error of s.
	b := s - p
	e := (p - (s - b)) + (c - b)
	if e == 0 || e != e {
		return float32(s)
	}
	bits := math.Float64bits(s)
	if bits&1 == 0 {
		// s is even and inexact: step to the odd neighbour on the side of the true sum.
		if (e > 0) == (s > 0) {
			bits++
		} else {
			bits--
		}
	}
	return float32(math.Float64frombits(bits))
}

// minX and maxX are MINPS and MAXPS: the second operand unless the comparison holds.
func minX(x, y float32) float32 {
	if x < y {
		return x
	}
	return y
}

func maxX(x, y float32) float32 {
	if x > y {
		return x
	}
	return y
}

// withSign gives x, which is not negative, the sign of y.
func withSign(x, y float32) float32 {
	return math.Float32frombits(math.Float32bits(x) | math.Float32bits(y)&(1<<31))
}

func sel[T any](m bool, x, y T) T {
	if m {
		return x
	}
	return y
}

func shlV(x, n int32) int32 { return int32(uint32(x) << uint32(n)) }
func shrV(x, n int32) int32 { return int32(uint32(x) >> uint32(n)) }
func sraV(x, n int32) int32 { return x >> uint32(n) }

// pow2D returns 2**n for n in float64's normal range.
func pow2D(n int32) float64 { return math.Float64frombits(uint64(int64(n)+1023) << 52) }
