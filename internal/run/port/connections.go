// Package port helps processes to listen: with so many connections at most, and at addresses that
// one process after another can have.
package port

import (
	"net"
	"slices"
	"syscall"
)

// Most is how many connections a process of a cluster has open at once, at most.
const Most = 4096

// Connections returns a listener with at most so many connections open; others are sent away.
func Connections(l net.Listener, most int) net.Listener { return &limited{Listener: l, most: most} }

// limited is a listener with at most so many connections open; others are sent away. It
// gives connections as they are, not in something that counts them: gRPC reads those of
// the kernel without a buffer between.
type limited struct {
	net.Listener
	most int
	open []net.Conn // open connections, and some that were closed since
}

// Accept implements net.Listener, for one goroutine.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if len(l.open) >= l.most {
			l.open = slices.DeleteFunc(l.open, Closed)
		}
		if len(l.open) < l.most {
			l.open = append(l.open, c)
			return c, nil
		}
		_ = c.Close() // nothing was said on it
	}
}

// Closed reports whether this process has closed a connection.
func Closed(c net.Conn) bool {
	kernel, ok := c.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := kernel.SyscallConn()
	return err != nil || raw.Control(func(uintptr) {}) != nil
}
