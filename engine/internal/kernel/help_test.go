package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// levels runs f once on every level there is.
func levels(tb testing.TB, f func(l Level)) {
	tb.Helper()
	defer use(tb, Best())
	for l := Go; l <= Best(); l++ {
		use(tb, l)
		f(l)
	}
}

func use(tb testing.TB, l Level) {
	tb.Helper()
	if err := Use(l); err != nil {
		tb.Fatal(err)
	}
}

// fill sets every element of x.
func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

func rng(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func normals(r *rand.Rand, x []float32) {
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
}

// hard are values at the edges of every algorithm.
var hard = func() []float32 {
	inf := float32(math.Inf(1))
	v := []float32{0, float32(math.Copysign(0, -1)), inf, -inf, float32(math.NaN()), math.MaxFloat32, -math.MaxFloat32,
		math.SmallestNonzeroFloat32, -math.SmallestNonzeroFloat32, 0x1p-126, -0x1p-126, 0x1p-127, 1e-40}
	for _, m := range []float32{1, 0.5, 1.5, 2, 3, 0.625, 0.7071067, 1.4142135, 9, 10, 17, 18, 88, 88.7, 89, 103, 104, 105, 4, 3.92, 1 << 23, 1 << 24, 1 << 30, 1 << 31, 1e10, 1e30} {
		for _, d := range []float32{0, inf, -inf} {
			n := math.Nextafter32(m, d)
			v = append(v, n, -n, 1/n)
		}
	}
	return v
}()

// mixed fills x with hard values among ordinary ones of many sizes.
func mixed(r *rand.Rand, x []float32) {
	for i := range x {
		switch r.IntN(4) {
		case 0:
			x[i] = hard[r.IntN(len(hard))]
		case 1:
			x[i] = math.Float32frombits(r.Uint32())
		default:
			x[i] = float32(r.NormFloat64() * math.Exp2(float64(r.IntN(20)-10)))
		}
	}
}

// sameBits says whether two values are equal bit for bit, NaN being one value.
func sameBits(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

func diff(want, got []float32) error {
	for i := range want {
		if !sameBits(want[i], got[i]) {
			return fmt.Errorf("element %d of %d: want %v (%08x), got %v (%08x)", i, len(want), want[i], math.Float32bits(want[i]), got[i], math.Float32bits(got[i]))
		}
	}
	return nil
}

// edges are lengths around every vector width, unrolling and tile.
var edges = []int{0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 49, 63, 64, 65, 95, 96, 97, 127, 128, 129, 255, 256, 257, 1000}
