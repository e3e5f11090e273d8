package coordinator

import (
	"context"
	"sync"
)

// lane carries out jobs one after the other, in a goroutine that exists while there are
// any. The loop has the disk written to by the lanes of runs: a slow disk delays the run
// whose folder it has, and no other. What is said to workers after something was written
// goes by the same lane.
type lane struct {
	mu   sync.Mutex
	jobs []func()      // the first is under way
	idle chan struct{} // closed when there is nothing to do; nil before the first job
}

// put has a job carried out after those before it. Start starts a goroutine.
func (l *lane) put(start func(func()), job func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs = append(l.jobs, job); len(l.jobs) > 1 {
		return
	}
	l.idle = make(chan struct{})
	start(l.run)
}

// soon carries out a job that does not block: at once if nothing is before it.
func (l *lane) soon(job func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.jobs) > 0 {
		l.jobs = append(l.jobs, job)
		return
	}
	job()
}

func (l *lane) run() {
	for job := l.first(); job != nil; job = l.next() {
		job()
	}
}

func (l *lane) first() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.jobs[0]
}

// next takes off the job that is done, and returns the one after it, or nil.
func (l *lane) next() func() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.jobs = l.jobs[1:]; len(l.jobs) > 0 {
		return l.jobs[0]
	}
	l.jobs = nil
	close(l.idle)
	return nil
}

// wait blocks until all jobs are done that were put before, or ctx is.
func (l *lane) wait(ctx context.Context) error {
	l.mu.Lock()
	idle, busy := l.idle, len(l.jobs) > 0
	l.mu.Unlock()
	if !busy {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
