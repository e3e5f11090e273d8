//go:build xla

package pjrt

import (
	"fmt"

	"github.com/gomlx/compute"
)

// Carry says that what a run leaves in an output is an input of the next run, in the same memory.
type Carry struct{ Input, Output int }

// Call is an executable bound to its inputs: the way to run the same computation again and again.
// Everything stays on the device; reading an output copies that output and nothing else. Run waits
// for the device, Start does not.
//
// A Call is for one goroutine at a time; several Calls of one executable may run at once.
type Call struct {
	exec    *Executable
	inputs  []*Buffer
	outputs []*Buffer
	carry   []Carry
	pending chan error // result of the run that was started; nil if none was
	closed  bool
}

// Bind prepares a call; inputs, outputs and what is carried are those of every device, as Execute
// has them. The buffers of carried inputs become the call's own: each run consumes them.
func (e *Executable) Bind(inputs []compute.Buffer, carry ...Carry) (*Call, error) {
	if want := len(e.ins) * e.replicas(); len(inputs) != want {
		return nil, fmt.Errorf("%d inputs, want %d", len(inputs), want)
	}
	if err := e.checkCarry(carry); err != nil {
		return nil, err
	}
	c := &Call{exec: e, inputs: make([]*Buffer, len(inputs)), carry: carry}
	for i, in := range inputs {
		if err := c.SetInput(i, in); err != nil {
			return nil, err
		}
	}
	_, err := e.variant(form{donate: carry})
	return c, err
}

func (e *Executable) checkCarry(carry []Carry) error {
	in, out := map[int]bool{}, map[int]bool{}
	for _, c := range carry {
		switch {
		case c.Input < 0 || c.Input >= len(e.ins) || c.Output < 0 || c.Output >= len(e.outs):
			return fmt.Errorf("carry of output %d to input %d: there are %d and %d", c.Output, c.Input, len(e.outs), len(e.ins))
		case in[c.Input] || out[c.Output]:
			return fmt.Errorf("carry of output %d to input %d: one of them is carried already", c.Output, c.Input)
		case !e.inParts[c.Input].Equal(e.outParts[c.Output]):
			return fmt.Errorf("input %d is %s, output %d is %s", c.Input, e.inParts[c.Input], c.Output, e.outParts[c.Output])
		}
		in[c.Input], out[c.Output] = true, true
	}
	return nil
}

// SetInput binds another buffer as input i. Of a carried input it is the state to go on from, and
// becomes the call's.
func (c *Call) SetInput(i int, in compute.Buffer) error {
	if err := c.Wait(); err != nil {
		return err
	}
	if i < 0 || i >= len(c.inputs) {
		return fmt.Errorf("input %d of %d", i, len(c.inputs))
	}
	buf, err := c.exec.input(i, in)
	if err != nil {
		return err
	}
	c.inputs[i] = buf
	return nil
}

// Run executes the computation and waits for it. The outputs of the run before are freed, but for
// what is carried.
func (c *Call) Run() error {
	if err := c.Wait(); err != nil {
		return err
	}
	return c.run()
}

// Start begins a run that [Call.Wait] ends. One that has not ended is waited for, and its error is
// that of this one.
func (c *Call) Start() {
	err := c.Wait()
	done := make(chan error, 1)
	c.pending = done
	if err != nil {
		done <- err
		return
	}
	go func() { done <- c.run() }()
}

// Wait waits for the run that was started, if there is one.
func (c *Call) Wait() error {
	if c.pending == nil {
		return nil
	}
	err := <-c.pending
	c.pending = nil
	return err
}

func (c *Call) run() error {
	if c.closed {
		return fmt.Errorf("the call has been closed")
	}
	last := c.outputs
	outs, err := c.exec.run(c.inputs, c.carry, c.inputsDevice(), atOnce)
	if err != nil {
		return err
	}
	for _, o := range last { // those carried are empty by now
		if err := o.Finalize(); err != nil {
			return err
		}
	}
	c.outputs = outs
	for _, p := range c.carry {
		for r := range c.exec.replicas() {
			c.inputs[r*len(c.exec.ins)+p.Input] = outs[r*len(c.exec.outs)+p.Output]
		}
	}
	return nil
}

func (c *Call) inputsDevice() compute.DeviceNum {
	if len(c.inputs) == 0 {
		return 0
	}
	return c.inputs[0].num
}

// Outputs returns what the last run left. It is the call's, and the next run takes it.
func (c *Call) Outputs() []compute.Buffer {
	outs := make([]compute.Buffer, len(c.outputs))
	for i, b := range c.outputs {
		outs[i] = b
	}
	return outs
}

// Close waits for what was started and lets go of the buffers; inputs that are not carried stay the
// caller's.
func (c *Call) Close() error {
	err := c.Wait()
	for _, o := range c.outputs {
		if e := o.Finalize(); err == nil {
			err = e
		}
	}
	c.inputs, c.outputs, c.closed = nil, nil, true
	return err
}
