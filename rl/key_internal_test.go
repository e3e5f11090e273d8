package rl

import (
	"testing"

	"github.com/weft-rl/weft/internal/philox"
)

// The counter of a draw is (row, block, two words of the key), its key the other
// two: what a program of another language would have to compute.
func TestKeyLayout(t *testing.T) {
	k := Key{w: [4]uint32{1, 2, 3, 4}}
	if got, want := k.At(5).Bits(2, 9), philox.Block([4]uint32{7, 9, 3, 4}, [2]uint32{1, 2}); got != want {
		t.Errorf("Bits: %x, want %x", got, want)
	}
	if got, want := k.Fold(0x0000000b0000000a).w, philox.Block([4]uint32{10, 11, 3, 4}, [2]uint32{1, 2}); got != want {
		t.Errorf("Fold: %x, want %x", got, want)
	}
	if got, want := k.Use("act"), k.Fold(hash("act")); got != want {
		t.Errorf("Use: %v, want %v", got, want)
	}
	// FNV-1a of "a", from the definition's own table of test vectors.
	if got := hash("a"); got != 0xaf63dc4c8601ec8c {
		t.Errorf("hash: %x", got)
	}
}
