//go:build !unix

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptions returns a context that is done once this process is asked to end. A second request
// is the operating system's to answer.
func interruptions() (ctx context.Context, stop context.CancelFunc) {
	ctx, stop = signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// outlivePipes does nothing: no signal tells of a pipe that nobody reads.
func outlivePipes() {}
