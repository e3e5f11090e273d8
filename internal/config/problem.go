package config

import (
	"errors"
	"fmt"
	"strings"
)

// Problem is one thing wrong with one setting.
type Problem struct {
	Source string // where it was given, such as "--set" or "run.yaml:7"; may be empty
	Key    string // the setting as it was named; empty where none is at fault alone
	Err    error  // problem, naming the setting
}

// Error gives the source and what is wrong, in one line.
func (p Problem) Error() string {
	if p.Source == "" {
		return p.Err.Error()
	}
	return p.Source + ": " + p.Err.Error()
}

// Unwrap returns what is wrong without its source.
func (p Problem) Unwrap() error { return p.Err }

// Errors is every problem found, in the order the settings were given.
type Errors []Problem

// Error gives one line to each problem.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, p := range e {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the problems, for errors.Is and errors.As.
func (e Errors) Unwrap() []error {
	errs := make([]error, len(e))
	for i, p := range e {
		errs[i] = p
	}
	return errs
}

func (e *Errors) addf(source, key, format string, args ...any) {
	*e = append(*e, Problem{Source: source, Key: key, Err: fmt.Errorf(format, args...)})
}

// addTwice reports key as set at source, though it already was at first.
func (e *Errors) addTwice(key, source, first string) {
	if first == source {
		e.addf(source, key, "%s: set twice", key)
		return
	}
	e.addf(source, key, "%s: set twice, first at %s", key, first)
}

// orNil keeps an empty list from becoming an error that is not nil.
func (e Errors) orNil() error {
	if len(e) == 0 {
		return nil
	}
	return e
}

// flatten takes apart what errors.Join put together. Other errors with several
// causes have a text of their own, which would be lost, and stay whole.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	if again := errors.Join(joined.Unwrap()...); again == nil || again.Error() != err.Error() {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}
