// Package random imports what loops that are written at random may use: they are
// analysed in its place.
package random

import (
	_ "github.com/weft-rl/weft/algo"
	_ "github.com/weft-rl/weft/env"
	_ "github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	_ "github.com/weft-rl/weft/nn"
	_ "github.com/weft-rl/weft/replay"
	_ "github.com/weft-rl/weft/rl"
)
