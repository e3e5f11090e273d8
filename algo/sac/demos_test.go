package sac_test

import (
	"testing"

	"github.com/weft-rl/weft/algo/sac"
	_ "github.com/weft-rl/weft/data/debug"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/internal/algotest"
)

// TestDemos: a part of every update is demonstrations.
func TestDemos(t *testing.T) {
	algotest.Demos(t, sac.Algorithm, debug.IdentityContinuous, "debug:continuous")
}
