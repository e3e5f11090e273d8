package worker

import (
	"errors"
	"sync/atomic"
)

// Probe shows from outside how a worker is. It is given to Run with the options, and may be asked
// at any time.
type Probe struct {
	w      atomic.Pointer[worker]
	joins  atomic.Int64
	parts  atomic.Int64
	failed atomic.Int64
}

// Figures count the work of a worker and say where it stands.
type Figures struct {
	Joined   bool
	Leaving  bool
	Busy     bool  // it is at a part
	Joins    int64 // times that a coordinator let it in
	Parts    int64 // parts that it began
	Failed   int64 // parts that failed
	Messages int   // messages that the coordinator has not acknowledged
	Bytes    int   // bytes of lines among them
}

// Figures returns how the worker is now.
func (p *Probe) Figures() (f Figures) {
	f.Joins, f.Parts, f.Failed = p.joins.Load(), p.parts.Load(), p.failed.Load()
	w := p.w.Load()
	if w == nil {
		return f
	}
	w.mu.Lock()
	x := w.part
	f.Joined, f.Leaving = w.joined, w.leaving != nil
	w.mu.Unlock()
	if x == nil {
		return f
	}
	f.Messages, f.Bytes = x.mail.waiting()
	select {
	case <-x.over:
	default:
		f.Busy = true
	}
	return f
}

// Ready reports why the worker is of no use now; nil if it is: a coordinator has let it in.
func (p *Probe) Ready() error {
	switch f := p.Figures(); {
	case !f.Joined:
		return errors.New("the worker has not joined a coordinator")
	case f.Leaving:
		return errors.New("the worker is leaving")
	}
	return nil
}
