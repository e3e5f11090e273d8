package kernel

import (
	"flag"
	"math"
	"testing"
)

// every is the distance between the inputs checked, as bit patterns: 1 checks all 2**32 of them,
// which takes minutes a function (go test -run Ulps/tanh -every 1).
var every = flag.Uint64("every", 4099, "check the elementary functions on one of so many inputs")

// reference holds each function in float64 and the error bound promised, in units of the last
// place.
var reference = []struct {
	op    UnaryOp
	name  string
	f     func(x float64) float64
	bound float64
}{
	{Sqrt, "sqrt", math.Sqrt, 0.5},
	{Rsqrt, "rsqrt", func(x float64) float64 { return 1 / math.Sqrt(x) }, 1.5},
	{Exp, "exp", math.Exp, 1.1},
	{Expm1, "expm1", math.Expm1, 1.5},
	{Log, "log", math.Log, 1},
	{Log1p, "log1p", math.Log1p, 0.6},
	{Tanh, "tanh", math.Tanh, 2},
	{Logistic, "logistic", func(x float64) float64 {
		if x < 0 {
			return math.Exp(x) / (1 + math.Exp(x))
		}
		return 1 / (1 + math.Exp(-x))
	}, 2},
	{Sin, "sin", math.Sin, 0.6},
	{Cos, "cos", math.Cos, 0.6},
	{Erf, "erf", math.Erf, 1.25},
	{Floor, "floor", math.Floor, 0},
	{Ceil, "ceil", math.Ceil, 0},
	{Round, "round", math.RoundToEven, 0},
	{Abs, "abs", math.Abs, 0},
	{Neg, "neg", func(x float64) float64 { return -x }, 0},
	{Relu, "relu", func(x float64) float64 { return max(x, 0) }, 0},
	{Sign, "sign", func(x float64) float64 {
		if x == 0 || x != x {
			return x
		}
		return math.Copysign(1, x)
	}, 0},
}

// ulps returns the distance of got from want in units of float32's last place at want.
func ulps(got float32, want float64) float64 {
	w := float32(want)
	switch {
	case sameBits(got, w):
		_, e := math.Frexp(want)
		if w == 0 || w != w || math.IsInf(float64(w), 0) {
			return 0
		}
		return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
	case got != got || want != want:
		return math.Inf(1)
	case math.IsInf(float64(w), 0) && math.Abs(float64(got)) == math.MaxFloat32 && (got > 0) == (want > 0):
		return 1 // the neighbour below infinity
	case want == 0 || got == 0 && math.Signbit(float64(got)) != math.Signbit(want):
		return math.Inf(1)
	}
	_, e := math.Frexp(want)
	return math.Abs(float64(got)-want) / math.Ldexp(1, max(e-24, -149))
}

// worst runs one function over inputs first, first+step, ... as bit patterns.
func worst(op UnaryOp, f func(float64) float64, step uint64) (most float64, at float32) {
	const chunk = 4096
	var x, y [chunk]float32
	n := 0
	flush := func() {
		Unary32(op, y[:n], x[:n])
		for i, v := range x[:n] {
			if u := ulps(y[i], f(float64(v))); u > most {
				most, at = u, v
			}
		}
		n = 0
	}
	for b := uint64(0); b < 1<<32; b += step {
		x[n] = math.Float32frombits(uint32(b))
		if n++; n == chunk {
			flush()
		}
	}
	for i := 0; i < len(hard); i += chunk {
		flush()
		n = copy(x[:], hard[i:])
	}
	flush()
	return most, at
}

func TestUlps(t *testing.T) {
	for _, r := range reference {
		t.Run(r.name, func(t *testing.T) {
			most, at := worst(r.op, r.f, *every)
			t.Logf("%.4f ulp at %g (%08x)", most, at, math.Float32bits(at))
			if most > r.bound {
				t.Errorf("promised %g", r.bound)
			}
		})
	}
}

// TestUlpsNear looks closely where sums cancel or a branch is taken.
func TestUlpsNear(t *testing.T) {
	for _, r := range reference {
		for _, c := range []float32{1, 0.5, 0.625, 2, -1, -0.625, 0.6931472, 1.5707964, 3.1415927, 6.2831855, 31415.926, 9, -17, 88, -87, -103} {
			x := make([]float32, 4000)
			b := math.Float32bits(c)
			for i := range x {
				x[i] = math.Float32frombits(b + uint32(i) - 2000)
			}
			y := make([]float32, len(x))
			Unary32(r.op, y, x)
			for i, v := range x {
				if u := ulps(y[i], r.f(float64(v))); u > r.bound {
					t.Fatalf("%s(%g) = %g: %.3f ulp, promised %g", r.name, v, y[i], u, r.bound)
				}
			}
		}
	}
}

// TestUnaryTwins: all levels agree bit for bit, on hard values and on a sample of all bit patterns.
func TestUnaryTwins(t *testing.T) {
	const n = 1 << 16
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(uint32(i)*65537 + 12345)
	}
	copy(x, hard)
	mixed(rng(7), x[n/2:])
	for _, r := range reference {
		want := make([]float32, n)
		use(t, Go)
		Unary32(r.op, want, x)
		levels(t, func(l Level) {
			got := make([]float32, n)
			Unary32(r.op, got, x)
			for i := range want {
				if !sameBits(want[i], got[i]) {
					t.Fatalf("%v %s(%g %08x): want %g, got %g", l, r.name, x[i], math.Float32bits(x[i]), want[i], got[i])
				}
			}
		})
	}
}

// TestUnaryRuns compares the levels on runs of neighbouring inputs, on all inputs there are with
// -every 1.
func TestUnaryRuns(t *testing.T) {
	const n = 1 << 12
	step := uint64(n)
	if *every > 1 {
		step <<= 15
	}
	x, want, got := make([]float32, n), make([]float32, n), make([]float32, n)
	for _, r := range reference {
		for b := uint64(0); b < 1<<32; b += step {
			for i := range x {
				x[i] = math.Float32frombits(uint32(b) + uint32(i))
			}
			use(t, Go)
			Unary32(r.op, want, x)
			levels(t, func(l Level) {
				Unary32(r.op, got, x)
				if err := diff(want, got); err != nil {
					t.Fatalf("%v %s from %08x: %v", l, r.name, b, err)
				}
			})
		}
	}
}

func TestPow(t *testing.T) {
	const n = 400000
	r := rng(8)
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range x {
		x[i] = float32(math.Exp(r.NormFloat64() * 5))
		y[i] = float32(r.NormFloat64() * 20)
		if i%3 == 0 {
			y[i] = float32(r.IntN(40) - 20)
			x[i] *= float32(1 - 2*r.IntN(2))
		}
	}
	mixed(r, x[:n/4])
	mixed(r, y[:n/4])
	at := n / 4
	for _, a := range hard {
		for _, b := range hard {
			x[at], y[at] = a, b
			at++
		}
	}
	Binary32(Pow, z, x, y)
	most := 0.0
	for i := range z {
		if u := ulps(z[i], math.Pow(float64(x[i]), float64(y[i]))); u > most {
			if most = u; u > 1 {
				t.Fatalf("pow(%g, %g) = %g, want %g: %g ulp", x[i], y[i], z[i], math.Pow(float64(x[i]), float64(y[i])), u)
			}
		}
	}
	t.Logf("pow: %.4f ulp", most)
}
