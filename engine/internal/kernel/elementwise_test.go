package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// operands are guarded slices of one length.
type operands struct {
	x, y, dst, want []float32
	cond, mask      []bool
	u, v, w         []uint32
	i               []int32
}

func newOperands(t *testing.T, r *rand.Rand, n int, front bool) *operands {
	f := func() []float32 { return guarded[float32](t, n, front) }
	o := &operands{x: f(), y: f(), dst: f(), want: make([]float32, n), cond: guarded[bool](t, n, front),
		mask: guarded[bool](t, n, front), u: guarded[uint32](t, n, front), v: guarded[uint32](t, n, front),
		w: guarded[uint32](t, n, front), i: guarded[int32](t, n, front)}
	mixed(r, o.x)
	mixed(r, o.y)
	for i := range n {
		o.cond[i] = r.IntN(2) == 0
		o.u[i], o.v[i], o.i[i] = r.Uint32(), r.Uint32(), int32(r.Uint32())
		if r.IntN(2) == 0 {
			o.v[i] %= 40 // shift counts
		}
	}
	return o
}

// everyLength runs f at every edge, with guard pages behind and before.
func everyLength(t *testing.T, f func(o *operands, n int)) {
	r := rng(9)
	for _, n := range edges {
		for _, front := range []bool{false, true} {
			f(newOperands(t, r, n, front), n)
		}
	}
}

func TestUnaryEdges(t *testing.T) {
	everyLength(t, func(o *operands, n int) {
		for op := Identity; op < numUnary; op++ {
			use(t, Go)
			Unary32(op, o.want, o.x)
			levels(t, func(l Level) {
				fill(o.dst, 77)
				Unary32(op, o.dst, o.x)
				if err := diff(o.want, o.dst); err != nil {
					t.Fatalf("%v op %d: %v", l, op, err)
				}
				copy(o.dst, o.x)
				Unary32(op, o.dst, o.dst)
				if err := diff(o.want, o.dst); err != nil {
					t.Fatalf("%v op %d in place: %v", l, op, err)
				}
			})
		}
	})
}

// binaryLane is each operation in plain Go.
var binaryLane = [numBinary]func(x, y float32) float32{
	Add:   func(x, y float32) float32 { return x + y },
	Sub:   func(x, y float32) float32 { return x - y },
	Mul:   func(x, y float32) float32 { return x * y },
	Div:   func(x, y float32) float32 { return x / y },
	Max:   func(x, y float32) float32 { return max(x, y) },
	Min:   func(x, y float32) float32 { return min(x, y) },
	Pow:   powLane,
	Rem:   func(x, y float32) float32 { return float32(math.Mod(float64(x), float64(y))) },
	Atan2: func(x, y float32) float32 { return float32(math.Atan2(float64(x), float64(y))) },
}

func TestBinaryEdges(t *testing.T) {
	everyLength(t, func(o *operands, n int) {
		if n == 0 {
			o.x, o.y = []float32{}, []float32{}
		}
		s := hard[n%len(hard)]
		for op := Add; op < numBinary; op++ {
			f := binaryLane[op]
			levels(t, func(l Level) {
				check := func(what string, run func(dst []float32), lane func(i int) float32) {
					for i := range n {
						o.want[i] = lane(i)
					}
					fill(o.dst, 77)
					run(o.dst)
					if err := diff(o.want, o.dst); err != nil {
						t.Fatalf("%v op %d %s: %v", l, op, what, err)
					}
				}
				check("vv", func(d []float32) { Binary32(op, d, o.x, o.y) }, func(i int) float32 { return f(o.x[i], o.y[i]) })
				check("vs", func(d []float32) { Binary32VS(op, d, o.x, s) }, func(i int) float32 { return f(o.x[i], s) })
				check("sv", func(d []float32) { Binary32SV(op, d, s, o.y) }, func(i int) float32 { return f(s, o.y[i]) })
			})
		}
	})
}

