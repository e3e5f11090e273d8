package chaos

import (
	"os/exec"
	"syscall"
)

// Signals that processes are sent.
const (
	sigKill   = syscall.SIGKILL
	sigFreeze = syscall.SIGSTOP
	sigThaw   = syscall.SIGCONT
	sigDump   = syscall.SIGQUIT // has a Go program print what all its goroutines are at
)

// possible is why faults cannot be injected here.
func possible() error { return nil }

// bind has a process end with this one, in a group of its own.
func bind(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}

// signal sends a process a signal; false if it is no more.
func signal(cmd *exec.Cmd, s syscall.Signal) bool { return cmd.Process.Signal(s) == nil }

// survived reports whether anything is left of a process's group.
func survived(cmd *exec.Cmd) bool { return syscall.Kill(-cmd.Process.Pid, 0) == nil }
