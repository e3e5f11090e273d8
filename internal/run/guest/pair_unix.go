//go:build unix

package guest

import (
	"net"
	"os"
	"syscall"
)

// Supported says that this system can run programs that runs bring.
const Supported = true

// pair returns the two ends of a connection: one for this process, one to hand to another.
func pair() (mine net.Conn, its *os.File, err error) {
	syscall.ForkLock.RLock() // no process that is started meanwhile has them
	both, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(both[0])
		syscall.CloseOnExec(both[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	file := os.NewFile(uintptr(both[0]), "worker's end")
	defer file.Close()
	its = os.NewFile(uintptr(both[1]), "program's end")
	if mine, err = net.FileConn(file); err != nil {
		_ = its.Close() // nothing was written to it
	}
	return mine, its, err
}

// killed returns the signal that ended a process; empty if none did.
func killed(s *os.ProcessState) string {
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return w.Signal().String()
	}
	return ""
}

// Inherited returns what a program was born with: its connection to the worker, and the listener of
// its data plane.
func Inherited() (net.Conn, net.Listener, error) {
	line, data := os.NewFile(3, "worker"), os.NewFile(4, "data plane")
	defer line.Close() // what is made of them has numbers of its own, which no child inherits
	defer data.Close()
	conn, err := net.FileConn(line)
	if err != nil {
		return nil, nil, err
	}
	l, err := net.FileListener(data)
	return conn, l, err
}

// InheritedStore returns the connection by which a program reaches its store, if it was born with
// one (Setup.Remote).
func InheritedStore() (net.Conn, error) {
	f := os.NewFile(5, "store")
	defer f.Close()
	return net.FileConn(f)
}
