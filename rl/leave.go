package rl

import (
	"maps"
	"slices"
)

// An algorithm may leave its loop by break or return, without Next having said
// that there is no further iteration. The iteration that was left then counts like
// any other: its steps, episodes and logs are reported at a last cut, and the run's
// state says that it has ended, so that to resume it does nothing.

// leave does what System.Leave does.
func (r *Run) leave() (more bool) {
	open := r.open()
	for i, o := range open {
		if r.stopped {
			return false
		}
		if o.ended = true; i == len(open)-1 {
			r.ended = true
		}
		more = o.meet()
	}
	if more {
		last := open[len(open)-1]
		r.ended, last.ended, last.entered = false, false, true
	}
	return more
}

// Ended reports whether the algorithm has ended the run by leaving its loop.
func (system) Ended(r *Run) bool { return r.whole().ended }

// leaveOthers ends the iterations of phases whose loops were left before r's Next
// was called.
func (r *Run) leaveOthers() {
	for _, o := range r.whole().open() {
		if o.inPhase && o != r && !o.within(r) {
			o.ended = true
			o.meet()
		}
	}
}

// within reports whether a phase is one that r stands in.
func (o *Run) within(r *Run) bool {
	for r != nil && r != o {
		r = r.outer
	}
	return r == o
}

// open returns the run and its phases that are in an iteration, inner ones first.
func (r *Run) open() (out []*Run) {
	for _, name := range slices.Sorted(maps.Keys(r.phases)) {
		out = append(out, r.phases[name].open()...)
	}
	if r.started {
		out = append(out, r)
	}
	return out
}
