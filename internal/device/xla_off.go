//go:build !xla

package device

import (
	"errors"

	"github.com/gomlx/compute"
)

// HasXLA reports whether this binary was built with XLA, which needs a C
// compiler.
const HasXLA = false

var errBuild = errors.New("this binary was built without cgo and XLA; build one with: CGO_ENABLED=1 go build -tags xla ./cmd/weft")

func openXLA(place) (compute.Backend, error)  { return nil, errBuild }
func openCUDA(place) (compute.Backend, error) { return nil, errBuild }
func listXLA() ([]Info, error)                { return nil, errBuild }
func listCUDA() ([]Info, error)               { return nil, errBuild }
