package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
)

// first returns a context that is done at the first of some signals. From then on, and not a moment
// later, they are the operating system's to answer, so that whoever reads that another one is not
// waited for can rely on it: it ends the process at once. A shell's script starts what it puts into
// the background with SIGINT ignored, to which the operating system would go back: there this
// process ends itself.
func first(signals ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	ignored := slices.ContainsFunc(signals, signal.Ignored)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, signals...)
	go func() {
		select {
		case <-asked:
		case <-ctx.Done():
			signal.Stop(asked)
			return
		}
		if !ignored {
			signal.Stop(asked) // before it can be said
		}
		cancel()
		if ignored {
			<-asked
			os.Exit(exitInterrupted)
		}
	}()
	return ctx, cancel
}
