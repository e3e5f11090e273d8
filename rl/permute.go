package rl

import "math/bits"

// Permutation is a random order of 0..n-1 that needs no table: At(j) is
// computed from the key alone, so that a worker finds its own rows of a
// minibatch without drawing the others'.
//
// It is a Feistel network over the fewest bits that hold n, its halves unequal
// where their number is odd, walked along its cycles until it lands below n: on
// average in fewer than two steps, and in one where n is a power of two.
type Permutation struct {
	n            uint32
	right        uint // bits of the right half
	maskL, maskR uint32
	key          [permutationRounds]uint32
}

const (
	permutationRounds = 8
	// Below 2^6 points a network's halves are too narrow to mix; walking a few
	// more cycles costs nothing there.
	minPermutationBits = 6
)

// NewPermutation is the order that k names, of n things.
func NewPermutation(k Key, n int) *Permutation {
	width := max(minPermutationBits, uint(bits.Len(uint(max(n-1, 1)))))
	p := &Permutation{n: uint32(n), right: width / 2}
	p.maskR = 1<<p.right - 1
	p.maskL = 1<<(width-p.right) - 1
	for b := range permutationRounds / 4 {
		w := k.At(0).Bits(0, b)
		copy(p.key[4*b:], w[:])
	}
	return p
}

// At is where position j of the order points, for j from 0 to n-1.
func (p *Permutation) At(j int) int {
	if j < 0 || j >= int(p.n) {
		failf("position %d in an order of %d things", j, p.n) // a walk from there need not end
	}
	x := p.once(uint32(j))
	for x >= p.n {
		x = p.once(x)
	}
	return int(x)
}

func (p *Permutation) once(x uint32) uint32 {
	l, r := x>>p.right, x&p.maskR
	for i := 0; i < permutationRounds; i += 2 {
		l ^= mix(r+p.key[i]) & p.maskL
		r ^= mix(l+p.key[i+1]) & p.maskR
	}
	return l<<p.right | r
}

// mix spreads every input bit over the word (the finaliser of MurmurHash3).
func mix(x uint32) uint32 {
	x = (x ^ x>>16) * 0x85ebca6b
	x = (x ^ x>>13) * 0xc2b2ae35
	return x ^ x>>16
}
