package app

import (
	"os/exec"
	"syscall"
)

// bind has a process end with this one, even if this one is killed, and not with
// what its terminal is told.
func bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
