// Package device opens what computations run on, by the names users give.
//
// A process has one device of a name, and everything in it shares that: its
// threads are as many as the machine's cores, and runs side by side must not
// each bring their own.
package device

import (
	"fmt"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/gobackend"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/rl"
)

// Default is the device used when none is named.
const Default = "cpu"

// kinds are the devices, in the order they are listed.
var kinds = []struct {
	name string
	open func() (compute.Backend, error)
}{
	{"cpu", func() (compute.Backend, error) { return engine.New("") }}, // Weft's own engine
	// GoMLX's Go backend, for comparison; one operation after another, because at
	// the sizes of reinforcement learning its own parallelism costs more than it
	// brings.
	{"go", func() (compute.Backend, error) { return gobackend.New("ops_sequential") }},
}

var (
	mu   sync.Mutex
	open = map[string]*rl.Device{}
)

// Open is the device of that name.
func Open(name string) (*rl.Device, error) {
	mu.Lock()
	defer mu.Unlock()
	if d, ok := open[name]; ok {
		return d, nil
	}
	for _, k := range kinds {
		if k.name == name {
			b, err := k.open()
			if err != nil {
				return nil, fmt.Errorf("device %s: %w", name, err)
			}
			open[name] = rl.NewDevice(b)
			return open[name], nil
		}
	}
	return nil, fmt.Errorf("no device %q: take one of %v", name, Names())
}

// Close ends all devices and waits for their threads. Nothing that lives on them
// may be used any more.
func Close() {
	mu.Lock()
	defer mu.Unlock()
	for name, d := range open {
		d.Backend().Finalize()
		delete(open, name)
	}
}

// Names of the devices that can be opened.
func Names() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
	}
	return out
}
