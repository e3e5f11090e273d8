package kernel

import "testing"

// FuzzGemm compares every level with the definition of the product, on guarded memory, over shapes
// and options.
func FuzzGemm(f *testing.F) {
	f.Add(uint16(4), uint16(64), uint16(4), uint8(0))
	f.Add(uint16(64), uint16(2), uint16(100), uint8(1))
	f.Add(uint16(13), uint16(33), uint16(17), uint8(0x7f))
	f.Add(uint16(1), uint16(270), uint16(300), uint8(2))
	f.Fuzz(func(t *testing.T, m, n, k uint16, bits uint8) {
		flag := func(i int) bool { return bits>>i&1 != 0 }
		c := gemmCase{m: int(m % 130), n: int(n % 300), k: int(k % 300), ta: flag(0), tb: flag(1), acc: flag(2),
			pad: flag(4), packed: flag(5)}
		checkGemm(t, c, flag(6))
	})
}
