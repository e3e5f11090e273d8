//go:build !xla

package bench

import (
	"context"

	"github.com/gomlx/compute"
)

// otherBackend fails: other backends than Weft's engine are not part of this build.
func otherBackend(_ context.Context, name, _ string) (func(int) (compute.Backend, error), *Absence) {
	install := "build with CGO_ENABLED=1 go build -tags xla ./cmd/weft"
	if name == "xla" {
		install = "pip install xla-cpu-pjrt==0.0.1, and " + install
	}
	return nil, &Absence{Name: name, Why: "not in this build", Install: install}
}
