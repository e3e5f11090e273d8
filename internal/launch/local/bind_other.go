//go:build !unix

package local

import "os/exec"

// Bind leaves it to the process to see that its standard input has ended.
func Bind(*exec.Cmd) {}

// EndGroup kills a process.
func EndGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // or it has ended

// Resident returns 0: this system does not tell a process's memory, which is not bounded then.
func Resident(int) int64 { return 0 }
