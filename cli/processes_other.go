//go:build !unix

package cli

import "os/exec"

// bind leaves it to the process to see that its standard input has ended.
func bind(*exec.Cmd) {}

// endGroup kills a process.
func endGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // or it has ended

// resident returns 0: this system does not tell a process's memory, which is not bounded then.
func resident(int) int64 { return 0 }
