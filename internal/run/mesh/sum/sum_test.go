package sum

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"testing"
)

// TestUpdate: it is CRC-32C, for all lengths, beginnings and sums so far.
func TestUpdate(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	all := make([]byte, 70_000)
	for i := range all {
		all[i] = byte(rng.Uint32())
	}
	for i := range 5000 {
		n := rng.IntN(3000)
		if i%50 == 0 {
			n = rng.IntN(len(all) - 64)
		}
		at, so := rng.IntN(64), rng.Uint32()*uint32(i%3)
		if got, want := Update(so, all[at:at+n]), crc32.Update(so, table, all[at:at+n]); got != want {
			t.Fatalf("%d bytes at %d after %#x: %#x, want %#x", n, at, so, got, want)
		}
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{1 << 10, 64 << 10} {
		x := make([]byte, n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				Update(0, x)
			}
		})
		b.Run(fmt.Sprint("crc32/", n), func(b *testing.B) {
			b.SetBytes(int64(n))
			for b.Loop() {
				crc32.Update(0, table, x)
			}
		})
	}
}
