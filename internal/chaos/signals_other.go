//go:build !linux

package chaos

import (
	"errors"
	"os/exec"
	"syscall"
)

const (
	sigKill   = syscall.SIGKILL
	sigFreeze = syscall.SIGKILL
	sigThaw   = syscall.SIGKILL
	sigDump   = syscall.SIGKILL
)

func possible() error { return errors.New("processes can be frozen and watched on Linux alone") }

func survived(*exec.Cmd) bool { return false }

func owner(int, []int) int { return -1 }
