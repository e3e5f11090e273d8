//go:build !xla

package device

import (
	"errors"

	"github.com/gomlx/compute"
)

// HasXLA reports whether this binary was built with the tag xla: with XLA, which needs a C
// compiler, and with GoMLX's Go backend, which takes a twentieth of the time to build everything
// else and is for comparison only.
const HasXLA = false

var errBuild = errors.New("this binary was built without cgo, XLA and GoMLX's Go backend; build one with: CGO_ENABLED=1 go build -tags xla ./cmd/weft")

func openXLA(place) (compute.Backend, error)  { return nil, errBuild }
func openCUDA(place) (compute.Backend, error) { return nil, errBuild }
func openGo(place) (compute.Backend, error)   { return nil, errBuild }
func listXLA() ([]Info, error)                { return nil, errBuild }
func listCUDA() ([]Info, error)               { return nil, errBuild }
func listGo() ([]Info, error)                 { return nil, errBuild }
