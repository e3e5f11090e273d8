package mesh

import (
	"net"
	"slices"
	"syscall"
)

// limited is a listener with at most so many connections open; others are sent away. It
// gives connections as they are, not in something that counts them: gRPC reads those of
// the kernel without a buffer between.
type limited struct {
	net.Listener
	most int
	open []net.Conn // and some that were closed since
}

// Accept implements net.Listener, for one goroutine.
func (l *limited) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if len(l.open) >= l.most {
			l.open = slices.DeleteFunc(l.open, isClosed)
		}
		if len(l.open) < l.most {
			l.open = append(l.open, c)
			return c, nil
		}
		_ = c.Close() // nothing was said on it
	}
}

// isClosed reports whether this process has closed a connection.
func isClosed(c net.Conn) bool {
	raw, err := c.(syscall.Conn).SyscallConn()
	return err != nil || raw.Control(func(uintptr) {}) != nil
}
