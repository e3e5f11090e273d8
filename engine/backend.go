package engine

import (
	"fmt"
	"runtime"
	"sync/atomic"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/record"
)

// Name is the name under which the engine is registered with GoMLX.
const Name = "weft"

func init() { compute.Register(Name, New) }

// Backend is the CPU engine as a GoMLX backend.
type Backend struct {
	settings  settings
	buffers   bufferPool
	workers   *workers
	finalized atomic.Bool
	floor     []byte
}

var _ compute.Backend = (*Backend)(nil)

// New returns a backend. The configuration is a comma-separated list of: threads=N, how many
// goroutines share one large operation (default: GOMAXPROCS); off=PASS, which turns off one pass of
// the compiler (see [Passes]), or all of them; check, which checks the graph and the memory plan
// after every pass.
func New(config string) (compute.Backend, error) {
	s, err := parseSettings(config)
	if err != nil {
		return nil, fmt.Errorf("engine configuration %q: %w", config, err)
	}
	return &Backend{settings: s, workers: newWorkers(s.threads), floor: floor()}, nil
}

// Name implements compute.Backend.
func (b *Backend) Name() string { return Name }

// String implements compute.Backend.
func (b *Backend) String() string { return Name }

// Description implements compute.Backend.
func (b *Backend) Description() string {
	return fmt.Sprintf("Weft CPU engine (%s, %d threads)", runtime.GOARCH, b.settings.threads)
}

// Philox reports that RNGBitGenerator gives the blocks of Philox4x32-10 one after another: of the
// state's three words the first is the key, the others are the counter.
func (b *Backend) Philox() bool { return true }

// NumDevices implements compute.Backend.
func (b *Backend) NumDevices() int { return 1 }

// DeviceDescription implements compute.Backend.
func (b *Backend) DeviceDescription(compute.DeviceNum) string { return b.Description() }

// Capabilities implements compute.Backend.
func (b *Backend) Capabilities() compute.Capabilities { return capabilities().Clone() }

// Builder implements compute.Backend.
func (b *Backend) Builder(name string) compute.Builder {
	return record.New(name, func(m *ir.Module) (compute.Executable, error) { return b.Compile(m) })
}

// Finalize stops the worker goroutines and drops pooled memory. No execution may be running.
func (b *Backend) Finalize() {
	if b.finalized.Swap(true) {
		return
	}
	b.workers.stop()
	b.buffers.drop()
}

// IsFinalized implements compute.Backend.
func (b *Backend) IsFinalized() bool { return b.finalized.Load() }
