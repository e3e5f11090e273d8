//go:build xla

package ppo

import (
	"flag"
	"math"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// on is the device that the test runs on: its binary can be carried to a machine
// with a GPU and run there with -on=cuda.
var on = flag.String("on", "xla:cpu", "the device to compare with the CPU engine")

// TestLoweredOnXLA: the program on XLA computes what the CPU engine does, up to
// rounding.
func TestLoweredOnXLA(t *testing.T) {
	if _, err := device.Open(*on); err != nil {
		t.Fatal(err) // it says what to install
	}
	for _, how := range []rl.Chunks{{Most: 2}, {Most: 2, Unroll: 4, Sums: true, Far: true}} {
		want, got := watchedOn(t, "cpu", 3, lower(how)), watchedOn(t, *on, 3, lower(how))
		moved := 0.0
		for i, a := range want.state {
			x, ok := a.Flat.([]float32)
			if !ok || !strings.HasPrefix(a.Name, "net/") {
				continue
			}
			for j, v := range got.state[i].Flat.([]float32) {
				moved = max(moved, math.Abs(float64(v)))
				if d := math.Abs(float64(v - x[j])); d > 1e-3 {
					t.Fatalf("%+v: %s is %v in place %d, on the CPU engine %v", how, a.Name, v, j, x[j])
				}
			}
		}
		if moved == 0 || len(got.logs) != len(want.logs) {
			t.Errorf("%+v: %d rows of metrics, want %d; the largest weight is %v", how, len(got.logs), len(want.logs), moved)
		}
	}
}
