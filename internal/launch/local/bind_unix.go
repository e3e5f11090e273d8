//go:build unix && !linux

package local

import (
	"os/exec"
	"syscall"
)

// Bind has a process not end with what its terminal is told; it sees for itself that
// its standard input has ended.
func Bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// EndGroup kills a process that was bound, and all of its children that are left.
func EndGroup(cmd *exec.Cmd) { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // or it has ended

// Resident returns 0: this system does not tell a process's memory, which is not bounded then.
func Resident(int) int64 { return 0 }
