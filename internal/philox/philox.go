// Package philox is the generator that all random numbers are drawn from, in Go and as graph code
// with the same bits.
package philox

// Philox constants, from Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3" (SC 2011), table 2 and section 3.3.
const (
	mul0, mul1   = 0xD2511F53, 0xCD9E8D57
	weyl0, weyl1 = 0x9E3779B9, 0xBB67AE85
	rounds       = 10
)

// Block returns Philox4x32-10: a bijection of the counter for every key.
func Block(c [4]uint32, k [2]uint32) [4]uint32 {
	w0, w1, w2, w3 := words(c[0], c[1], c[2], c[3], k[0], k[1])
	return [4]uint32{w0, w1, w2, w3}
}

// words does what Block does on single words, which stay in registers.
func words(c0, c1, c2, c3, k0, k1 uint32) (_, _, _, _ uint32) {
	for range rounds {
		p0, p1 := uint64(mul0)*uint64(c0), uint64(mul1)*uint64(c2)
		c0, c1, c2, c3 = uint32(p1>>32)^c1^k0, uint32(p1), uint32(p0>>32)^c3^k1, uint32(p0)
		k0 += weyl0
		k1 += weyl1
	}
	return c0, c1, c2, c3
}

// Fill writes n numbers of (0,1) for each of len(out)/n rows, of which the first has a number of
// its own: the units of blocks whose counter is (row, block, w[2], w[3]), under the key (w[0],
// w[1]).
func Fill(out []float32, n int, first uint32, w [4]uint32) {
	for i := range len(out) / max(n, 1) {
		row := out[i*n : (i+1)*n]
		for b := uint32(0); len(row) > 0; b++ {
			w0, w1, w2, w3 := words(first+uint32(i), b, w[2], w[3], w[0], w[1])
			if len(row) >= 4 {
				row[0], row[1], row[2], row[3] = Unit(w0), Unit(w1), Unit(w2), Unit(w3)
				row = row[4:]
				continue
			}
			last := [3]uint32{w0, w1, w2}
			for j := range row {
				row[j] = Unit(last[j])
			}
			break
		}
	}
}

// Unit maps a random word to the middle of one of 2^23 equal intervals of
// (0,1): exact in float32, never 0 or 1, so that a logarithm is always finite.
func Unit(x uint32) float32 {
	return float32(2*(x>>9)+1) * (1.0 / (1 << 24))
}
