package rl

import "math/bits"

// Permutation is a random order of 0..n-1 that needs no table: At(j) is
// computed from the key alone, so that a worker finds its own rows of a
// minibatch without drawing the others'.
//
// It is a balanced Feistel network over the smallest even number of bits that
// holds n, walked along its cycles until it lands below n.
type Permutation struct {
	n    uint32
	half uint
	key  [permutationRounds]uint32
}

const (
	permutationRounds = 8
	// Below 2^6 points a network's halves are too narrow to mix; walking a few
	// more cycles costs nothing there.
	minPermutationHalf = 3
)

// NewPermutation is the order that k names, of n things.
func NewPermutation(k Key, n int) *Permutation {
	half := max(minPermutationHalf, (uint(bits.Len(uint(max(n-1, 1))))+1)/2)
	p := &Permutation{n: uint32(n), half: half}
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
	mask := uint32(1)<<p.half - 1
	l, r := x>>p.half, x&mask
	for _, k := range p.key {
		l, r = r, l^(mix(r+k)&mask)
	}
	return l<<p.half | r
}

// mix spreads every input bit over the word (the finaliser of MurmurHash3).
func mix(x uint32) uint32 {
	x = (x ^ x>>16) * 0x85ebca6b
	x = (x ^ x>>13) * 0xc2b2ae35
	return x ^ x>>16
}
