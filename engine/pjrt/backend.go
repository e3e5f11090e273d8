//go:build xla

package pjrt

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/pjrt"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/plugin"
	"github.com/weft-rl/weft/engine/record"
	"github.com/weft-rl/weft/engine/stablehlo"
)

// Name of the backend, as GoMLX lists it.
const Name = "weft-xla"

// Options choose a backend's plugin and devices.
type Options struct {
	// Plugin is the plugin to load; see [plugin.Find].
	Plugin plugin.Plugin

	// Devices are the numbers of the GPUs to use; nil is all of them. A plugin for CPUs ignores it.
	Devices []int

	// CPUs is how many devices a plugin for CPUs makes of them; 0 leaves it to the plugin.
	CPUs int

	// Precision is how products of float32 take their operands: as they are, unless another one is
	// asked for.
	Precision ir.Precision

	// Spread makes thin products part of the kernels around them, as it is on GPUs.
	Spread bool

	// Plain leaves loops whose rows do not look at each other as they are, instead of making each
	// one kernel, as it is on GPUs.
	Plain bool

	// Preallocate takes three quarters of a GPU's memory at once, instead of as it is needed.
	Preallocate bool

	// Unpinned leaves the host's memory that transfers go by as it is, instead of page-locking it
	// where the plugin can.
	Unpinned bool
}

// Backend is a PJRT plugin as a GoMLX backend.
type Backend struct {
	options   Options
	client    *pjrt.Client
	finalized atomic.Bool
	pressure  pressure
	staging   staging
	compiling compilations
	kind      string // kind of the devices, such as "NVIDIA H200"
}

var _ compute.Backend = (*Backend)(nil)

var errFinalized = errors.New("the backend has been finalized")

// loading keeps plugins from being loaded side by side: it goes by way of environment variables.
var loading sync.Mutex

// New loads the plugin, unless it is there already, and opens its devices.
func New(o Options) (*Backend, error) {
	loading.Lock()
	defer loading.Unlock()
	if err := prepare(o.Plugin); err != nil {
		return nil, err
	}
	p, err := pjrt.GetPlugin(o.Plugin.Path)
	if err != nil {
		return nil, fmt.Errorf("plugin %s: %w", o.Plugin.Path, plain(err))
	}
	b := &Backend{options: o}
	if b.staging.client, err = opening(func() (err error) { b.client, err = p.NewClient(clientOptions(o)); return err }); err != nil {
		return nil, fmt.Errorf("plugin %s: %w", o.Plugin.Path, plain(err))
	}
	b.staging.lock = !o.Unpinned
	b.kind = b.staging.client.kind()
	if b.client.NumDevices() == 0 {
		b.Finalize()
		return nil, fmt.Errorf("plugin %s: it finds no device", o.Plugin.Path)
	}
	return b, nil
}

// prepare sets what a plugin reads from the environment while it is loaded, and loads the libraries
// it will ask for, so that nobody has to name their folders before the start.
func prepare(p plugin.Plugin) error {
	if os.Getenv("TF_CPP_MIN_LOG_LEVEL") == "" { // what goes wrong comes back as an error
		os.Setenv("TF_CPP_MIN_LOG_LEVEL", "3")
	}
	os.Setenv("GOPJRT_CUDA_CHECKS", "0") // done here
	if flags := plugin.Flags(os.Getenv("XLA_FLAGS"), p); flags != "" {
		os.Setenv("XLA_FLAGS", flags)
	}
	preload(p.Libraries)
	return load(p.Path)
}

func clientOptions(o Options) pjrt.NamedValuesMap {
	if o.Plugin.Kind != plugin.CUDA {
		if o.CPUs == 0 {
			return nil
		}
		return pjrt.NamedValuesMap{"cpu_device_count": int64(o.CPUs)}
	}
	m := pjrt.NamedValuesMap{"preallocate": o.Preallocate}
	if o.Preallocate {
		m["memory_fraction"] = float32(0.75)
	}
	if o.Devices != nil {
		var visible []int64
		for _, d := range o.Devices {
			visible = append(visible, int64(d))
		}
		m["visible_devices"] = visible
	}
	return m
}

// spread reports whether thin products are to be part of the kernels around them.
func (o Options) spread() bool { return o.Plugin.Kind == plugin.CUDA || o.Spread }

// plain drops the stack trace that go-xla's errors print with %+v.
func plain(err error) error { return errors.New(err.Error()) }

// Name implements compute.Backend.
func (b *Backend) Name() string { return Name }

// String implements compute.Backend.
func (b *Backend) String() string { return Name }

// Description implements compute.Backend.
func (b *Backend) Description() string {
	if b.IsFinalized() {
		return Name + " (finalized)"
	}
	return fmt.Sprintf("XLA by PJRT on %s (%s)", b.client.Platform(), b.options.Plugin.Path)
}

// Plugin returns the path of the library that runs the devices.
func (b *Backend) Plugin() string { return b.options.Plugin.Path }

// Unroll returns how many rounds of a small loop are best written out as one: on a GPU
// each trip of a loop waits for the host of the plugin. With kernels rounds are few
// and large, and each kernel that is written out is compiled once more.
func (b *Backend) Unroll() int {
	if b.options.Plugin.Kind == plugin.CUDA && !b.Kernels() {
		return 8
	}
	return 1
}

// Rolls reports whether a chain of equal steps had better be a loop than be written out. On CPUs,
// where a trip costs little and XLA's compiler much, it had.
func (b *Backend) Rolls() bool { return b.options.Plugin.Kind != plugin.CUDA }

// Kernels reports whether loops whose rows do not look at each other become kernels of their own.
// They are then best not written out: a kernel goes round by itself.
func (b *Backend) Kernels() bool { return b.options.Plugin.Kind == plugin.CUDA && !b.options.Plain }

// Pinned reports whether transfers go by memory that is page-locked.
func (b *Backend) Pinned() bool { return !b.IsFinalized() && b.staging.pinned() }

// NumDevices implements compute.Backend.
func (b *Backend) NumDevices() int {
	if b.IsFinalized() {
		return 0
	}
	return b.client.NumDevices()
}

// DeviceDescription implements compute.Backend.
func (b *Backend) DeviceDescription(device compute.DeviceNum) string {
	d, err := b.device(device)
	if err != nil {
		return err.Error()
	}
	text, err := d.GetDescription()
	if err != nil {
		return plain(err).Error()
	}
	if b.kind == "" {
		return text.DebugString()
	}
	return fmt.Sprintf("%s (%s)", text.DebugString(), b.kind)
}

func (b *Backend) device(device compute.DeviceNum) (*pjrt.Device, error) {
	if b.IsFinalized() {
		return nil, errFinalized
	}
	if n := b.client.NumDevices(); int(device) < 0 || int(device) >= n {
		return nil, fmt.Errorf("device %d of %d", device, n)
	}
	return b.client.AddressableDevices()[device], nil
}

// Capabilities implements compute.Backend.
func (b *Backend) Capabilities() compute.Capabilities { return record.Capabilities(stablehlo.Supports) }

// Builder implements compute.Backend.
func (b *Backend) Builder(name string) compute.Builder {
	return record.New(name, func(m *ir.Module) (compute.Executable, error) { return b.compile(m) })
}

// Finalize closes the devices. What lives on them must not be used any more.
func (b *Backend) Finalize() {
	if b.finalized.Swap(true) {
		return
	}
	b.staging.close()
	// The client's only failure is to have been destroyed before.
	_ = b.client.Destroy()
}

// IsFinalized implements compute.Backend.
func (b *Backend) IsFinalized() bool { return b.finalized.Load() }
