package ptxtest

import (
	"encoding/binary"
	"math"
	"strings"
)

// kind is one of mma: how many elements its sums are over, how many of an operand's a register has,
// and what they are.
type kind struct {
	k, per  int
	element func(bits uint32, i int) float64
}

var kinds = map[string]kind{
	"m16n8k8": {8, 1, func(bits uint32, _ int) float64 { // the bits of TF32 alone
		return float64(math.Float32frombits(bits &^ (1<<13 - 1)))
	}},
	"m16n8k16": {16, 2, func(bits uint32, i int) float64 { // a bfloat16 in each half, the lower one first
		return float64(math.Float32frombits(bits >> (16 * i) << 16))
	}},
}

// bfloat16 returns the bits of a float32 rounded to the nearest, of two the even one.
func bfloat16(x uint64) uint64 {
	if f := math.Float32frombits(uint32(x)); f != f {
		return 0x7fff
	}
	return (x + 0x7fff + x>>16&1) >> 16 & 0xffff
}

// multiply does an mma. Who has which elements is the hardware's choice: thread l those of row or
// column l/4, in the first operand also 8 rows below; and of each half of a sum, elements l%4 in
// the order in which registers have them.
func (m *machine) multiply(in *instruction) {
	s, ok := kinds[in.name[3]]
	if !ok {
		panic("unknown kind")
	}
	var a, b, c [16][16]float64
	for l := range lanes {
		g, t := l/4, l%4
		for i := range 4 {
			bits := uint32(m.value(&in.args[4+i], l))
			for e := range s.per {
				a[g+i%2*8][i/2*s.k/2+t*s.per+e] = s.element(bits, e)
			}
		}
		for i := range 2 {
			bits := uint32(m.value(&in.args[8+i], l))
			for e := range s.per {
				b[i*s.k/2+t*s.per+e][g] = s.element(bits, e)
			}
		}
		for i := range 4 {
			c[g+i/2*8][2*t+i%2] = float64(math.Float32frombits(uint32(m.value(&in.args[10+i], l))))
		}
	}
	for i := range 16 {
		for j := range 8 {
			for k := range s.k {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	for l := range lanes {
		for i := range 4 {
			m.set(&in.args[i], l, uint64(math.Float32bits(float32(c[l/4+i/2*8][2*(l%4)+i%2]))))
		}
	}
}

// blocks does ldmatrix: 8 x 8 elements of 16 bits to each register, with a row's address from each
// of 8 threads.
func (m *machine) blocks(in *instruction) {
	regs, address := in.args[:len(in.args)-1], &in.args[len(in.args)-1]
	turn := strings.Contains(in.text, ".trans")
	for i := range regs {
		reg := &regs[i]
		var rows [8][]byte
		for r := range rows {
			if at := len(m.shared) - len(m.where(address, 8*i+r, true)); at%16 != 0 {
				panic("an address that is no multiple of 16")
			}
			rows[r] = m.where(address, 8*i+r, true)[:16]
		}
		element := func(r, c int) uint64 { return uint64(binary.LittleEndian.Uint16(rows[r][2*c:])) }
		for l := range lanes {
			g, t := l/4, l%4
			if turn {
				m.set(reg, l, element(2*t, g)|element(2*t+1, g)<<16)
			} else {
				m.set(reg, l, element(g, 2*t)|element(g, 2*t+1)<<16)
			}
		}
	}
}
