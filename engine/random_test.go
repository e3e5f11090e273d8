package engine

import (
	"math"
	"testing"

	"github.com/weft-rl/weft/engine/internal/enginetest"
)

// sameBits compares results; all NaNs are equal.
func sameBits(a, b []float32) int {
	for i := range a {
		if math.Float32bits(a[i]) != math.Float32bits(b[i]) && (a[i] == a[i] || b[i] == b[i]) {
			return i
		}
	}
	return -1
}

// samePasses compares a random graph on two backends, bit by bit.
func samePasses(t *testing.T, want, b *Backend, seed uint64, size int, kind enginetest.Kind) {
	t.Helper()
	w, got := enginetest.Grown(t, want, seed, size, kind), enginetest.Grown(t, b, seed, size, kind)
	for i := range w {
		if at := sameBits(enginetest.Floats(w[i]), enginetest.Floats(got[i])); at >= 0 {
			t.Fatalf("seed %d: result %d differs at %d: %v, want %v", seed, i, at, enginetest.Floats(got[i])[at], enginetest.Floats(w[i])[at])
		}
	}
}

// TestPasses: every graph has the same bits with each pass on or off and on any number of threads.
func TestPasses(t *testing.T) {
	configs := []string{"off=all,threads=1", "threads=1", "threads=3"}
	for _, p := range Passes {
		configs = append(configs, "off="+p)
	}
	want := newBackend(t, "")
	for _, c := range configs {
		t.Run(c, func(t *testing.T) {
			b := newBackend(t, c)
			for seed := range uint64(25) {
				samePasses(t, want, b, seed, 40, enginetest.Empty)
			}
			for seed := range uint64(5) {
				samePasses(t, want, b, seed, 40, enginetest.Big)
			}
		})
	}
}

func FuzzPasses(f *testing.F) {
	all, none := newBackend(f, ""), newBackend(f, "off=all")
	f.Add(uint64(1), uint8(20))
	f.Fuzz(func(t *testing.T, seed uint64, size uint8) {
		samePasses(t, none, all, seed, 12+int(size), enginetest.Empty)
		samePasses(t, none, all, seed, 12+int(size)%40, enginetest.Big)
	})
}
