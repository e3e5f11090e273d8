// Package sweep searches for settings: it proposes trials, each a run with settings of its own,
// judges them by a metric, and stops those early that fall behind.
//
// What a sweep decides depends on its file and on the trials' scores, and not on which of several
// trials that run side by side is over first. A proposal of a search that learns looks at the
// trials that are at least a window before it, all of which are over by then. A trial at a rung is
// judged against the trials before it, by their scores at the same rung, all of which are known by
// then. So a sweep with any number of workers, killed and resumed at any moment, makes the same
// trials and stops the same ones.
package sweep

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Status says how far a trial is.
type Status string

// The states of a trial.
const (
	Open     Status = "open"     // it trains, or waits to
	Finished Status = "finished" // it was trained to its end
	Pruned   Status = "pruned"   // it fell behind and was stopped
	Failed   Status = "failed"   // its run failed
)

// Trial is one proposal and how it went.
type Trial struct {
	Number int      `json:"trial"` // from 0
	Point  []string `json:"point"` // values of the space's settings
	Status Status   `json:"status"`
	Rungs  []Value  `json:"rungs,omitempty"` // scores at the rungs it reached
	Steps  int64    `json:"steps"`           // steps that it was trained
	Score  *float64 `json:"score"`           // last score; nil if there is none
	Error  string   `json:"error,omitempty"` // why it failed
}

// settled reports whether nothing more will happen to the trial.
func (t *Trial) settled() bool { return t != nil && t.Status != Open }

// Plan says what to search for and how.
type Plan struct {
	Search  Search
	Trials  int
	Seed    uint64
	Window  int     // a trial learns from those at least so many before it
	Rungs   []int64 // steps at which trials are judged, ascending; none is no pruning
	Factor  int     // one of so many trials passes a rung
	Minimum bool    // small scores are good
}

// Outcome is where a trial stands after it was trained for a while.
type Outcome struct {
	Steps int64
	Score float64 // NaN if it has none
	Ended bool    // there is nothing left to train
}

// Train trains a trial until it has done so many steps, or to its end if until is 0. A trial that
// was trained before goes on. An error is the trial's; what ctx ends is no error of it.
type Train func(ctx context.Context, t *Trial, until int64) (Outcome, error)

// Study is a sweep as far as it has come.
type Study struct {
	Plan   Plan
	Trials []*Trial // those that were proposed, by number

	busy map[int]bool
}

// New returns a study that goes on with the trials of an earlier process. They are those that it
// would propose itself.
func New(p Plan, before []*Trial) (*Study, error) {
	s := &Study{Plan: p, busy: map[int]bool{}}
	for i, t := range before {
		if t.Number != i || i >= p.Trials {
			return nil, fmt.Errorf("trial %d of the record is numbered %d: the record is damaged", i, t.Number)
		}
		s.Trials = append(s.Trials, t)
	}
	for i, t := range s.Trials {
		if point, ok := s.propose(i); !ok || !slices.Equal(point, t.Point) {
			return nil, fmt.Errorf("trial %d of the record has the settings %q, and this sweep proposes %q: its file has changed; begin again in another folder", i, t.Point, point)
		}
	}
	return s, nil
}

// propose returns the point of a trial, if all that it depends on is known.
func (s *Study) propose(i int) (point []string, ok bool) {
	var history []Seen
	if s.Plan.Search.Learns() {
		for j := 0; j <= i-s.Plan.Window; j++ {
			if j >= len(s.Trials) || !s.Trials[j].settled() {
				return nil, false
			}
			history = append(history, s.seen(s.Trials[j]))
		}
	}
	return s.Plan.Search.Propose(s.Plan.Seed, i, history), true
}

// seen returns a settled trial as searches see it: large scores are good, and a trial that got
// further is better than one that did not.
func (s *Study) seen(t *Trial) Seen {
	x := Seen{Point: t.Point, Score: s.good(t), Reached: len(t.Rungs)}
	if t.Status == Failed {
		x.Reached = -1
	}
	return x
}

// good returns a trial's score as a number that is better if it is larger.
func (s *Study) good(t *Trial) float64 {
	if t.Score == nil || t.Status == Failed {
		return math.Inf(-1)
	}
	return s.larger(*t.Score)
}

