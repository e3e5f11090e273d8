// Package sum is CRC-32C, the checksum of what crosses between processes, at the speed
// of memory where the machine has wide carry-less products.
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

// block is what is folded at once, worth from where on that is faster.
const (
	block = 256
	worth = 1 << 10
)
