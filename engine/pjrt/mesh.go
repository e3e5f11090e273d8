//go:build xla

package pjrt

import (
	"fmt"
	"slices"
	"sync"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/record"
)

// Mesh is several devices of a backend as one: its buffers are whole tensors, wherever their parts
// lie. A computation that is shared out among devices (DistributedAutoSharding) runs on all of
// them, any other on the first.
type Mesh struct {
	*Backend
	devices int
	one     sync.Mutex // held by what runs on all: two that begin in another order on each device would wait for each other
}

var _ compute.Backend = (*Mesh)(nil)

// NewMesh makes a mesh of the first n devices of a backend, which the mesh then owns.
func NewMesh(b *Backend, n int) (*Mesh, error) {
	if have := b.NumDevices(); n < 1 || n > have {
		return nil, fmt.Errorf("%d devices are asked for, and there are %d", n, have)
	}
	return &Mesh{Backend: b, devices: n}, nil
}

// Parts returns among how many devices a computation can be shared out.
func (m *Mesh) Parts() int { return m.devices }

// NumDevices implements compute.Backend.
func (m *Mesh) NumDevices() int { return min(m.devices, m.Backend.NumDevices()) }

// Description implements compute.Backend.
func (m *Mesh) Description() string {
	return fmt.Sprintf("%d devices of %s", m.devices, m.Backend.Description())
}

// Builder implements compute.Backend.
func (m *Mesh) Builder(name string) compute.Builder {
	return record.New(name, func(r *ir.Module) (compute.Executable, error) {
		e, err := m.compile(r)
		if err != nil {
			return nil, err
		}
		split := ir.Split{Devices: 1, Params: slices.Repeat([]int{ir.Whole}, len(e.ins)), Results: slices.Repeat([]int{ir.Whole}, len(e.outs))}
		if r.Split != nil {
			split = *r.Split
		}
		if _, err := e.variant(form{}); err != nil { // there is one form of call
			return nil, err
		}
		return &meshExecutable{e, m, split}, nil
	})
}

// BufferFromFlatData implements compute.DataInterface: on the first device, until a computation
// wants it elsewhere.
func (m *Mesh) BufferFromFlatData(_ compute.DeviceNum, flat any, shape shapes.Shape) (compute.Buffer, error) {
	b, err := m.Backend.BufferFromFlatData(0, flat, shape)
	if err != nil {
		return nil, err
	}
	return &MeshBuffer{mesh: m, shape: shape, axis: ir.Whole, parts: []*Buffer{b.(*Buffer)}}, nil
}

// ReadAll does what ToFlatData does of several buffers.
func (m *Mesh) ReadAll(bufs []compute.Buffer, flats []any) error {
	for i, b := range bufs {
		if err := b.ToFlatData(flats[i]); err != nil {
			return err
		}
	}
	return nil
}

// meshExecutable is a computation on whole tensors. It has the program and is not one: what
// programs can do besides is with buffers of one device.
type meshExecutable struct {
	of    *Executable
	mesh  *Mesh
	split ir.Split // among one device, where nothing is cut
}

// Finalize implements compute.Executable.
func (e *meshExecutable) Finalize() { e.of.Finalize() }

// Inputs implements compute.Executable.
func (e *meshExecutable) Inputs() ([]string, []shapes.Shape) { return e.of.Inputs() }

// Outputs implements compute.Executable.
func (e *meshExecutable) Outputs() []shapes.Shape { return e.of.Outputs() }

// Execute implements compute.Executable. What is donated is freed, but its memory is not used
// again.
func (e *meshExecutable) Execute(inputs []compute.Buffer, donate []bool, _ compute.DeviceNum) ([]compute.Buffer, error) {
	if len(inputs) != len(e.of.ins) || donate != nil && len(donate) != len(inputs) {
		return nil, fmt.Errorf("%d inputs and %d donations, want %d", len(inputs), len(donate), len(e.of.ins))
	}
	n := e.split.Devices
	all := make([]compute.Buffer, n*len(inputs))
	for i, in := range inputs {
		b, ok := in.(*MeshBuffer)
		if !ok || b == nil || b.mesh != e.mesh {
			return nil, fmt.Errorf("input %d (%s) is not a buffer of these devices", i, e.of.names[i])
		}
		parts, err := b.laid(e.split.Params[i], n)
		if err != nil {
			return nil, fmt.Errorf("input %d (%s): %w", i, e.of.names[i], err)
		}
		for d, p := range parts {
			all[d*len(inputs)+i] = p
		}
	}
	outs, err := e.run(all, n)
	if err != nil {
		return nil, err
	}
	for i, d := range donate {
		if d {
			if err := inputs[i].Finalize(); err != nil {
				return nil, err
			}
		}
	}
	return e.gathered(outs, n), nil
}

// run executes the program on n devices. One that runs on all of them is over when it returns,
// since others that want the same threads of a CPU would make its collectives wait.
func (e *meshExecutable) run(inputs []compute.Buffer, n int) ([]compute.Buffer, error) {
	if n == 1 {
		return e.of.Execute(inputs, nil, 0)
	}
	e.mesh.one.Lock()
	defer e.mesh.one.Unlock()
	outs, err := e.of.Execute(inputs, nil, 0)
	if err != nil {
		return nil, err
	}
	for d := range n {
		if err := wait(outs[d*len(e.of.outs) : (d+1)*len(e.of.outs)]); err != nil {
			return nil, err
		}
	}
	return outs, nil
}

// wait waits for the outputs of a device, of which any is there when all are: the smallest is read.
func wait(outs []compute.Buffer) error {
	var least *Buffer
	for _, o := range outs {
		if b := o.(*Buffer); b.shape.Size() > 0 && (least == nil || b.shape.ByteSize() < least.shape.ByteSize()) {
			least = b
		}
	}
	if least == nil {
		return nil
	}
	return least.readBytes(make([]byte, least.shape.ByteSize()))
}

// gathered makes tensors of the devices' parts.
func (e *meshExecutable) gathered(outs []compute.Buffer, n int) []compute.Buffer {
	results := make([]compute.Buffer, len(e.of.outs))
	for i, shape := range e.of.outs {
		b := &MeshBuffer{mesh: e.mesh, shape: shape, axis: e.split.Results[i]}
		for d := range n {
			b.parts = append(b.parts, outs[d*len(e.of.outs)+i].(*Buffer))
		}
		results[i] = b
	}
	return results
}
