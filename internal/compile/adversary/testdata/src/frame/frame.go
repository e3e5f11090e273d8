// Package frame imports what generated loops and their programs may import. Loops
// are analysed and type-checked in its place.
package frame

import (
	_ "bytes"
	_ "embed"
	_ "errors"
	_ "fmt"
	_ "maps"
	_ "math"
	_ "slices"
	_ "sort"
	_ "strconv"
	_ "strings"

	_ "github.com/weft-rl/weft/algo"
	_ "github.com/weft-rl/weft/edge"
	_ "github.com/weft-rl/weft/env"
	_ "github.com/weft-rl/weft/internal/compile/adversary/testdata/src/job"
	_ "github.com/weft-rl/weft/internal/compile/adversary/testdata/src/yard"
	_ "github.com/weft-rl/weft/internal/compile/analyze/testdata/src/kit"
	_ "github.com/weft-rl/weft/nn"
	_ "github.com/weft-rl/weft/plan"
	_ "github.com/weft-rl/weft/replay"
	_ "github.com/weft-rl/weft/rl"
)
