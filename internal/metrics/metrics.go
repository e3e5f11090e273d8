// Package metrics is what a training run reports: rows of named numbers that
// go to files (JSON lines, TensorBoard event files), and numbers written for a
// person to read. Its sub-package progress draws a run's progress on a terminal.
// It knows nothing of reinforcement learning.
package metrics

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Row is the report of one iteration of a run.
type Row struct {
	Step    int64   // environment steps done
	Iter    int64   // iterations done
	Seconds float64 // since the run began
	Values  []Value // values in the order in which they are written
}

// Value is one named number, such as "loss/policy" or "episode/return". What
// comes before the slash groups names for display. A number that does not
// exist yet is left out of its row: one that is NaN is recorded as such, since
// a loss that becomes NaN has to be seen.
type Value struct {
	Name string
	X    float64
}

// Sink takes the rows of a run. One goroutine owns a sink. Write hands the
// whole row to the operating system before it returns, so a process that dies
// afterwards has not lost it; it keeps nothing of the row.
type Sink interface {
	Write(Row) error
	Close() error
}

// Barrier is implemented by sinks whose rows can be made durable. Sync makes the rows
// durable that were written before the call of Barrier, and may be called by another
// goroutine. An error says what was lost of them.
type Barrier interface {
	Barrier() (sync func() error, err error)
}

// keys are the names of a row's own fields in a JSON line.
var keys = []string{"step", "iter", "seconds"}

// check reports every name of the row that could not be read back.
func (r Row) check() error {
	var errs []error
	for i, v := range r.Values {
		same := func(u Value) bool { return u.Name == v.Name }
		taken := func(key string) bool { return strings.EqualFold(key, v.Name) } // JSON readers often ignore case
		switch {
		case v.Name == "":
			errs = append(errs, fmt.Errorf("value %d has no name", i))
		case !utf8.ValidString(v.Name):
			errs = append(errs, fmt.Errorf("value name %q is not UTF-8", v.Name))
		case slices.ContainsFunc(keys, taken):
			errs = append(errs, fmt.Errorf("value name %q is taken by the row itself; choose another", v.Name))
		case slices.ContainsFunc(r.Values[:i], same):
			errs = append(errs, fmt.Errorf("value name %q occurs twice in a row", v.Name))
		}
	}
	return errors.Join(errs...)
}

// Multi returns a sink that hands each row to all of the sinks, in order. A sink
// that fails does not keep the row from the others.
func Multi(sinks ...Sink) Sink { return multi(slices.Clone(sinks)) }

type multi []Sink

func (m multi) Write(r Row) error {
	return m.each(func(s Sink) error { return s.Write(r) })
}

func (m multi) Close() error { return m.each(Sink.Close) }

func (m multi) each(do func(Sink) error) error {
	var errs []error
	for _, s := range m {
		errs = append(errs, do(s))
	}
	return errors.Join(errs...)
}

// Barrier implements Barrier for the sinks that do.
func (m multi) Barrier() (func() error, error) {
	var all []func() error
	var errs []error
	for _, s := range m {
		if b, ok := s.(Barrier); ok {
			sync, err := b.Barrier()
			all, errs = append(all, sync), append(errs, err)
		}
	}
	return func() error {
		var errs []error
		for _, sync := range all {
			errs = append(errs, sync())
		}
		return errors.Join(errs...)
	}, errors.Join(errs...)
}
