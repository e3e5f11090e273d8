package device

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/gomlx/compute"

	"github.com/weft-rl/weft/engine"
	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/rl"
)

// Default is the device used when none is named.
const Default = "cpu"

// kind is a kind of device.
type kind struct {
	name, doc string
	many      bool           // there may be several, numbered: name:0
	rounds    []ir.Precision // how its products may round their operands: name+tf32
	open      func(place) (compute.Backend, error)
	list      func() ([]Info, error) // lists devices that need a look at the machine
}

// place is a device among those of its kind, or several with numbers in a row.
type place struct {
	number    int
	many      int // how many; 0 is one
	precision ir.Precision
}

// String returns the place's part of a name: 2, or 0-3.
func (p place) String() string {
	if p.many > 0 {
		return fmt.Sprintf("%d-%d", p.number, p.number+p.many-1)
	}
	return strconv.Itoa(p.number)
}

// suffix returns the end of a name that says how products round, if they do: +tf32.
func (p place) suffix() string {
	if p.precision == ir.Exact {
		return ""
	}
	return "+" + p.precision.String()
}

// precision returns the way to round of that name, if the devices have it.
func (k kind) precision(name string) (ir.Precision, bool) {
	for _, p := range k.rounds {
		if p.String() == name {
			return p, true
		}
	}
	return ir.Exact, false
}

// kinds are the devices, in the order they are listed.
var kinds = []kind{
	{name: "cpu", doc: "Weft's own engine", open: func(place) (compute.Backend, error) { return engine.New("") }},
	{name: "xla:cpu", doc: "XLA on this machine's CPUs; +bf16 rounds what products multiply, as on a GPU", many: true,
		rounds: []ir.Precision{ir.BF16}, open: openXLA, list: listXLA},
	{name: "cuda", doc: "XLA on NVIDIA GPUs; +tf32 or +bf16 rounds what products multiply", many: true,
		rounds: []ir.Precision{ir.TF32, ir.BF16}, open: openCUDA, list: listCUDA},
	{name: "go", doc: "GoMLX's Go backend, for comparison", open: openGo, list: listGo},
}

var (
	mu   sync.Mutex
	open = map[string]*rl.Device{}
)

// Open returns the device of that name.
func Open(name string) (*rl.Device, error) {
	k, at, err := parse(name)
	if err != nil {
		return nil, err
	}
	name = k.name
	if k.many {
		name = k.name + ":" + at.String()
	}
	name += at.suffix()
	mu.Lock()
	defer mu.Unlock()
	if d, ok := open[name]; ok {
		return d, nil
	}
	b, err := k.open(at)
	if err != nil {
		return nil, fmt.Errorf("device %s: %w", name, err)
	}
	open[name] = rl.NewDevice(b)
	return open[name], nil
}

// Check reports whether the name is one of a device. Whether that device can be
// opened is seen when it is.
func Check(name string) error {
	_, _, err := parse(name)
	return err
}

func parse(name string) (kind, place, error) {
	plain, rounding, rounds := strings.Cut(name, "+")
	for _, k := range kinds {
		precision, ok := k.precision(rounding)
		if rounds != ok {
			continue
		}
		if k.name == plain {
			return k, place{precision: precision}, nil
		}
		rest, ok := strings.CutPrefix(plain, k.name+":")
		if !ok || !k.many {
			continue
		}
		if at, ok := numbered(rest); ok {
			at.precision = precision
			return k, at, nil
		}
	}
	// The nearest name is no help: a "gpu" is not meant to be a "cpu".
	return kind{}, place{}, fmt.Errorf("unknown device %q, there is %s", name, strings.Join(Names(), ", "))
}

// numbered returns the place of a number, or of two with a dash between them.
func numbered(text string) (at place, ok bool) {
	first, last, several := strings.Cut(text, "-")
	n, err := strconv.ParseUint(first, 10, 31)
	if err != nil || !several {
		return place{number: int(n)}, err == nil
	}
	m, err := strconv.ParseUint(last, 10, 31)
	return place{number: int(n), many: int(m-n) + 1}, err == nil && m > n
}

// Several returns the name of n devices in a row as one, from the named one on. Of one it is
// the name itself.
func Several(name string, n int) (string, error) {
	k, at, err := parse(name)
	if err != nil || n < 2 {
		return name, err
	}
	if !k.many {
		return "", fmt.Errorf("%s is a single device: a program on %d devices needs xla:cpu or cuda", name, n)
	}
	if at.many > 0 {
		return "", fmt.Errorf("device %s is %d devices already", name, at.many)
	}
	at.many = n
	out := k.name + ":" + at.String()
	return out + at.suffix(), nil
}

// Count returns how many devices a name is of.
func Count(name string) int {
	_, at, _ := parse(name)
	return max(1, at.many)
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

// Names of the devices, as users may write them.
func Names() []string {
	var out []string
	for _, k := range kinds {
		out = append(out, k.name)
		if k.many {
			out = append(out, k.name+":N", k.name+":N-M")
		}
	}
	return out
}
