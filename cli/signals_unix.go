//go:build unix

package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// interruptions returns a context that is done once this process is asked to end: by SIGINT, by
// SIGTERM, or by SIGHUP, unless it was started with SIGHUP ignored, as nohup does it. A second
// SIGINT or SIGTERM ends the process at once. SIGHUP stays caught: both the kernel and a shell send
// one when a terminal is closed, and the run is still being saved when the second comes.
func interruptions() (context.Context, context.CancelFunc) {
	ctx, stop := first(os.Interrupt, syscall.SIGTERM)
	if signal.Ignored(syscall.SIGHUP) {
		return ctx, stop
	}
	ctx, cancel := context.WithCancelCause(ctx)
	context.AfterFunc(ctx, stop) // after SIGHUP, too
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	go func() { // as long as the process lives
		for range hup {
			cancel(errHungUp)
		}
	}()
	return ctx, stop
}

// outlivePipes has writes to a pipe that nobody reads fail, where they would end this process.
// Programs that it starts are not concerned: they begin with what the operating system does.
func outlivePipes() {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
}
