// Package shuffle has random orders that need no table.
//
// An order is a Feistel network over the fewest bits that hold n, its halves unequal
// where their number is odd, walked along its cycles until it lands below n: on
// average in fewer than two steps, and in one where n is a power of two.
package shuffle

import "math/bits"

// Order is a random order of 0..n-1.
type Order struct {
	n            uint32
	right        uint // bits of the right half
	maskL, maskR uint32
	key          [rounds]uint32
}

const (
	rounds = 8
	// Below 2^6 points a network's halves are too narrow to mix; walking a few
	// more cycles costs nothing there.
	minBits = 6
)

// Words is how many words an order is keyed by.
const Words = rounds

// New returns the order of n things that a key names.
func New(n int, key [Words]uint32) Order {
	p := shape(n)
	p.key = key
	return p
}

// shape returns the network for n things, without a key.
func shape(n int) Order {
	width := max(minBits, uint(bits.Len(uint(max(n-1, 1)))))
	p := Order{n: uint32(n), right: width / 2}
	p.maskR = 1<<p.right - 1
	p.maskL = 1<<(width-p.right) - 1
	return p
}

// At returns where position j of the order points, for j from 0 to n-1. From outside of it a walk
// need not end.
func (p *Order) At(j int) int {
	x := p.once(uint32(j))
	for x >= p.n {
		x = p.once(x)
	}
	return int(x)
}

func (p *Order) once(x uint32) uint32 {
	l, r := x>>p.right, x&p.maskR
	for i := 0; i < rounds; i += 2 {
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

// Fill writes positions from, from+1, ... of the order to out: At for many, four
// side by side, because each is one long chain of dependent operations.
func (p *Order) Fill(out []int, from int) {
	for ; len(out) >= 4; out, from = out[4:], from+4 {
		x := p.four(uint32(from))
		for i, y := range x {
			if out[i] = int(y); y >= p.n {
				out[i] = p.At(from + i)
			}
		}
	}
	for i := range out {
		out[i] = p.At(from + i)
	}
}

// four returns once for x and the three after it.
func (p *Order) four(x uint32) [4]uint32 {
	right, maskL, maskR := p.right&31, p.maskL, p.maskR
	l0, l1, l2, l3 := x>>right, (x+1)>>right, (x+2)>>right, (x+3)>>right
	r0, r1, r2, r3 := x&maskR, (x+1)&maskR, (x+2)&maskR, (x+3)&maskR
	for i := 0; i < rounds; i += 2 {
		k := p.key[i]
		l0 ^= mix(r0+k) & maskL
		l1 ^= mix(r1+k) & maskL
		l2 ^= mix(r2+k) & maskL
		l3 ^= mix(r3+k) & maskL
		k = p.key[i+1]
		r0 ^= mix(l0+k) & maskR
		r1 ^= mix(l1+k) & maskR
		r2 ^= mix(l2+k) & maskR
		r3 ^= mix(l3+k) & maskR
	}
	return [4]uint32{l0<<right | r0, l1<<right | r1, l2<<right | r2, l3<<right | r3}
}
