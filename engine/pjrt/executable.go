//go:build xla

package pjrt

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/pjrt"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/stablehlo"
)

// Executable is a compiled computation. Any number of goroutines may execute it at the same time.
type Executable struct {
	backend   *Backend
	recorded  *ir.Module
	names     []string
	ins, outs []shapes.Shape
	inParts   []shapes.Shape // shapes of one device's part of the inputs: all of them, unless they are sharded
	outParts  []shapes.Shape
	devices   []int // devices of the replicas or parts; nil if the caller chooses one device
	live      map[*ir.Node]bool

	mu       sync.Mutex
	variants map[string]*pjrt.LoadedExecutable // compiled variants, by form; nil once finalised

	packing atomic.Pointer[packing] // layout of the inputs that were sent last
}

// form describes the calls of a program, which XLA wants to know beforehand.
type form struct {
	donate []Carry
	sent   []int
}

// key names a form. On the way of every call it is the empty one's.
func (f form) key() string {
	if f.donate == nil && f.sent == nil {
		return ""
	}
	return fmt.Sprint(f)
}

var _ compute.Executable = (*Executable)(nil)

func (b *Backend) compile(m *ir.Module) (*Executable, error) {
	if b.IsFinalized() {
		return nil, errFinalized
	}
	e := &Executable{backend: b, recorded: m, live: m.Main.Live(), variants: map[string]*pjrt.LoadedExecutable{}}
	for _, v := range m.Main.Params {
		e.names = append(e.names, v.Node.Attr.(ir.Param).Name)
		e.ins = append(e.ins, v.Shape)
	}
	for _, v := range m.Main.Results {
		e.outs = append(e.outs, v.Shape)
	}
	e.inParts, e.outParts = e.ins, e.outs
	if s := m.Split; s != nil {
		e.inParts, e.outParts = parts(e.ins, s.Params, s.Devices), parts(e.outs, s.Results, s.Devices)
	}
	return e, e.assign()
}

// parts returns the shapes of what one of n devices has of values that are cut along axes.
func parts(whole []shapes.Shape, axes []int, n int) []shapes.Shape {
	out := make([]shapes.Shape, len(whole))
	for i, s := range whole {
		out[i] = s.Clone()
		if axes[i] != ir.Whole {
			out[i].Dimensions[axes[i]] /= n
		}
	}
	return out
}

// assign finds the devices of the replicas or parts: those chosen, or the first ones.
func (e *Executable) assign() error {
	m := e.recorded
	if m.Replicas == 0 && m.Split == nil {
		if len(m.Devices) > 0 && m.Devices[0] != 0 {
			return fmt.Errorf("computation %q: the device is chosen when it runs: %w", m.Name, compute.ErrNotImplemented)
		}
		return nil
	}
	e.devices = m.Devices
	for d := len(e.devices); d < m.Over(); d++ {
		e.devices = append(e.devices, d)
	}
	for _, d := range e.devices {
		if _, err := e.backend.device(compute.DeviceNum(d)); err != nil {
			return fmt.Errorf("computation %q on %d devices: %w", m.Name, m.Over(), err)
		}
	}
	return nil
}

// replicas returns how many times the inputs are given, device after device.
func (e *Executable) replicas() int { return e.recorded.Over() }

// Module returns the computation as it was recorded.
func (e *Executable) Module() *ir.Module { return e.recorded }

// Program returns the StableHLO of the computation.
func (e *Executable) Program() (string, error) { return e.text(form{}) }

func (e *Executable) text(f form) (string, error) {
	o := stablehlo.Options{Precision: e.backend.options.Precision, Spread: e.backend.options.spread(), Donate: map[int]int{}, Sent: f.sent}
	o.Kernels = e.backend.Kernels() && e.recorded.Split == nil // XLA cannot take a kernel of ours apart
	if o.Kernels {
		o.Shared = sharedBy(e.backend.kind)
	}
	for _, c := range f.donate {
		o.Donate[c.Input] = c.Output
	}
	return stablehlo.Text(e.recorded, o)
}

// variant returns the program for calls of a form, compiled on first use.
func (e *Executable) variant(f form) (*pjrt.LoadedExecutable, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.variants == nil || e.backend.IsFinalized() {
		return nil, fmt.Errorf("the executable or its backend has been finalized")
	}
	key := f.key()
	if x := e.variants[key]; x != nil {
		return x, nil
	}
	text, err := e.text(f)
	if err != nil {
		return nil, err
	}
	defer e.backend.compiling.begin(e.recorded.Name)()
	x, err := e.compiler().WithStableHLO([]byte(text)).Done()
	if err != nil {
		return nil, fmt.Errorf("computation %q: %w", e.recorded.Name, plain(err))
	}
	e.variants[key] = x
	return x, nil
}

// compiler returns set up for the devices that the computation is for: one that is chosen when it
// runs, or fixed ones.
func (e *Executable) compiler() *pjrt.CompileConfig {
	c := e.backend.client.Compile()
	switch {
	case e.recorded.Split != nil:
		return c.WithShardy(e.recorded.Split.Devices).WithDeviceAssignment(e.devices)
	case e.recorded.Replicas > 0:
		return c.WithSPMD(e.recorded.Replicas).WithDeviceAssignment(e.devices)
	}
	return c
}