func TestCompareSelectEdges(t *testing.T) {
	lane := [numCompare]func(x, y float32) bool{
		func(x, y float32) bool { return x == y }, func(x, y float32) bool { return x != y },
		func(x, y float32) bool { return x < y }, func(x, y float32) bool { return x <= y },
		func(x, y float32) bool { return x > y }, func(x, y float32) bool { return x >= y },
	}
	everyLength(t, func(o *operands, n int) {
		copy(o.y, o.x[:n/2])
		s := hard[n%len(hard)]
		levels(t, func(l Level) {
			for op := Equal; op < numCompare; op++ {
				f := lane[op]
				for what, c := range map[string]struct {
					run  func()
					want func(i int) bool
				}{
					"vv": {func() { Compare32(op, o.mask, o.x, o.y) }, func(i int) bool { return f(o.x[i], o.y[i]) }},
					"vs": {func() { Compare32VS(op, o.mask, o.x, s) }, func(i int) bool { return f(o.x[i], s) }},
					"sv": {func() { Compare32SV(op, o.mask, s, o.x) }, func(i int) bool { return f(s, o.x[i]) }},
				} {
					c.run()
					for i := range n {
						if o.mask[i] != c.want(i) {
							t.Fatalf("%v op %d %s %d of %d: %v, %v", l, op, what, i, n, o.x[i], o.y[i])
						}
					}
				}
			}
			for what, c := range map[string]struct {
				run  func()
				want func(i int) float32
			}{
				"vv":   {func() { Select32(o.dst, o.cond, o.x, o.y) }, func(i int) float32 { return sel(o.cond[i], o.x[i], o.y[i]) }},
				"vs":   {func() { Select32VS(o.dst, o.cond, o.x, s) }, func(i int) float32 { return sel(o.cond[i], o.x[i], s) }},
				"sv":   {func() { Select32SV(o.dst, o.cond, s, o.y) }, func(i int) float32 { return sel(o.cond[i], s, o.y[i]) }},
				"bool": {func() { BoolToFloat32(o.dst, o.cond) }, func(i int) float32 { return sel[float32](o.cond[i], 1, 0) }},
			} {
				c.run()
				for i := range n {
					if !sameBits(o.dst[i], c.want(i)) {
						t.Fatalf("%v select %s %d of %d", l, what, i, n)
					}
				}
			}
		})
	})
}

func TestBitsEdges(t *testing.T) {
	lane := [numBits]func(x, y uint32) uint32{
		func(x, y uint32) uint32 { return x & y }, func(x, y uint32) uint32 { return x | y },
		func(x, y uint32) uint32 { return x ^ y }, func(x, y uint32) uint32 { return x << y },
		func(x, y uint32) uint32 { return x >> y }, func(x, y uint32) uint32 { return uint32(int32(x) >> y) },
		func(x, y uint32) uint32 { return x + y }, func(x, y uint32) uint32 { return x - y },
		func(x, y uint32) uint32 { return x * y },
	}
	everyLength(t, func(o *operands, n int) {
		levels(t, func(l Level) {
			for op := BitAnd; op < numBits; op++ {
				check := func(what string, want func(i int) uint32) {
					for i := range n {
						if o.w[i] != want(i) {
							t.Fatalf("%v op %d %s: %08x, %08x: got %08x, want %08x", l, op, what, o.u[i], o.v[i], o.w[i], want(i))
						}
					}
				}
				Bits32(op, o.w, o.u, o.v)
				check("vv", func(i int) uint32 { return lane[op](o.u[i], o.v[i]) })
				Bits32VS(op, o.w, o.u, 13)
				check("vs", func(i int) uint32 { return lane[op](o.u[i], 13) })
				Bits32SV(op, o.w, 0x80001234, o.v)
				check("sv", func(i int) uint32 { return lane[op](0x80001234, o.v[i]) })
			}
		})
	})
}

func TestConvertEdges(t *testing.T) {
	toInt := func(x float32) int32 {
		switch {
		case x != x:
			return 0
		case x >= 1<<31:
			return math.MaxInt32
		case x < -1<<31:
			return math.MinInt32
		}
		return int32(x)
	}
	everyLength(t, func(o *operands, n int) {
		levels(t, func(l Level) {
			Int32ToFloat32(o.dst, o.i)
			for i, v := range o.i {
				if o.dst[i] != float32(v) {
					t.Fatalf("%v int %d: %v", l, v, o.dst[i])
				}
			}
			Uint32ToFloat32(o.dst, o.u)
			for i, v := range o.u {
				if o.dst[i] != float32(v) {
					t.Fatalf("%v uint %d: %v", l, v, o.dst[i])
				}
			}
			got := guarded[int32](t, n, false)
			Float32ToInt32(got, o.x)
			for i, v := range o.x {
				if got[i] != toInt(v) {
					t.Fatalf("%v float %v: %v", l, v, got[i])
				}
			}
		})
	})
}

// TestFused: fused operations have the bits of their operations one after the other.
func TestFused(t *testing.T) {
	everyLength(t, func(o *operands, n int) {
		levels(t, func(l Level) {
			tmp := make([]float32, n)
			check := func(what string) {
				if err := diff(o.want, o.dst); err != nil {
					t.Fatalf("%v %s: %v", l, what, err)
				}
			}
			Binary32(Mul, tmp, o.y, o.y)
			Binary32SV(Sub, tmp, 1, tmp)
			Binary32(Mul, o.want, o.x, tmp)
			TanhGrad32(o.dst, o.x, o.y)
			check("gradient of tanh")
			for _, act := range []UnaryOp{Tanh, Logistic, Relu, Exp} {
				Binary32(Add, tmp, o.x, o.y)
				Unary32(act, o.want, tmp)
				AddAct32(act, o.dst, o.x, o.y)
				check(fmt.Sprint("add, then ", act))
			}
		})
	})
}
