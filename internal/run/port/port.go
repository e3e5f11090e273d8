package port

import (
	"math/rand/v2"
	"net"
	"strconv"
)

// Kernels give ports from 32768 or 49152 on to whoever connects or does not mind. One of those is
// somebody else's soon after the process that listened there was killed, and who is started in its
// place cannot listen.
const lowest, above = 15000, 30000

// Lasting returns a free loopback address whose port the kernel does not assign to other sockets by
// itself. If all such ports are taken, it returns port 0, so that the kernel chooses.
func Lasting() string { return LastingAt("127.0.0.1") }

// LastingAt does the same for another address of this machine.
func LastingAt(host string) string {
	for range 1000 {
		at := net.JoinHostPort(host, strconv.Itoa(lowest+rand.IntN(above-lowest)))
		if l, err := net.Listen("tcp", at); err == nil {
			_ = l.Close() // nobody has connected
			return at
		}
	}
	return net.JoinHostPort(host, "0")
}