// Finalize implements compute.Executable.
func (e *Executable) Finalize() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, x := range e.variants {
		_ = x.Destroy() // its only failure is to have been destroyed before
	}
	e.variants = nil
}

// Inputs implements compute.Executable.
func (e *Executable) Inputs() ([]string, []shapes.Shape) { return e.names, e.ins }

// Outputs implements compute.Executable.
func (e *Executable) Outputs() []shapes.Shape { return e.outs }

// input checks that buf can be argument i.
func (e *Executable) input(i int, buf compute.Buffer) (*Buffer, error) {
	i %= max(len(e.ins), 1)
	b, ok := buf.(*Buffer)
	if !ok || b == nil || b.backend != e.backend {
		return nil, fmt.Errorf("input %d (%s) is not a buffer of this backend", i, e.names[i])
	}
	if !b.shape.Equal(e.inParts[i]) {
		return nil, fmt.Errorf("input %d (%s) is %s, want %s", i, e.names[i], b.shape, e.inParts[i])
	}
	return b, nil
}

// Execute implements compute.Executable. It does not wait for the end: whoever reads an output
// does, and has the error if there was one. Inputs that are donated give their memory to outputs of
// the same shape; the first execution that donates in a new way compiles the program once more. A
// computation on several devices takes the inputs of one after those of the other, parts where they
// are shared out, and gives the outputs likewise.
func (e *Executable) Execute(inputs []compute.Buffer, donate []bool, device compute.DeviceNum) ([]compute.Buffer, error) {
	if want := len(e.ins) * e.replicas(); len(inputs) != want {
		return nil, fmt.Errorf("%d inputs, want %d", len(inputs), want)
	}
	if donate != nil && len(donate) != len(inputs) {
		return nil, fmt.Errorf("%d donations for %d inputs", len(donate), len(inputs))
	}
	bufs := make([]*Buffer, len(inputs))
	for i, in := range inputs {
		var err error
		if bufs[i], err = e.input(i, in); err != nil {
			return nil, err
		}
	}
	outs, err := e.run(bufs, e.match(bufs, donate), device, runAhead)
	if err != nil {
		return nil, err
	}
	for i, d := range donate {
		if d {
			if err := bufs[i].Finalize(); err != nil {
				return nil, fmt.Errorf("donated input %d: %w", i, err)
			}
		}
	}
	results := make([]compute.Buffer, len(outs))
	for i, o := range outs {
		results[i] = o
	}
	return results, nil
}

// match pairs every donated input with the first free output like it. What is passed twice is still
// needed.
func (e *Executable) match(inputs []*Buffer, donate []bool) (pairs []Carry) {
	if e.replicas() > 1 {
		return nil // each device's could be given away or not; a Call carries all of them
	}
	taken := make([]bool, len(e.outs))
	for i, d := range donate {
		if !d || slices.Index(inputs, inputs[i]) != i || slices.Contains(inputs[i+1:], inputs[i]) {
			continue
		}
		for j, s := range e.outs {
			if !taken[j] && s.Equal(e.ins[i]) {
				taken[j] = true
				pairs = append(pairs, Carry{i, j})
				break
			}
		}
	}
	return pairs
}

// run executes the program; the inputs of pairs are consumed, those of every replica. how is
// runAhead or atOnce.
func (e *Executable) run(inputs []*Buffer, pairs []Carry, device compute.DeviceNum, how func(func())) ([]*Buffer, error) {
	x, err := e.variant(form{donate: pairs})
	if err != nil {
		return nil, err
	}
	raw := make([]*pjrt.Buffer, len(inputs))
	for i, b := range inputs {
		if raw[i], err = b.held(); err != nil {
			return nil, fmt.Errorf("input %d (%s): %w", i, e.names[i%len(e.ins)], err)
		}
	}
	call := x.Execute(raw...)
	for _, p := range pairs {
		for i := p.Input; i < len(inputs); i += len(e.ins) {
			call = call.Donate(i)
			if _, err := inputs[i].take(); err != nil {
				return nil, fmt.Errorf("input %d (%s): %w", i, e.names[p.Input], err)
			}
		}
	}
	return e.results(call, device, how)
}

// results makes a call and gives its outputs.
func (e *Executable) results(call *pjrt.ExecutionConfig, device compute.DeviceNum, how func(func())) ([]*Buffer, error) {
	if e.devices == nil {
		call = call.OnDeviceByNum(int(device))
	}
	var outs []*pjrt.Buffer
	var err error
	how(func() { outs, err = call.Done() })
	if err != nil {
		return nil, fmt.Errorf("computation %q: %w", e.recorded.Name, plain(err))
	}
	results := make([]*Buffer, len(outs))
	for i, o := range outs {
		if e.devices != nil {
			device = compute.DeviceNum(e.devices[i/len(e.outs)])
		}
		results[i] = e.backend.newBuffer(o, e.outParts[i%len(e.outs)], device)
	}
	return results, nil
}
