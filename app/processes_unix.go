//go:build unix && !linux

package app

import (
	"os/exec"
	"syscall"
)

// bind has a process not end with what its terminal is told; it sees for itself that
// its standard input has ended.
func bind(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }
