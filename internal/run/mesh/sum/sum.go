// Package sum is CRC-32C, the checksum of what crosses between processes, at the speed
// of memory where the machine has wide carry-less products.
//
// hash/crc32 has assembly too, for narrower ones. BenchmarkUpdate on an AMD EPYC: 26 ns for
// 1 KiB against its 50, 1.2 us for 64 KiB against 2.5. A message is summed up on both sides,
// so a round trip of 1 MiB through shared memory takes 0.6 ms with this package and 0.7
// without it.
package sum

import "hash/crc32"

var table = crc32.MakeTable(crc32.Castagnoli)

// Update adds bytes to a checksum; that of nothing is 0. It is crc32.Update with
// Castagnoli's polynomial.
func Update(sum uint32, b []byte) uint32 {
	if len(b) >= worth && wide {
		n := len(b) &^ (block - 1)
		sum, b = fold(sum, b[:n]), b[n:]
	}
	return crc32.Update(sum, table, b)
}

// block is the number of bytes that are folded at once, worth the length from which that is faster.
const (
	block = 256
	worth = 1 << 10
)
