//go:build unix && !linux

package cli

import (
	"os/exec"
	"syscall"
)

// bind has a process not end with what its terminal is told; it sees for itself that
// its standard input has ended.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup kills a process that was bound, and all of its children that are left.
func endGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // or it has ended

// resident returns 0: this system does not tell a process's memory, which is not bounded then.
func resident(int) int64 { return 0 }
