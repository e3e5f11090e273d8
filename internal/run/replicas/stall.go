package replicas

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// Replicas of one process that all wait wait for each other, and nothing will ever wake them. An
// interruption does not either: it acts at the next consistent point, to which such a run does not
// come. So it is ended as soon as that is certain. What replicas of several processes wait for
// cannot be known here; the coordinator gives a run that is to stop so much time and no more.

// look is the time between two looks at who waits.
const look = time.Second

// watch ends a run that stands still. It returns a function that ends the watch.
func (w *World) watch(stop context.CancelCauseFunc) (end func()) {
	if w.link.Joined() {
		return func() {}
	}
	watching, cease := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(look)
		defer tick.Stop()
		for {
			select {
			case <-watching.Done():
				return
			case <-tick.C:
			}
			if w.link.Stuck(int(w.running.Load())) {
				stop(w.stuck())
				return
			}
		}
	})
	return func() {
		cease()
		done.Wait()
	}
}

// stuck returns the error of a run that stands still: which replica waits for what.
func (w *World) stuck() error {
	var all []string
	for _, r := range w.here() {
		if on := r.x.Waits(); on != "" {
			all = append(all, fmt.Sprintf("%s for %s", r, on))
		}
	}
	return fmt.Errorf("the run stands still, all replicas wait for each other (%s): this is a defect of the programs of policy %s; resume under another one",
		strings.Join(all, "; "), w.Plan.Policy)
}
