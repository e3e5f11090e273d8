//go:build !linux

package ring

import (
	"errors"
	"net"
)

// Pipe is one end; here there are none.
type Pipe struct{}

// Probe reports what keeps this process from making pipes.
func Probe() error { return errors.ErrUnsupported }

// Offer makes a pipe where there can be one.
func Offer(*net.UnixConn) (*Pipe, error) { return nil, errors.ErrUnsupported }

// Take opens the end of a pipe that a peer offers.
func Take(*net.UnixConn) (*Pipe, error) { return nil, errors.ErrUnsupported }

func (*Pipe) Read([]byte) (int, error)  { return 0, errors.ErrUnsupported }
func (*Pipe) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }

// Flush lets the other side know of all that was written.
func (*Pipe) Flush() error { return errors.ErrUnsupported }

// Busy lets the other side know whether this process computes.
func (*Pipe) Busy(bool) {}

// Rouse takes the other side's process for busy.
func (*Pipe) Rouse() {}

// OtherBusy reports whether the other side's process computes.
func (*Pipe) OtherBusy() bool { return false }

// Close ends the pipe.
func (*Pipe) Close() error { return nil }
