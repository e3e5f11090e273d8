//go:build xla

package device

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine/pjrt"
	"github.com/weft-rl/weft/engine/plugin"
)

// HasXLA reports whether this binary was built with XLA.
const HasXLA = true

// openXLA opens the CPUs once more for every number: devices that share nothing, as
// those of a machine with several.
func openXLA(place) (compute.Backend, error) { return find(plugin.CPU, nil, false) }

func openCUDA(at place) (compute.Backend, error) { return find(plugin.CUDA, []int{at.number}, at.fast) }

// find opens the devices with these numbers of the first plugin for their kind.
func find(kind plugin.Kind, numbers []int, fast bool) (*pjrt.Backend, error) {
	if kind == plugin.CUDA && !hasDriver() {
		return nil, errors.New("there is no NVIDIA GPU here, or its driver is not installed: /dev/nvidia* is missing")
	}
	p, err := plugin.Find(kind)
	if err != nil {
		return nil, err
	}
	// Kernels are a compiler's choice, which a user may want to rule out when looking for a difference.
	return pjrt.New(pjrt.Options{Plugin: p, Devices: numbers, Fast: fast, Plain: os.Getenv("WEFT_KERNELS") == "off"})
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

// list opens all devices of a kind, to see what they are.
func list(kind plugin.Kind, name func(i int) string) (all []Info, err error) {
	b, err := find(kind, nil, false)
	if err != nil {
		return nil, err
	}
	defer b.Finalize()
	for i := range b.NumDevices() {
		all = append(all, Info{Name: name(i), What: b.DeviceDescription(compute.DeviceNum(i)), Plugin: b.Plugin()})
	}
	return all, nil
}
