package bench

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Label names a contender.
type Label struct {
	Name    string `json:"contender"`
	Path    string `json:"path"` // interface by which the contender is called
	Version string `json:"version,omitempty"`
}

// Contender does the work of cases, one case at a time.
type Contender interface {
	Label() Label
	// Prepare makes a case ready, compiled and run, and returns the time of one
	// run. A contender that has no part in a case returns errNoPart.
	Prepare(ctx context.Context, c Case) (Sample, error)
	// Measure runs the prepared case again and again for about d, at least once.
	Measure(ctx context.Context, d time.Duration) (Sample, error)
	// Release drops the prepared case.
	Release()
}

// errNoPart is returned by a contender that a case is not meant for.
var errNoPart = errors.New("no part in this case")

// Sample is a number of runs and the time they took.
type Sample struct {
	Calls   int     `json:"calls"`
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu,omitempty"` // seconds that were computed meanwhile, where that is known
}

func (s Sample) perCall() float64 { return s.Seconds / float64(s.Calls) }

// program is a case made ready in this process.
type program interface {
	Run() error
	Close()
}

// errLate is returned by a contender whose time limit for a case is over. What it did until then
// counts.
var errLate = errors.New("it took too long")

// inProcess is a contender in this process, written in Go.
type inProcess struct {
	label Label
	make  func(ctx context.Context, c Case) (program, error)
	warm  int           // untimed runs before the first timed one
	limit time.Duration // time limit for a case; 0 is none
	now   program
	left  time.Duration // what is left of the limit
	until context.Context
	stop  context.CancelCauseFunc
}

func (p *inProcess) Label() Label { return p.label }

func (p *inProcess) Prepare(ctx context.Context, c Case) (s Sample, err error) {
	p.until, p.stop = context.WithCancelCause(ctx)
	p.left = p.limit
	if p.now, err = p.make(p.until, c); err != nil {
		p.now = nil
		p.stop(nil)
		return s, err
	}
	err = p.within(func() error {
		for range p.warm { // which compiles, and is no figure
			if _, err := repeat(p.until, p.now.Run, 0, 1); err != nil {
				return err
			}
		}
		s, err = repeat(p.until, p.now.Run, 0, 1)
		return err
	})
	return s, err
}

// within calls f, stops the contender when its time limit is over, and returns errLate then.
func (p *inProcess) within(f func() error) error {
	if p.limit > 0 {
		begun := time.Now()
		defer time.AfterFunc(p.left, func() { p.stop(errLate) }).Stop()
		defer func() { p.left -= time.Since(begun) }()
	}
	err := f()
	if err != nil && context.Cause(p.until) == errLate {
		return fmt.Errorf("%w: more than %v", errLate, p.limit)
	}
	return err
}

// warmup is the part of a turn that is not timed: the previous contender has filled the caches with
// its own data.
const warmup = 10

func (p *inProcess) Measure(_ context.Context, d time.Duration) (s Sample, err error) {
	err = p.within(func() error {
		if s, err = repeat(p.until, p.now.Run, d/warmup, 1); err != nil || s.Seconds > d.Seconds() {
			return err // a run that is longer than a turn needs no warming up
		}
		// Looking at the clock once in a few hundred microseconds disturbs no run.
		s, err = repeat(p.until, p.now.Run, d, 1+int(2e-4/s.perCall()))
		return err
	})
	return s, err
}

func (p *inProcess) Release() {
	if p.now != nil {
		p.now.Close()
		p.stop(nil)
		p.now = nil
	}
}

// repeat runs the program until d is over. It reads the clock after every few runs.
func repeat(ctx context.Context, run func() error, d time.Duration, few int) (s Sample, err error) {
	for begin := time.Now(); s.Calls == 0 || s.Seconds < d.Seconds(); s.Seconds = time.Since(begin).Seconds() {
		if err := ctx.Err(); err != nil {
			return s, err
		}
		for range few {
			if err := run(); err != nil {
				return s, err
			}
		}
		s.Calls += few
	}
	return s, nil
}
