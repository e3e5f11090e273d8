package worker

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errLeft is the cause of the end of a worker that was to leave.
var errLeft = errors.New("the worker was told to leave")

// await makes the worker leave when it is asked to. It returns then, or when ctx is done.
func (w *worker) await(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-w.Drain: // nil is nobody who asks
		w.leave("it is asked to leave")
	}
}

// leave tells the coordinator that the worker is to leave, and ends the worker when it is
// dismissed, or when its time is over. Without a coordinator and a part there is nothing to wait
// for.
func (w *worker) leave(why string) {
	p := w.current()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leaving != nil {
		return
	}
	w.Log.Info(fmt.Sprintf("%s: it waits for its run to go on without it, for at most %v", why, w.DrainTimeout))
	w.leaving = time.AfterFunc(w.DrainTimeout, func() {
		w.Log.Warn(fmt.Sprintf("it leaves, though its run did not come to a consistent point within %v", w.DrainTimeout))
		w.end(errLeft)
	})
	if !w.joined && (p == nil || p.doing() == nil) {
		w.end(errLeft)
		return
	}
	w.post.ring()
}

// isLeaving reports whether the worker is to leave.
func (w *worker) isLeaving() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.leaving != nil
}

// stopClock stops the clock of a worker that is to leave: it has.
func (w *worker) stopClock() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leaving != nil {
		w.leaving.Stop()
	}
}

// isJoined notes whether the worker has a coordinator. One that is to leave and has no part does
// not look for another.
func (w *worker) isJoined(is bool) {
	p := w.current()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.joined = is; !is && w.leaving != nil && (p == nil || p.doing() == nil) {
		w.end(errLeft)
	}
}
