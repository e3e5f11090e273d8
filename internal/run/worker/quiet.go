package worker

import (
	"sync"
	"time"
)

// looks is how often a worker looks, within the time after which a coordinator is taken for lost,
// whether it has heard of it.
const looks = 4

// quiet ends a connection of which nothing is heard for too long. It counts looks instead of
// measuring time: a process that stood still itself, however long, finds one look due when it goes
// on, and then hears what has come meanwhile.
type quiet struct {
	mu    sync.Mutex
	every time.Duration // between looks
	left  int           // looks until it ends
	timer *time.Timer
	end   func()
}

// newQuiet returns a quiet that calls end when nothing was heard for limit.
func newQuiet(limit time.Duration, end func()) *quiet {
	q := &quiet{end: end}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.every, q.left = limit/looks, looks
	q.timer = time.AfterFunc(q.every, q.look)
	return q
}

// look counts a look that is due, and ends the connection with the last one.
func (q *quiet) look() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.left--; q.left <= 0 {
		q.end()
		return
	}
	q.timer.Reset(q.every)
}

// heard begins anew: from now on nothing may be heard for limit.
func (q *quiet) heard(limit time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = looks
	if every := limit / looks; every != q.every {
		q.every = every
		q.timer.Reset(every)
	}
}

// stop has it not look any more.
func (q *quiet) stop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.left = 1 << 30 // should a look be under way
	q.timer.Stop()
}
