package chaos

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// view is the state of a run, as its coordinator reports it.
type view struct {
	mu      sync.Mutex
	run     core.Run
	at      time.Time     // when it was told
	moved   time.Time     // when the run last got on
	changed chan struct{} // closed, and made anew, with all news
}

func newView() *view { return &view{changed: make(chan struct{}), moved: time.Now()} }

// follow keeps the view up to date until the run is over.
func (v *view) follow(ctx context.Context, c *protocol.Client, name string) {
	pause := time.NewTicker(20 * time.Millisecond)
	defer pause.Stop()
	for {
		last, err := c.Watch(ctx, name, v.tell)
		if ctx.Err() != nil || err == nil && last.Phase.Over() {
			return
		}
		select { // it is not submitted yet, or nobody acts
		case <-pause.C:
		case <-ctx.Done():
			return
		}
	}
}

func (v *view) tell(r core.Run) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at = time.Now()
	if r.Epoch != v.run.Epoch || r.Phase != v.run.Phase || r.Progress.Iter != v.run.Progress.Iter {
		v.moved = v.at
	}
	v.run = r
	close(v.changed)
	v.changed = make(chan struct{})
}

// latest returns what is known, and when it was told; changed is closed when there is more.
func (v *view) latest() (r core.Run, at time.Time, changed <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.run, v.at, v.changed
}

// quiet returns for how long the run has not got on.
func (v *view) quiet() time.Duration {
	v.mu.Lock()
	defer v.mu.Unlock()
	return time.Since(v.moved)
}

// until waits until something holds, and returns of what, and when that was told.
func (v *view) until(ctx context.Context, holds func(r core.Run, at time.Time) bool) (core.Run, time.Time, error) {
	for {
		r, at, changed := v.latest()
		if holds(r, at) {
			return r, at, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return r, at, context.Cause(ctx)
		}
	}
}

// mark is a point of a run's progress: beyond it the run trains again.
type mark struct {
	from  time.Time // beginning of the recovery
	after time.Time // news before this do not count
	epoch int64     // the run was in
	anew  bool      // the epoch is lost
	iter  int64     // it had done
	// spared says that only workers were hit that the run can spare: the epoch goes on,
	// and others have their parts in the end.
	spared bool
	lives  int64  // processes lost before, over all parts
	owner  string // the worker that decides
}

// passed reports whether the run trains again: in a new epoch, or in the one it was in.
func (m mark) passed(r core.Run, at time.Time) bool {
	if r.Phase.Over() {
		return true
	}
	if r.Phase != core.Running || !at.After(m.after) {
		return false
	}
	return r.Epoch > m.epoch || !m.anew && r.Progress.Iter > 0 && r.Progress.Iter != m.iter
}

// replaced reports whether the parts of workers that were spared are others', or there
// is no epoch any more in which they could be.
func (m mark) replaced(r core.Run, at time.Time) bool {
	if r.Phase.Over() || r.Epoch > m.epoch {
		return true
	}
	return at.After(m.after) && r.Phase == core.Running && lives(r) > m.lives && !slices.ContainsFunc(r.Members, func(x core.Member) bool { return !x.Ready })
}

// needless returns the end of the epoch, as it was told, if the run could have gone on in it:
// if it was not because of the worker that decides, which a busy machine may have kept
// from giving a sign of life.
func (m mark) needless(r core.Run) string {
	for _, text := range r.History {
		if why, ok := strings.CutPrefix(text, fmt.Sprintf("epoch %d is over, worker ", m.epoch)); ok && !strings.HasPrefix(why, m.owner+" ") {
			return text
		}
	}
	return ""
}

// lives returns how many processes had parts of a run's epoch and were lost.
func lives(r core.Run) (n int64) {
	for _, m := range r.Members {
		n += m.Life
	}
	return n
}
