package ptxtest

import (
	"encoding/binary"
	"math"
	"strings"
)

// kind is one of mma: how many elements its sums are over, and of an operand's registers what a thread has in each,
// which is the hardware's choice. Results are 16 x 8 in all of them.
type kind struct {
	k    int
	a, b func(group, member int) [][2]int // places of elements, row and column, in the order of registers and of their halves
	read func(m *machine, arg string, l int) []float64
}

var kinds = map[string]kind{
	"m16n8k8": {
		k:    8,
		a:    func(g, t int) [][2]int { return [][2]int{{g, t}, {g + 8, t}, {g, t + 4}, {g + 8, t + 4}} },
		b:    func(g, t int) [][2]int { return [][2]int{{t, g}, {t + 4, g}} },
		read: tf32,
	},
	"m16n8k16": {
		k: 16,
		a: func(g, t int) (out [][2]int) {
			for _, p := range [4][2]int{{g, 2 * t}, {g + 8, 2 * t}, {g, 2*t + 8}, {g + 8, 2*t + 8}} {
				out = append(out, p, [2]int{p[0], p[1] + 1})
			}
			return out
		},
		b:    func(g, t int) [][2]int { return [][2]int{{2 * t, g}, {2*t + 1, g}, {2*t + 8, g}, {2*t + 9, g}} },
		read: bfloat16s,
	},
}

// tf32 is the one element of a register: the bits of TF32 alone.
func tf32(m *machine, arg string, l int) []float64 {
	return []float64{float64(math.Float32frombits(uint32(m.value(arg, l)) &^ (1<<13 - 1)))}
}

// bfloat16s are the two elements of a register, the lower half first.
func bfloat16s(m *machine, arg string, l int) []float64 {
	x := uint32(m.value(arg, l))
	return []float64{float64(math.Float32frombits(x << 16)), float64(math.Float32frombits(x &^ (1<<16 - 1)))}
}

// bfloat16 are the bits of a float32 rounded to the nearest, of two the even one.
func bfloat16(x uint64) uint64 {
	if f := math.Float32frombits(uint32(x)); f != f {
		return 0x7fff
	}
	return (x + 0x7fff + x>>16&1) >> 16 & 0xffff
}

// multiply is an mma.
func (m *machine) multiply(in instruction) {
	s, ok := kinds[in.name[3]]
	if !ok {
		panic("unknown kind")
	}
	var a, b, c [16][16]float64
	for l := range lanes {
		g, t := l/4, l%4
		load := func(to *[16][16]float64, args []string, places [][2]int, read func(*machine, string, int) []float64) {
			for _, arg := range args {
				for _, x := range read(m, arg, l) {
					to[places[0][0]][places[0][1]] = x
					places = places[1:]
				}
			}
		}
		load(&a, in.args[4:8], s.a(g, t), s.read)
		load(&b, in.args[8:10], s.b(g, t), s.read)
		load(&c, in.args[10:14], results(g, t), func(m *machine, arg string, l int) []float64 {
			return []float64{float64(math.Float32frombits(uint32(m.value(arg, l))))}
		})
	}
	for i := range 16 {
		for j := range 8 {
			for k := range s.k {
				c[i][j] += a[i][k] * b[k][j]
			}
		}
	}
	for l := range lanes {
		for i, p := range results(l/4, l%4) {
			m.set(in.args[i], l, uint64(math.Float32bits(float32(c[p[0]][p[1]]))))
		}
	}
}

// results are the places of a thread's results.
func results(g, t int) [][2]int {
	return [][2]int{{g, 2 * t}, {g, 2*t + 1}, {g + 8, 2 * t}, {g + 8, 2*t + 1}}
}

// blocks is ldmatrix: 8 x 8 elements of 16 bits to each register, with a row's address from each of 8 threads.
func (m *machine) blocks(in instruction) {
	regs, address := in.args[:len(in.args)-1], in.args[len(in.args)-1]
	turn := strings.Contains(in.text, ".trans")
	for i, reg := range regs {
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
