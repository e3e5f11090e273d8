package engine

import (
	"fmt"
	"unsafe"

	"github.com/gomlx/compute"
)

// Call is an executable bound to its inputs and outputs: the lean way to run the same computation
// again and again. The caller changes the inputs in place and reads the outputs in place; Run
// allocates nothing.
//
// A Call is for one goroutine at a time; several Calls of one executable may run at once.
type Call struct {
	exec    *Executable
	fr      *frame
	inputs  []*Buffer
	outputs []*Buffer
}

// Bind prepares a call. With nil outputs, it makes buffers for them. No output may share memory
// with an input or with another output.
func (e *Executable) Bind(inputs, outputs []compute.Buffer) (*Call, error) {
	if len(inputs) != len(e.ins) {
		return nil, fmt.Errorf("%d inputs, want %d", len(inputs), len(e.ins))
	}
	c := &Call{exec: e}
	used := map[unsafe.Pointer]string{}
	for i, in := range inputs {
		buf, err := e.input(i, in)
		if err != nil {
			return nil, err
		}
		c.inputs = append(c.inputs, buf)
		used[buf.ptr()] = fmt.Sprintf("input %d", i)
	}
	if outputs == nil {
		for i := range e.outs {
			outputs = append(outputs, e.backend.newBuffer(&e.outs[i]))
		}
	}
	if len(outputs) != len(e.outs) {
		return nil, fmt.Errorf("%d outputs, want %d", len(outputs), len(e.outs))
	}
	for i, o := range outputs {
		buf, ok := o.(*Buffer)
		if !ok || buf.check() != nil || !buf.shape.Equal(e.outs[i]) {
			return nil, fmt.Errorf("output %d is not a buffer of this backend of shape %s", i, e.outs[i])
		}
		if who, taken := used[buf.ptr()]; taken {
			return nil, fmt.Errorf("output %d shares the memory of %s", i, who)
		}
		used[buf.ptr()] = fmt.Sprintf("output %d", i)
		c.outputs = append(c.outputs, buf)
	}
	var err error
	c.fr, err = e.take()
	return c, err
}

// Outputs returns the buffers that Run writes.
func (c *Call) Outputs() []compute.Buffer {
	outs := make([]compute.Buffer, len(c.outputs))
	for i, b := range c.outputs {
		outs[i] = b
	}
	return outs
}

// SetInput binds another buffer as input i.
func (c *Call) SetInput(i int, in compute.Buffer) error {
	if i < 0 || i >= len(c.inputs) {
		return fmt.Errorf("input %d of %d", i, len(c.inputs))
	}
	buf, err := c.exec.input(i, in)
	if err != nil {
		return err
	}
	for j, o := range c.outputs {
		if o.ptr() == buf.ptr() {
			return fmt.Errorf("input %d shares the memory of output %d", i, j)
		}
	}
	c.inputs[i] = buf
	return nil
}

// Swap exchanges the buffers of input i and output j, which must have the same shape: what the last
// run computed is what the next one reads. A training loop carries its weights this way without
// copying them.
func (c *Call) Swap(i, j int) error {
	if i < 0 || i >= len(c.inputs) || j < 0 || j >= len(c.outputs) {
		return fmt.Errorf("input %d and output %d of %d and %d", i, j, len(c.inputs), len(c.outputs))
	}
	if in, out := c.inputs[i].shape, c.outputs[j].shape; !in.Equal(*out) {
		return fmt.Errorf("input %d is %s, output %d is %s", i, in, j, out)
	}
	for k, b := range c.inputs {
		if k != i && b == c.inputs[i] {
			return fmt.Errorf("inputs %d and %d are the same buffer", i, k)
		}
	}
	c.inputs[i], c.outputs[j] = c.outputs[j], c.inputs[i]
	return nil
}

// Run executes the computation on what the inputs hold now and overwrites the outputs.
func (c *Call) Run() error {
	if c.fr == nil {
		return fmt.Errorf("the call has been closed")
	}
	for i, b := range c.inputs {
		if err := b.check(); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
		c.fr.setParam(i, b.ptr())
	}
	for i, b := range c.outputs {
		if err := b.check(); err != nil {
			return fmt.Errorf("output %d: %w", i, err)
		}
		c.fr.setOut(i, b.ptr())
	}
	c.fr.run()
	return nil
}

// Close gives the call's working memory back to the executable. The buffers stay the caller's.
func (c *Call) Close() {
	if c.fr != nil {
		c.exec.give(c.fr)
		c.fr = nil
	}
}
