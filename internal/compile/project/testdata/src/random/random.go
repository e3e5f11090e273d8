// Package random imports what loops that are written at random and their programs
// may use: they are analysed and checked in its place.
package random

import (
	_ "slices"
	_ "sort"
	_ "strings"

	_ "github.com/weft-rl/weft/algo"
	_ "github.com/weft-rl/weft/edge"
	_ "github.com/weft-rl/weft/env"
	_ "github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	_ "github.com/weft-rl/weft/internal/compile/project/testdata/src/fault"
	_ "github.com/weft-rl/weft/nn"
	_ "github.com/weft-rl/weft/plan"
	_ "github.com/weft-rl/weft/replay"
	_ "github.com/weft-rl/weft/rl"
)
