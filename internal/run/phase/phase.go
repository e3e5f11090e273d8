// Package phase holds the interface by which a run tells a tracer of its phases. It depends on no
// tracer, so that programs which train do not either.
package phase

import (
	"slices"
	"time"
)

// Tracer is told of the phases of a run. Its methods may be called by any goroutine.
type Tracer interface {
	// Begin begins a phase at a time, or now if that is zero. Calling end ends it, with the error
	// that it failed with or nil.
	Begin(name string, at time.Time, about ...Fact) (end func(error))
}

// Span is a phase that has phases within it.
type Span interface {
	Tracer
	// End ends the span, with the error that it failed with or nil.
	End(err error)
}

// Fact is an attribute of a phase.
type Fact struct {
	Name  string
	Value any // an int64 or a string
}

// Int returns a fact that is a number.
func Int(name string, value int64) Fact { return Fact{name, value} }

// Text returns a fact that is a text.
func Text(name, value string) Fact { return Fact{name, value} }

// Begin begins a phase now. A nil tracer is told nothing.
func Begin(t Tracer, name string, about ...Fact) (end func(error)) {
	if t == nil {
		return func(error) {}
	}
	return t.Begin(name, time.Time{}, about...)
}

// With returns a tracer that adds facts to every phase, nil if t is nil.
func With(t Tracer, about ...Fact) Tracer {
	if t == nil {
		return nil
	}
	return with{t, about}
}

type with struct {
	Tracer
	about []Fact
}

func (w with) Begin(name string, at time.Time, about ...Fact) func(error) {
	return w.Tracer.Begin(name, at, slices.Concat(w.about, about)...)
}
