//go:build unix && !linux

package gym

import (
	"os"
	"syscall"
)

// memory returns a file whose name is gone at once: it goes with the last process
// that has it.
func memory() (*os.File, error) {
	f, err := os.CreateTemp("", "weft-")
	if err != nil {
		return nil, err
	}
	return f, os.Remove(f.Name())
}

// eager is none: systems other than Linux have no call to yield without libc.
const eager = 0

func yield() {}

// attributes put a worker into a group of its own, out of reach of an interrupt
// that is meant for us. It ends when its pipe does.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
