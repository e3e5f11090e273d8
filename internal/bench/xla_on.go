//go:build xla

package bench

import (
	"context"
	"os/exec"
	"strings"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"
	"github.com/gomlx/go-xla/compute/xla"
)

// findPlugin prints where the PJRT plugin for CPUs is.
const findPlugin = `import importlib.metadata as m
print(next(str(f.locate().resolve()) for f in m.files("xla-cpu-pjrt") if f.name.endswith(".so")))`

// otherBackend returns the backend of that name: GoMLX's Go backend, or XLA with the plugin that
// the interpreter has.
func otherBackend(ctx context.Context, name, python string) (func(int) (compute.Backend, error), *Absence) {
	if name == "go" {
		// One operation after another is fastest at these sizes.
		return func(int) (compute.Backend, error) { return gobackend.New("ops_sequential") }, nil
	}
	out, err := exec.CommandContext(ctx, python, "-c", findPlugin).Output()
	if err != nil {
		return nil, &Absence{Name: "xla", Why: "no PJRT plugin for " + python, Install: "pip install xla-cpu-pjrt==0.0.1"}
	}
	plugin := strings.TrimSpace(string(out))
	// The plugin's file is not called cpu, by which go-xla would know that its
	// buffers are ordinary memory.
	return func(int) (compute.Backend, error) { return xla.New(plugin + ",shared_buffers") }, nil
}
