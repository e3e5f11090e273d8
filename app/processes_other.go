//go:build !unix

package app

import "os/exec"

// bind leaves it to the process to see that its standard input has ended.
func bind(*exec.Cmd) {}

// endGroup kills a process.
func endGroup(cmd *exec.Cmd) { _ = cmd.Process.Kill() } // or it has ended

// resident is not known here: memory is not bounded.
func resident(int) int64 { return 0 }
