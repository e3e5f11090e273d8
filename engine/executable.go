package engine

import (
	"fmt"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/rowwise"
)

// Executable is a compiled computation. Any number of goroutines may execute it at the same time;
// each uses memory of its own, which is kept for the next execution.
type Executable struct {
	backend   *Backend
	prog      *program
	recorded  *ir.Module
	names     []string
	ins, outs []shapes.Shape
	results   resultPlan
	mu        sync.Mutex
	frames    []*frame
	finalized bool
}

var _ compute.Executable = (*Executable)(nil)

func newExecutable(b *Backend, m *ir.Module, p *program) *Executable {
	e := &Executable{backend: b, prog: p, recorded: m}
	for _, v := range m.Main.Params {
		e.names = append(e.names, v.Node.Attr.(ir.Param).Name)
		e.ins = append(e.ins, v.Shape)
	}
	for _, v := range m.Main.Results {
		e.outs = append(e.outs, v.Shape)
	}
	e.results = planResults(e.outs)
	return e
}

// Module returns the computation as it was recorded, before any optimisation.
func (e *Executable) Module() *ir.Module { return e.recorded }

// Rowwise returns an error that names the operation at which rows of a compiled computation look at
// each other, nil if none does. Package rowwise says what the arguments are.
func (b *Backend) Rowwise(exe compute.Executable, rows int, params, results []int) error {
	return rowwise.Check(exe.(*Executable).recorded.Main, rows, params, results)
}

// Program prints the compiled program.
func (e *Executable) Program() string { return e.prog.String() }

// Finalize implements compute.Executable; it drops the memory kept for executions.
func (e *Executable) Finalize() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.frames, e.finalized = nil, true
}

// Inputs implements compute.Executable.
func (e *Executable) Inputs() ([]string, []shapes.Shape) { return e.names, e.ins }

// Outputs implements compute.Executable.
func (e *Executable) Outputs() []shapes.Shape { return e.outs }

func (e *Executable) take() (*frame, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.finalized || e.backend.IsFinalized() {
		return nil, fmt.Errorf("the executable or its backend has been finalized")
	}
	if n := len(e.frames); n > 0 {
		fr := e.frames[n-1]
		e.frames = e.frames[:n-1]
		return fr, nil
	}
	return e.prog.newFrame(e.backend.workers), nil
}

func (e *Executable) give(fr *frame) {
	fr.release()
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.finalized {
		e.frames = append(e.frames, fr)
	}
}

// input checks that buf can be argument i.
func (e *Executable) input(i int, buf compute.Buffer) (*Buffer, error) {
	b, ok := buf.(*Buffer)
	if !ok || b == nil || b.backend != e.backend {
		return nil, fmt.Errorf("input %d (%s) is not a buffer of this backend", i, e.names[i])
	}
	if err := b.check(); err != nil {
		return nil, fmt.Errorf("input %d (%s): %w", i, e.names[i], err)
	}
	if !b.shape.Equal(e.ins[i]) {
		return nil, fmt.Errorf("input %d (%s) is %s, want %s", i, e.names[i], b.shape, e.ins[i])
	}
	return b, nil
}

// bind makes buf argument i of an execution. Buffers of one kind share their shape, so what was
// found to fit once is known by its address.
func (e *Executable) bind(fr *frame, i int, buf compute.Buffer) error {
	b, ok := buf.(*Buffer)
	if !ok || b == nil || b.shape != fr.fits[i] || b.data == nil || b.backend != e.backend {
		var err error
		if b, err = e.input(i, buf); err != nil {
			return err
		}
		fr.fits[i] = b.shape
	}
	fr.setParam(i, b.ptr())
	return nil
}

// Execute implements compute.Executable.
func (e *Executable) Execute(inputs []compute.Buffer, donate []bool, _ compute.DeviceNum) ([]compute.Buffer, error) {
	if len(inputs) != len(e.ins) {
		return nil, fmt.Errorf("%d inputs, want %d", len(inputs), len(e.ins))
	}
	if donate != nil && len(donate) != len(inputs) {
		return nil, fmt.Errorf("%d donations for %d inputs", len(donate), len(inputs))
	}
	fr, err := e.take()
	if err != nil {
		return nil, err
	}
	defer e.give(fr)
	for i, in := range inputs {
		if err := e.bind(fr, i, in); err != nil {
			return nil, err
		}
	}
	outs := e.results.make(e.backend, &fr.stock)
	for i, buf := range outs {
		fr.setOut(i, buf.(*Buffer).ptr())
	}
	fr.run()
	for i, d := range donate {
		if d {
			if err := inputs[i].Finalize(); err != nil {
				return nil, fmt.Errorf("donated input %d: %w", i, err)
			}
		}
	}
	return outs, nil
}
