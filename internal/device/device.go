// Package device opens what computations run on, by the names users give.
package device

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/rl"
)

// Default is the device used when none is named.
const Default = "cpu"

// kinds are the devices, in the order they are listed.
var kinds = []struct {
	name, doc string
	open      func() (compute.Backend, error)
}{
	{"cpu", "the CPU, through Weft's own engine", func() (compute.Backend, error) { return engine.New("") }},
	// One operation after another: at the sizes of reinforcement learning this
	// backend's own parallelism costs more than it brings.
	{"go", "the CPU, through GoMLX's Go backend: slow, for comparison", func() (compute.Backend, error) { return gobackend.New("ops_sequential") }},
}

// Open makes the device of that name.
func Open(name string) (*rl.Device, error) {
	for _, k := range kinds {
		if k.name == name {
			b, err := k.open()
			if err != nil {
				return nil, fmt.Errorf("device %s: %w", name, err)
			}
			return rl.NewDevice(b), nil
		}
	}
	return nil, fmt.Errorf("no device %q: take one of %v", name, Names())
}

// Names of the devices that can be opened.
func Names() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}
