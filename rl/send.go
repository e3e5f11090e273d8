package rl

import "github.com/gomlx/compute"

// Where a device has memory of its own, a call that draws brings numbers along from the
// host, and what else it reads of there, such as the observation of environments that
// stand on the CPU, goes with them: one transfer, which is part of the call. Acting is
// such a call, at every step. Other calls read larger batches, which stay on the device
// for the next reader.
//
// Each set of inputs that are sent is a program of its own, and XLA may round
// differently in each. So what is sent follows from where a value is at home, not from
// where it has been: a run that is resumed makes the calls that it would have made.

// sender is an executable that takes inputs from the host.
type sender interface {
	// Reads reports whether an input matters.
	Reads(input int) bool
	// Prepare compiles it for calls that send the given inputs.
	Prepare(sent []int) error
	// ExecuteFrom is Execute with inputs of the host's, which are nil among the others. For
	// an input that is not read anything will do.
	ExecuteFrom(inputs []compute.Buffer, host []any, device compute.DeviceNum) ([]compute.Buffer, error)
}

// sendMost is up to how many bytes a value is sent with each call that reads it. A
// larger one is brought to the device once.
const sendMost = 1 << 16

// unread stands for an input that does not matter.
type unread struct{}

// sends reports whether input at is sent, being t.
func (p *program) sends(at int, t Tensor) bool {
	switch {
	case p.send == nil:
		return false
	case p.unread[at]:
		return true
	case len(p.draws) == 0 || t.val.dev == nil || t.val.dev == p.dev || !t.val.dev.shared:
		return false
	}
	n := t.Shape().ByteSize()
	return n > 0 && n <= sendMost
}

// sendsDraw reports the same of a draw.
func (p *program) sendsDraw(d draw) bool {
	return p.send != nil && p.shapes[d.handle].ByteSize() <= sendMost
}

// prepare compiles the program for calls like the first one.
func (p *program) prepare(in []Tensor) error {
	var ok bool
	if p.send, ok = p.exe.(sender); !ok {
		return nil
	}
	p.unread = make([]bool, len(p.shapes))
	for i := range p.unread {
		p.unread[i] = !p.send.Reads(i)
	}
	sent := make([]bool, len(p.shapes))
	for i, t := range in {
		if at := p.slots[i]; at >= 0 {
			if t.val.unknown() { // where it is at home is seen when it comes
				return nil
			}
			sent[at] = p.sends(at, t)
		}
	}
	for _, d := range p.draws {
		sent[d.handle] = p.sendsDraw(d)
	}
	var list []int
	for at, yes := range sent {
		if yes {
			list = append(list, at)
		}
	}
	return p.send.Prepare(list)
}

// host returns what is sent for input at, being t.
func (p *program) host(at int, t Tensor) any {
	if p.unread[at] {
		return unread{}
	}
	return t.val.memory()
}

// execute makes the call; sent is whether args has something of the host's.
func (p *program) execute(args *arguments, sent bool) ([]compute.Buffer, error) {
	if !sent {
		return p.exe.Execute(args.bufs, nil, 0)
	}
	return p.send.ExecuteFrom(args.bufs, args.host, 0)
}

// unknown reports whether the value is a shape alone.
func (v *value) unknown() bool { return v.flat == nil && v.buf == nil && v.parts == nil }
