//go:build unix

package cli

import (
	"os"
	"syscall"
)

// become makes this process run another program, which then gets the signals
// and ends with the exit code that are meant for this one.
func become(program string, args []string) error {
	return syscall.Exec(program, append([]string{program}, args...), os.Environ())
}
