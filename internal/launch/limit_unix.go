//go:build unix

package launch

import (
	"os"
	"syscall"
)

// NearEnd is the signal by which engines tell a job to save its run, because its time is nearly
// over or its machine is about to leave.
var NearEnd os.Signal = syscall.SIGUSR1
