package sum

import (
	"hash/crc32"
	"math/bits"

	"golang.org/x/sys/cpu"
)

var wide = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ && cpu.X86.HasAVX512VPCLMULQDQ && cpu.X86.HasSSE42

// fold does what Update does of whole blocks.
//
// A message is a polynomial over GF(2), and its checksum the rest after division. What
// counts for that is left as it is when the first 64 bytes are replaced by their product
// with a power of x modulo the divisor, further on: four strides of 64 bytes are folded
// into the next four until only 64 bytes are left, whose checksum is the message's.
func fold(sum uint32, b []byte) uint32 { return ^foldBlocks(b, ^sum, &factors) }

// foldBlocks folds whole blocks, the first of which is changed by a sum so far, to 64
// bytes, and divides those.
//
//go:noescape
func foldBlocks(b []byte, sum uint32, factors *[4]uint64) uint32

// factors move 128 bits by a block and by 64 bytes: one for each half of them.
var factors = [4]uint64{power(64 + block*8 - 1), power(block*8 - 1), power(64 + 512 - 1), power(512 - 1)}

// power returns x to the n modulo the divisor, its bits in the order of a message's.
func power(n int) uint64 {
	r := uint32(1)
	for range n {
		carry := r>>31 == 1
		if r <<= 1; carry {
			r ^= bits.Reverse32(crc32.Castagnoli)
		}
	}
	return uint64(bits.Reverse32(r)) << 32
}
