//go:build !unix

package cli

import (
	"context"
	"os"
	"syscall"
)

// interruptions returns a context that is done once this process is asked to end. A second request
// ends it at once.
func interruptions() (ctx context.Context, stop context.CancelFunc) {
	return first(os.Interrupt, syscall.SIGTERM)
}

// outlivePipes does nothing: no signal tells of a pipe that nobody reads.
func outlivePipes() {}
