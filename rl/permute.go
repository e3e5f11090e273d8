package rl

import (
	"math/bits"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

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
	p := newPermutationShape(n)
	for b := range permutationRounds / 4 {
		w := k.At(0).Bits(0, b)
		copy(p.key[4*b:], w[:])
	}
	return p
}

// newPermutationShape is the network for n things, without a key.
func newPermutationShape(n int) *Permutation {
	width := max(minPermutationBits, uint(bits.Len(uint(max(n-1, 1)))))
	p := &Permutation{n: uint32(n), right: width / 2}
	p.maskR = 1<<p.right - 1
	p.maskL = 1<<(width-p.right) - 1
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

// GraphPermutation is size positions of the order that k names, of n things, from
// position lo on, as graph code: the same numbers as Permutation's, as int32.
func GraphPermutation(k Key, n int, lo Int, size int) *graph.Node {
	g := k.in.w[0].Graph()
	p := newPermutationShape(n)
	words := k.At(0).permutationWords()
	var key [permutationRounds]*graph.Node
	for i := range key {
		key[i] = graph.Reshape(graph.Slice(words, graph.AxisRange(i, i+1)))
	}
	shape := shapes.Make(dtypes.Uint32, size)
	x := graph.Add(rowNumbers(g, size), graph.BroadcastToShape(graph.ConvertDType(lo.Node(g), dtypes.Uint32), shape))
	x = p.graphOnce(x, key)
	if n&(n-1) == 0 && n >= 1<<minPermutationBits {
		return graph.ConvertDType(x, dtypes.Int32) // it is below n at once
	}
	beyond := func(x *graph.Node) *graph.Node { return graph.GreaterOrEqual(x, graph.ConstAs(x, uint32(n))) }
	cond := Closure(g, func(g *graph.Graph) []*graph.Node {
		return []*graph.Node{graph.LogicalAny(beyond(graph.Parameter(g, "x", shape)))}
	})
	walk := Closure(g, func(g *graph.Graph) []*graph.Node {
		x := graph.Parameter(g, "x", shape)
		return []*graph.Node{graph.Where(beyond(x), p.graphOnce(x, key), x)}
	})
	return graph.ConvertDType(graph.While(cond, walk, x)[0], dtypes.Int32)
}

// graphOnce is once.
func (p *Permutation) graphOnce(x *graph.Node, key [permutationRounds]*graph.Node) *graph.Node {
	l := graph.BitwiseShiftRightLogicalScalar(x, uint32(p.right))
	r := graph.BitwiseAnd(x, graph.ConstAs(x, p.maskR))
	half := func(a, b *graph.Node, key *graph.Node, mask uint32) *graph.Node {
		return graph.BitwiseXor(a, graph.BitwiseAnd(graphMix(graph.Add(b, key)), graph.ConstAs(b, mask)))
	}
	for i := 0; i < permutationRounds; i += 2 {
		l = half(l, r, key[i], p.maskL)
		r = half(r, l, key[i+1], p.maskR)
	}
	return graph.BitwiseOr(graph.BitwiseShiftLeftScalar(l, uint32(p.right)), r)
}

// graphMix is mix.
func graphMix(x *graph.Node) *graph.Node {
	down := func(x *graph.Node, n uint32) *graph.Node {
		return graph.BitwiseXor(x, graph.BitwiseShiftRightLogicalScalar(x, n))
	}
	x = graph.Mul(down(x, 16), graph.ConstAs(x, uint32(0x85ebca6b)))
	x = graph.Mul(down(x, 13), graph.ConstAs(x, uint32(0xc2b2ae35)))
	return down(x, 16)
}

// mix spreads every input bit over the word (the finaliser of MurmurHash3).
func mix(x uint32) uint32 {
	x = (x ^ x>>16) * 0x85ebca6b
	x = (x ^ x>>13) * 0xc2b2ae35
	return x ^ x>>16
}

// Fill writes positions from, from+1, ... of the order to out: At for many, four
// side by side, because each is one long chain of dependent operations.
func (p *Permutation) Fill(out []int, from int) {
	if from < 0 || from+len(out) > int(p.n) {
		failf("positions %d to %d in an order of %d things", from, from+len(out), p.n)
	}
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

// four is once for x and the three after it.
func (p *Permutation) four(x uint32) [4]uint32 {
	right, maskL, maskR := p.right&31, p.maskL, p.maskR
	l0, l1, l2, l3 := x>>right, (x+1)>>right, (x+2)>>right, (x+3)>>right
	r0, r1, r2, r3 := x&maskR, (x+1)&maskR, (x+2)&maskR, (x+3)&maskR
	for i := 0; i < permutationRounds; i += 2 {
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
