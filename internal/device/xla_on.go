//go:build xla

package device

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"

	"github.com/weft-rl/weft/engine/pjrt"
	"github.com/weft-rl/weft/engine/plugin"
)

// HasXLA reports whether this binary was built with the tag xla.
const HasXLA = true

// openXLA opens the CPUs once more for every number: devices that share nothing, as
// those of a machine with several.
func openXLA(at place) (compute.Backend, error) {
	return mesh(at, func() (*pjrt.Backend, error) {
		return find(plugin.CPU, pjrt.Options{CPUs: at.many, Precision: at.precision})
	})
}

func openCUDA(at place) (compute.Backend, error) {
	var numbers []int
	for i := range max(1, at.many) {
		numbers = append(numbers, at.number+i)
	}
	// XLA cannot share out kernels of ours among devices.
	return mesh(at, func() (*pjrt.Backend, error) {
		return find(plugin.CUDA, pjrt.Options{Devices: numbers, Precision: at.precision, Plain: at.many > 0})
	})
}

// openGo opens GoMLX's Go backend. It runs one operation after another, because at the sizes of
// reinforcement learning its own parallelism costs more than it brings.
func openGo(place) (compute.Backend, error) { return gobackend.New("ops_sequential") }

// mesh opens a place: a device, or several as one.
func mesh(at place, open func() (*pjrt.Backend, error)) (compute.Backend, error) {
	b, err := open()
	if err != nil || at.many == 0 {
		return b, err
	}
	m, err := pjrt.NewMesh(b, at.many)
	if err != nil {
		b.Finalize()
		return nil, err
	}
	return m, nil
}

// find opens devices of the first plugin for their kind.
func find(kind plugin.Kind, o pjrt.Options) (*pjrt.Backend, error) {
	if kind == plugin.CUDA && !hasDriver() {
		return nil, errors.New("there is no NVIDIA GPU here, or its driver is not installed: /dev/nvidia* is missing")
	}
	var err error
	if o.Plugin, err = plugin.Find(kind); err != nil {
		return nil, err
	}
	// Kernels are a compiler's choice, which a user may want to rule out when looking for a
	// difference.
	o.Plain = o.Plain || os.Getenv("WEFT_KERNELS") == "off"
	o.Unpinned = os.Getenv("WEFT_PINNED") == "off" // to see what it brings
	return pjrt.New(o)
}

// hasDriver looks for the files through which CUDA reaches its driver, on Linux
// and on Windows' Linux.
func hasDriver() bool {
	for _, pattern := range []string{"/dev/nvidia[0-9]*", "/dev/nvidiactl", "/dev/dxg"} {
		if files, _ := filepath.Glob(pattern); len(files) > 0 {
			return true
		}
	}
	return false
}

func listXLA() ([]Info, error) {
	all, err := list(plugin.CPU, func(int) string { return "xla:cpu" })
	if len(all) > 1 { // simulated ones; a program uses the first
		all = all[:1]
	}
	return all, err
}

func listCUDA() ([]Info, error) {
	return list(plugin.CUDA, func(i int) string { return fmt.Sprintf("cuda:%d", i) })
}

func listGo() ([]Info, error) { return []Info{{Name: "go"}}, nil }

// list opens all devices of a kind, to see what they are.
func list(kind plugin.Kind, name func(i int) string) (all []Info, err error) {
	b, err := find(kind, pjrt.Options{})
	if err != nil {
		return nil, err
	}
	defer b.Finalize()
	for i := range b.NumDevices() {
		all = append(all, Info{Name: name(i), What: b.DeviceDescription(compute.DeviceNum(i)), Plugin: b.Plugin(), Pinned: b.Pinned()})
	}
	return all, nil
}
