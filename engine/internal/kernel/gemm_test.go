package kernel

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactFMA returns x*y + z in big arithmetic, rounded once.
func exactFMA(x, y, z float32) float32 {
	p := new(big.Float).SetPrec(600).Mul(big.NewFloat(float64(x)), big.NewFloat(float64(y)))
	s, _ := p.Add(p, big.NewFloat(float64(z))).Float32()
	return s
}

func TestFMA32(t *testing.T) {
	r := rng(1)
	pick := func() float32 {
		for {
			v := math.Float32frombits(r.Uint32())
			switch r.IntN(3) {
			case 0: // few bits set: ties
				v = float32(r.IntN(1<<12)-1<<11) * float32(math.Exp2(float64(r.IntN(60)-30)))
			case 1:
				v = float32(r.NormFloat64())
			}
			if v-v == 0 {
				return v
			}
		}
	}
	for range 200000 {
		x, y, z := pick(), pick(), pick()
		if r.IntN(2) == 0 {
			z = -x * y * (1 + float32(r.IntN(5)-2)*0x1p-23) // cancellation
			if z-z != 0 {
				continue
			}
		}
		want := exactFMA(x, y, z)
		got := fma32(x, y, z)
		if want == 0 && got == 0 {
			continue // the sign of an exact zero is big.Float's, not IEEE's
		}
		if !sameBits(want, got) {
			t.Fatalf("fma32(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
	inf := float32(math.Inf(1))
	for _, c := range []struct{ x, y, z, want float32 }{
		{inf, 1, 1, inf}, {inf, 0, 1, float32(math.NaN())}, {inf, 1, -inf, float32(math.NaN())},
		{math.MaxFloat32, 2, -inf, -inf}, {math.MaxFloat32, 2, 0, inf}, {0, -1, 0, 0},
		{1 + 0x1p-12, 1 + 0x1p-12, 0x1p-80, 1 + 0x1p-11 + 0x1p-23}, {1 + 0x1p-12, 1 + 0x1p-12, -0x1p-80, 1 + 0x1p-11},
	} {
		if got := fma32(c.x, c.y, c.z); !sameBits(got, c.want) {
			t.Errorf("fma32(%x, %x, %x) = %x, want %x", c.x, c.y, c.z, got, c.want)
		}
	}
}

// TestFMAHardware runs chains of length one through every level's product kernel.
func TestFMAHardware(t *testing.T) {
	const n = 4096
	r := rng(2)
	a, b, c := make([]float32, n), make([]float32, n), make([]float32, n)
	mixed(r, a)
	mixed(r, b)
	mixed(r, c)
	for i := range c {
		if i%3 == 0 {
			c[i] = -a[i] * b[i]
		}
	}
	levels(t, func(l Level) {
		got, want := make([]float32, n), make([]float32, n)
		for i := range a {
			got[i] = c[i]
			g := Gemm32{M: 1, N: 1, K: 1, A: a[i : i+1], LDA: 1, B: b[i : i+1], LDB: 1, C: got[i : i+1], LDC: 1, Acc: true}
			if err := g.Run(make([]float32, g.Scratch())); err != nil {
				t.Fatal(err)
			}
			want[i] = fma32(a[i], b[i], c[i])
		}
		if err := diff(want, got); err != nil {
			t.Errorf("%v: %v", l, err)
		}
	})
}

// gemmCase is a product with guarded operands.
type gemmCase struct {
	m, n, k  int
	ta, tb   bool
	acc, pad bool
	packed   bool
}

func (c gemmCase) String() string { return fmt.Sprintf("%+v", struct{ gemmCase }{c}) }

func (c gemmCase) make(t testing.TB, r *rand.Rand, alloc func(n int) []float32) *Gemm32 {
	g := &Gemm32{M: c.m, N: c.n, K: c.k, TransA: c.ta, TransB: c.tb, Acc: c.acc}
	pad := 0
	if c.pad {
		pad = 3
	}
	operand := func(rows, cols int, trans bool) ([]float32, int) {
		if trans {
			rows, cols = cols, rows
		}
		ld := cols + pad
		x := alloc(max(0, (rows-1)*ld+cols))
		normals(r, x)
		return x, ld
	}
	g.A, g.LDA = operand(c.m, c.k, c.ta)
	g.B, g.LDB = operand(c.k, c.n, c.tb)
	g.C, g.LDC = operand(c.m, c.n, false)
	if c.packed {
		g.Packed = alloc(PackedSize(c.k, c.n))
		if err := PackB32(g.Packed, g.B, g.LDB, c.k, c.n, c.tb); err != nil {
			t.Fatal(err)
		}
		g.B = nil
	}
	return g
}

// naive returns the product by its definition.
func naive(g *Gemm32) []float32 {
	c := append([]float32(nil), g.C...)
	for i := range g.M {
		row := c[i*g.LDC : i*g.LDC+g.N]
		for j := range row {
			if !g.Acc {
				row[j] = 0
			}
			for k := range min(g.K, ProductBlock) {
				row[j] = fma32(g.at(i, k), g.bt(k, j), row[j])
			}
			for k := ProductBlock; k < g.K; {
				s := float32(0)
				for end := min(k+ProductBlock, g.K); k < end; k++ {
					s = fma32(g.at(i, k), g.bt(k, j), s)
				}
				row[j] += s
			}
		}
	}
	return c
}

func checkGemm(t *testing.T, c gemmCase, front bool) {
	t.Helper()
	r := rng(uint64(c.m*1000000 + c.n*1000 + c.k))
	g := c.make(t, r, func(n int) []float32 { return guarded[float32](t, n, front) })
	start := append([]float32(nil), g.C...)
	want := naive(g)
	scratch := guarded[float32](t, g.Scratch(), front)
	levels(t, func(l Level) {
		copy(g.C, start)
		if err := g.Run(scratch); err != nil {
			t.Fatalf("%v %v: %v", l, c, err)
		}
		if err := diff(want, g.C); err != nil {
			t.Fatalf("%v %v: %v", l, c, err)
		}
	})
}

func TestGemmShapes(t *testing.T) {
	sizes := []int{1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 24, 31, 32, 33, 48, 49, 63, 64, 65, 97}
	r := rng(3)
	flip := func() bool { return r.IntN(2) == 0 }
	size := func() int { return sizes[r.IntN(len(sizes))] }
	for i := range 400 {
		c := gemmCase{m: size(), n: size(), k: size(), ta: flip(), tb: flip(), acc: flip(), pad: flip(), packed: r.IntN(4) == 0}
		checkGemm(t, c, i%2 == 0)
	}
}

func TestGemmEdges(t *testing.T) {
	for _, c := range []gemmCase{
		{}, {m: 3, n: 4}, {m: 3, n: 4, acc: true}, {m: 0, n: 4, k: 3}, {m: 4, n: 0, k: 3},
		{m: 1, n: 1, k: 600}, {m: 2, n: 300, k: 300}, {m: 100, n: 17, k: 260}, {m: 100, n: 2, k: 513, ta: true},
		{m: 100, n: 2, k: 513, ta: true, acc: true, tb: true}, {m: 40, n: 270, k: 10, tb: true},
		{m: 40, n: 270, k: 260, packed: true}, {m: 13, n: 2, k: 1030, acc: true}, {m: 7, n: 70, k: 770, tb: true}, {m: 12, n: 260, k: 257, ta: true, tb: true, acc: true},
	} {
		checkGemm(t, c, false)
		checkGemm(t, c, true)
	}
}

// TestGemmRanges: any split, and any number of rows beside a row, gives the same bits.
func TestGemmRanges(t *testing.T) {
	for _, c := range []gemmCase{
		{m: 131, n: 70, k: 40}, {m: 131, n: 6, k: 300}, {m: 64, n: 3, k: 100, ta: true},
		{m: 33, n: 64, k: 20, tb: true, packed: true},
	} {
		r := rng(4)
		g := c.make(t, r, func(n int) []float32 { return make([]float32, n) })
		want := naive(g)
		scratch := make([]float32, g.Scratch())
		levels(t, func(l Level) {
			for _, step := range []int{1, 7, 32, 131} {
				clear(g.C)
				for i := 0; i < c.m; i += step {
					for j := 0; j < c.n; j += 16 {
						if err := g.RunRange(i, min(i+step, c.m), j, min(j+16, c.n), scratch); err != nil {
							t.Fatal(err)
						}
					}
				}
				if err := diff(want, g.C); err != nil {
					t.Fatalf("%v %v step %d: %v", l, c, step, err)
				}
			}
		})
	}
}

func TestGemmCheck(t *testing.T) {
	x := make([]float32, 100)
	ok := Gemm32{M: 4, N: 5, K: 6, A: x, LDA: 6, B: x, LDB: 5, C: x, LDC: 5}
	if err := ok.Check(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(g *Gemm32){
		"negative":     func(g *Gemm32) { g.M = -1 },
		"short A":      func(g *Gemm32) { g.A = x[:23] },
		"short B":      func(g *Gemm32) { g.B = x[:29] },
		"short C":      func(g *Gemm32) { g.C = x[:19] },
		"narrow rows":  func(g *Gemm32) { g.LDA = 5 },
		"short packed": func(g *Gemm32) { g.Packed = x[:95] },
	} {
		g := ok
		spoil(&g)
		if g.Run(make([]float32, ok.Scratch())) == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if ok.Scratch() > 0 && ok.Run(nil) == nil {
		t.Error("no scratch: no error")
	}
	if ok.RunRange(0, 5, 0, 5, make([]float32, ok.Scratch())) == nil {
		t.Error("range beyond M: no error")
	}
}

func TestGemm64(t *testing.T) {
	r := rng(5)
	const m, n, k = 5, 7, 9
	a, b := make([]float64, m*k), make([]float64, k*n)
	for i := range a {
		a[i] = r.NormFloat64()
	}
	for i := range b {
		b[i] = r.NormFloat64()
	}
	at, bt := make([]float64, m*k), make([]float64, k*n)
	Transpose(at, m, a, k, m, k)
	Transpose(bt, k, b, n, k, n)
	want := make([]float64, m*n)
	for i := range m {
		for j := range n {
			for p := range k {
				want[i*n+j] = math.FMA(a[i*k+p], b[p*n+j], want[i*n+j])
			}
		}
	}
	for _, c := range []struct{ ta, tb bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		x, lx, y, ly := a, k, b, n
		if c.ta {
			x, lx = at, m
		}
		if c.tb {
			y, ly = bt, k
		}
		got := make([]float64, m*n)
		if err := Gemm64(m, n, k, x, lx, c.ta, y, ly, c.tb, got, n, false); err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if want[i] != got[i] {
				t.Fatalf("%+v: element %d: want %v, got %v", c, i, want[i], got[i])
			}
		}
	}
}
