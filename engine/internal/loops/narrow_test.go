package loops

import (
	"math"
	"testing"

	"github.com/gomlx/compute/dtypes/bfloat16"
	"github.com/gomlx/compute/dtypes/float16"
)

// TestNarrow: every 16-bit float survives, and what lies between two goes to the nearer, or to the
// even one.
func TestNarrow(t *testing.T) {
	check := func(name string, infinity uint16, widen func(uint16) float32, narrow func(float32) uint16) {
		for h := range infinity - 1 {
			x, next := widen(h), widen(h+1)
			mid := x + (next-x)/2
			even := h + h&1
			cases := map[float32]uint16{x: h, -x: h | 0x8000, mid: even, math.Nextafter32(mid, x): h,
				math.Nextafter32(mid, next): h + 1}
			for v, want := range cases {
				if v == 0 {
					continue
				}
				if got := narrow(v); got != want {
					t.Fatalf("%s: %g became %04x, want %04x", name, v, got, want)
				}
			}
		}
		last := widen(infinity - 1)
		if half := (last - widen(infinity-2)) / 2; narrow(last) != infinity-1 || narrow(last+half) != infinity {
			t.Errorf("%s: the largest number", name)
		}
		nan := widen(narrow(float32(math.NaN())))
		if narrow(float32(math.Inf(-1))) != infinity|0x8000 || nan == nan || narrow(0) != 0 {
			t.Errorf("%s: infinities, zero or NaN", name)
		}
	}
	check("float16", 0x7c00, func(h uint16) float32 { return float16.Float16(h).Float32() },
		func(x float32) uint16 { return uint16(toFloat16(x)) })
	check("bfloat16", 0x7f80, func(h uint16) float32 { return bfloat16.BFloat16(h).Float32() },
		func(x float32) uint16 { return uint16(toBFloat16(x)) })
}

// TestOrder: the total order of floats.
func TestOrder(t *testing.T) {
	nan := math.NaN()
	xs := []float64{math.Copysign(nan, -1), math.Inf(-1), -1, math.Copysign(0, -1), 0, 5e-324, 1, math.Inf(1), nan}
	for i := 1; i < len(xs); i++ {
		if order64(xs[i-1]) >= order64(xs[i]) {
			t.Errorf("%v is not below %v", xs[i-1], xs[i])
		}
		if x, y := float32(xs[i-1]), float32(xs[i]); x != y && x == x && y == y && order32(x) >= order32(y) {
			t.Errorf("float32: %v is not below %v", x, y)
		}
	}
}

func TestIntegers(t *testing.T) {
	if got := power[int32](-1, -3); got != -1 {
		t.Errorf("(-1)**-3 = %d", got)
	}
	if got := power[int32](2, -1); got != 0 {
		t.Errorf("2**-1 = %d", got)
	}
	if got := power[uint8](3, 5); got != 243 {
		t.Errorf("3**5 = %d", got)
	}
	if got := quotient[int8](-128, -1); got != -128 {
		t.Errorf("-128/-1 = %d", got)
	}
}
