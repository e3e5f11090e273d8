//go:build xla

package board

import (
	"testing"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// TestOnXLA: the rules by XLA are those of the host too.
func TestOnXLA(t *testing.T) {
	dev, err := device.Open("xla:cpu")
	if err != nil {
		t.Fatal(err) // it says what to install
	}
	s := rl.NewScope(dev, 3)
	compareGames(t, s)
	compareBest(t, s)
}