func (s *Study) larger(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return math.Inf(-1)
	case s.Plan.Minimum:
		return -x
	}
	return x
}

// passes reports whether a trial goes on behind the rung that it has reached last; known is false
// while that depends on trials that have not got there.
func (s *Study) passes(t *Trial) (passes, known bool) {
	r := len(t.Rungs) - 1
	mine, better, n := s.larger(float64(t.Rungs[r])), 0, 1
	for _, other := range s.Trials[:t.Number] {
		if len(other.Rungs) <= r {
			if !other.settled() {
				return false, false
			}
			continue
		}
		n++
		if s.larger(float64(other.Rungs[r])) >= mine { // of equal ones the first
			better++
		}
	}
	return better < max(1, n/s.Plan.Factor), true
}

// next returns a trial that can be trained, and until when; nil if there is none now. It proposes
// trials, and stops those that fall behind.
func (s *Study) next() (t *Trial, until int64) {
	for i := range s.Plan.Trials {
		if i == len(s.Trials) {
			point, ok := s.propose(i)
			if !ok {
				return nil, 0
			}
			s.Trials = append(s.Trials, &Trial{Number: i, Point: point, Status: Open})
		}
		t := s.Trials[i]
		if t.settled() || s.busy[i] {
			continue
		}
		if n := len(t.Rungs); n > 0 {
			passes, known := s.passes(t)
			if !known {
				continue
			}
			if !passes {
				t.Status = Pruned
				continue
			}
		}
		if n := len(t.Rungs); n < len(s.Plan.Rungs) {
			until = s.Plan.Rungs[n]
		}
		return t, until
	}
	return nil, 0
}

// result tells how a trial's training ended.
type result struct {
	t     *Trial
	until int64
	out   Outcome
	err   error
}

// apply notes what became of a trial.
func (s *Study) apply(r result) {
	delete(s.busy, r.t.Number)
	r.t.Steps = max(r.t.Steps, r.out.Steps)
	if r.err == nil && !math.IsNaN(r.out.Score) {
		score := r.out.Score
		r.t.Score = &score
	}
	switch {
	case r.err != nil:
		r.t.Status, r.t.Error = Failed, r.err.Error()
	case r.until == 0 || r.out.Ended:
		r.t.Status = Finished
	default:
		r.t.Rungs = append(r.t.Rungs, Value(r.out.Score))
	}
}

// Run trains trials, so many at a time, until all are settled or ctx is done. It calls changed
// after everything that happens, with the trial that it happened to.
func (s *Study) Run(ctx context.Context, workers int, train Train, changed func(*Trial) error) error {
	results := make(chan result)
	running := 0
	var failed error
	for {
		for failed == nil && ctx.Err() == nil && running < workers {
			before := s.pruned()
			t, until := s.next()
			if failed = s.tell(before, changed); t == nil || failed != nil {
				break
			}
			s.busy[t.Number] = true
			running++
			go func() {
				out, err := train(ctx, t, until)
				results <- result{t, until, out, err}
			}()
		}
		if running == 0 {
			return errors.Join(failed, context.Cause(ctx))
		}
		r := <-results
		running--
		if ctx.Err() != nil { // how far it came is in its folder
			continue
		}
		s.apply(r)
		if failed == nil {
			failed = changed(r.t)
		}
	}
}

// pruned returns how many trials were stopped.
func (s *Study) pruned() (n int) {
	for _, t := range s.Trials {
		if t.Status == Pruned {
			n++
		}
	}
	return n
}

// tell tells of the trials that were stopped since there were so many.
func (s *Study) tell(before int, changed func(*Trial) error) (err error) {
	if s.pruned() == before {
		return nil
	}
	for _, t := range s.Trials {
		if t.Status == Pruned && err == nil {
			err = changed(t)
		}
	}
	return err
}

// Best returns the best of the trials that were trained to their end; nil if there is none.
func (s *Study) Best() *Trial {
	var best *Trial
	for _, t := range s.Trials {
		if t.Status == Finished && t.Score != nil && (best == nil || s.good(t) > s.good(best)) {
			best = t
		}
	}
	return best
}

// Steps returns the steps of all trials together.
func (s *Study) Steps() (n int64) {
	for _, t := range s.Trials {
		n += t.Steps
	}
	return n
}
