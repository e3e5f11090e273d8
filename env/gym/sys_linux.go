package gym

import (
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// memory returns a file without a name: it is gone with the last process that has it.
func memory() (*os.File, error) {
	fd, err := unix.MemfdCreate("weft", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("shared memory: %w", err)
	}
	return os.NewFile(uintptr(fd), "weft"), nil
}

// eager is how long an answer is looked for before its worker is waited for.
const eager = 60 * time.Microsecond

// yield lets others run on this core.
func yield() { _, _, _ = unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

// attributes put a worker into a group of its own, out of reach of an interrupt
// that is meant for us, and have it killed when we are.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
