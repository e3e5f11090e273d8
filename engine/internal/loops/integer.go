package loops

import (
	"math/bits"
	"unsafe"
)

type integer interface{ signed | unsigned }

// The operations of integers.
var (
	Quotient             = integers2(quotient, quotient, quotient, quotient, quotient, quotient, quotient, quotient)
	Remainder            = integers2(remainder, remainder, remainder, remainder, remainder, remainder, remainder, remainder)
	Power                = integers2(power, power, power, power, power, power, power, power)
	BitAnd               = integers2(and, and, and, and, and, and, and, and)
	BitOr                = integers2(or, or, or, or, or, or, or, or)
	BitXor               = integers2(xor, xor, xor, xor, xor, xor, xor, xor)
	BitNot               = integers1(not, not, not, not, not, not, not, not)
	ShiftLeft            = integers2(shiftLeft, shiftLeft, shiftLeft, shiftLeft, shiftLeft, shiftLeft, shiftLeft, shiftLeft)
	ShiftRightLogical    = integers2(shiftRightLogical, shiftRightLogical, shiftRightLogical, shiftRightLogical, shiftRightLogical, shiftRightLogical, shiftRightLogical, shiftRightLogical)
	ShiftRightArithmetic = integers2(shiftRightArithmetic, shiftRightArithmetic, shiftRightArithmetic, shiftRightArithmetic, shiftRightArithmetic, shiftRightArithmetic, shiftRightArithmetic, shiftRightArithmetic)
	BitCount             = integers1(bitCount, bitCount, bitCount, bitCount, bitCount, bitCount, bitCount, bitCount)
	LeadingZeros         = integers1(leadingZeros, leadingZeros, leadingZeros, leadingZeros, leadingZeros, leadingZeros, leadingZeros, leadingZeros)

	// Magnitude and Direction are the absolute value and the sign.
	Magnitude = integers1(magnitude, magnitude, magnitude, magnitude, itself, itself, itself, itself)
	Direction = integers1(direction, direction, direction, direction, atMostOne, atMostOne, atMostOne, atMostOne)
)

// integers1 makes the loops of a function of one integer, given for every type.
func integers1(i8 func(int8) int8, i16 func(int16) int16, i32 func(int32) int32, i64 func(int64) int64,
	u8 func(uint8) uint8, u16 func(uint16) uint16, u32 func(uint32) uint32, u64 func(uint64) uint64) Set {
	return integers(unary(i8), unary(i16), unary(i32), unary(i64), unary(u8), unary(u16), unary(u32), unary(u64))
}

// integers2 makes the loops of a function of two integers, given for every type.
func integers2(i8 func(a, b int8) int8, i16 func(a, b int16) int16, i32 func(a, b int32) int32, i64 func(a, b int64) int64,
	u8 func(a, b uint8) uint8, u16 func(a, b uint16) uint16, u32 func(a, b uint32) uint32, u64 func(a, b uint64) uint64) Set {
	return integers(binary(i8), binary(i16), binary(i32), binary(i64), binary(u8), binary(u16), binary(u32), binary(u64))
}

func and[T integer](a, b T) T { return a & b }
func or[T integer](a, b T) T  { return a | b }
func xor[T integer](a, b T) T { return a ^ b }
func not[T integer](a T) T    { return ^a }

// word returns the bits of a, zeros above them.
func word[T integer](a T) uint64 { return uint64(a) & (1<<width[T]() - 1) }

// Shift counts have no sign: a negative one is a large one, which leaves nothing, or the sign
// alone.
func shiftLeft[T integer](a, b T) T         { return a << word(b) }
func shiftRightLogical[T integer](a, b T) T { return T(word(a) >> word(b)) }

func shiftRightArithmetic[T integer](a, b T) T {
	unused := 64 - width[T]()
	return T(int64(a) << unused >> unused >> min(word(b), 63))
}

func bitCount[T integer](a T) T     { return T(bits.OnesCount64(word(a))) }
func leadingZeros[T integer](a T) T { return T(bits.LeadingZeros64(word(a)) - 64 + width[T]()) }

func magnitude[T signed](a T) T {
	if a < 0 {
		return -a
	}
	return a
}

func itself[T unsigned](a T) T { return a }

func direction[T signed](a T) T {
	switch {
	case a < 0:
		return -1
	case a > 0:
		return 1
	}
	return 0
}

func atMostOne[T unsigned](a T) T { return min(a, 1) }

func width[T any]() int {
	var t T
	return 8 * int(unsafe.Sizeof(t))
}

// quotient gives all ones for a division by zero, as XLA does, where Go would panic.
func quotient[T integer](a, b T) T {
	if b == 0 {
		return ^T(0)
	}
	return a / b
}

func remainder[T integer](a, b T) T {
	if b == 0 {
		return a
	}
	return a % b
}

// power wraps around; a negative exponent gives the truncated fraction.
func power[T integer](base, exp T) T {
	if exp < 0 {
		switch {
		case base == 1:
			return 1
		case base == ^T(0):
			return 1 - 2*(exp&1)
		}
		return 0
	}
	result := T(1)
	for ; exp > 0; exp >>= 1 {
		if exp&1 == 1 {
			result *= base
		}
		base *= base
	}
	return result
}
