//go:build !xla

package bench

import (
	"context"

	"github.com/gomlx/compute"
)

// xlaBackend fails: XLA is not part of this build, which needs no C compiler.
func xlaBackend(context.Context, string) (func(int) (compute.Backend, error), *Absence) {
	return nil, &Absence{
		Name: "xla", Why: "not in this build",
		Install: "pip install xla-cpu-pjrt==0.0.1, and build with CGO_ENABLED=1 go build -tags xla ./cmd/weft",
	}
}
