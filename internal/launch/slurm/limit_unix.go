//go:build unix

package slurm

import (
	"os"
	"syscall"
)

// limit is the signal before the time limit.
var limit os.Signal = syscall.SIGUSR1
