//go:build xla

package tag

import (
	"testing"

	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/rl"
)

// TestOnXLA: the same games by XLA are those of the plain version too.
func TestOnXLA(t *testing.T) {
	dev, err := device.Open("xla:cpu")
	if err != nil {
		t.Fatal(err) // it says what to install
	}
	for _, v := range variants {
		if v.options.RunnerPolicy != random {
			t.Run(v.name, func(t *testing.T) { compareGames(t, rl.NewScope(dev, 3), game{*v.options}) })
		}
	}
}
