//go:build xla

package pjrt

import (
	"fmt"
	"sync/atomic"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/pjrt"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/stablehlo"
)

// packing is inputs that a call sends together: each transfer costs about as much as a small
// execution.
type packing struct {
	sent   []int
	layout stablehlo.Layout
	spare  atomic.Pointer[[]byte] // the memory that they are put together in where no slot is free
}

// Reads reports whether the computation reads an input.
func (e *Executable) Reads(input int) bool { return e.live[e.recorded.Main.Params[input].Node] }

// Prepare compiles the program for calls that send the given inputs, or none, from the host.
func (e *Executable) Prepare(sent []int) error {
	_, err := e.variant(form{sent: sent})
	return err
}

// ExecuteFrom does what Execute does with inputs that are still the host's: where host has a slice,
// of the input's type, inputs has nothing. They go to the device in one transfer; for those that
// the computation does not read anything will do. The slices are the caller's again when the call
// is over. Each combination of such inputs is a program of its own, which Prepare compiles, or else
// the first call.
func (e *Executable) ExecuteFrom(inputs []compute.Buffer, host []any, device compute.DeviceNum) ([]compute.Buffer, error) {
	if len(inputs) != len(e.ins) || len(host) != len(e.ins) || e.replicas() > 1 {
		return nil, fmt.Errorf("%d inputs and %d of the host, want %d of one device", len(inputs), len(host), len(e.ins))
	}
	p := e.packed(host)
	x, err := e.variant(form{sent: p.sent})
	if err != nil {
		return nil, err
	}
	raw := make([]*pjrt.Buffer, 0, len(inputs)+1)
	for i, in := range inputs {
		if host[i] != nil {
			continue
		}
		b, err := e.input(i, in)
		if err != nil {
			return nil, err
		}
		held, err := b.held()
		if err != nil {
			return nil, fmt.Errorf("input %d (%s): %w", i, e.names[i], err)
		}
		raw = append(raw, held)
	}
	if p.layout.Len > 0 {
		sent, err := e.send(p, host, device)
		if err != nil {
			return nil, err
		}
		defer sent.Finalize()
		raw = append(raw, sent.raw)
	}
	outs, err := e.results(x.Execute(raw...), device, runAhead)
	if err != nil {
		return nil, err
	}
	results := make([]compute.Buffer, len(outs))
	for i, o := range outs {
		results[i] = o
	}
	return results, nil
}

// packed returns how the host's inputs are sent.
func (e *Executable) packed(host []any) *packing {
	if p := e.packing.Load(); p != nil && p.is(host) {
		return p
	}
	p := &packing{}
	for i, flat := range host {
		if flat != nil {
			p.sent = append(p.sent, i)
		}
	}
	p.layout = stablehlo.Words(e.recorded.Main, p.sent)
	e.packing.Store(p)
	return p
}

func (p *packing) is(host []any) bool {
	n := 0
	for i, flat := range host {
		if flat != nil {
			if n == len(p.sent) || p.sent[n] != i {
				return false
			}
			n++
		}
	}
	return n == len(p.sent)
}

// send puts the host's inputs together and brings them to the device.
func (e *Executable) send(p *packing, host []any, device compute.DeviceNum) (*Buffer, error) {
	shape := shapes.Make(dtypes.Uint32, p.layout.Len)
	x := e.backend.staging.take(4 * p.layout.Len)
	if x != nil {
		if err := e.pack(p, host, x.data); err != nil {
			x.give()
			return nil, err
		}
		return e.backend.lend(x, device, shape)
	}
	spare := p.spare.Swap(nil)
	if spare == nil {
		spare = new([]byte)
		*spare = make([]byte, 4*p.layout.Len)
	}
	defer p.spare.Store(spare)
	if err := e.pack(p, host, *spare); err != nil {
		return nil, err
	}
	return e.backend.transfer(device, *spare, shape)
}

// pack puts the host's inputs together.
func (e *Executable) pack(p *packing, host []any, to []byte) error {
	for j, i := range p.layout.Input {
		if err := checkFlat(host[i], e.ins[i]); err != nil {
			return fmt.Errorf("input %d (%s): %w", i, e.names[i], err)
		}
		copy(to[4*p.layout.At[j]:], ir.BytesOf(host[i]))
	}
	return nil
}
