package rl

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
)

// Failure is an operation that could not be done. Operations return no errors,
// because an `if err != nil` after a step would be control flow on another
// fragment's value: a failing one stops the run with the place in the author's
// source where it was called.
type Failure struct {
	Pos string // file:line of the author's call
	Err error
}

//weft:pure
func (f *Failure) Error() string {
	if f.Pos == "" {
		return f.Err.Error()
	}
	return f.Pos + ": " + f.Err.Error()
}

func (f *Failure) Unwrap() error { return f.Err }

// Fail stops the run with err. It is for components: environments, replay
// buffers, an author's own. It does not return; Catch turns it into an error.
//
//weft:refuse return an error from the constructor; in a loop operations fail by themselves
func Fail(err error) {
	var f *Failure
	if errors.As(err, &f) {
		panic(f)
	}
	panic(newFailure(err))
}

func newFailure(err error) *Failure { return &Failure{Pos: authorPosition(), Err: err} }

// Failf is Fail with a formatted message.
//
//weft:refuse return an error from the constructor; in a loop operations fail by themselves
func Failf(format string, args ...any) { Fail(fmt.Errorf(format, args...)) }

func failf(format string, args ...any) { Fail(fmt.Errorf(format, args...)) }

// failIn stops the run with err, and says what could not be done. The position
// of a failure inside err stays: it is nearer to the cause.
func failIn(what string, err error) {
	var f *Failure
	if errors.As(err, &f) {
		panic(&Failure{Pos: f.Pos, Err: fmt.Errorf("%s: %w", what, f.Err)})
	}
	failf("%s: %w", what, err)
}

func check(err error) {
	if err != nil {
		Fail(err)
	}
}

// Catch calls f and returns its error, or the failure that stopped it. GoMLX
// panics with errors that explain themselves; any other panic becomes an error
// that carries its stack. None reaches a user.
//
//weft:refuse let failures end the run
func Catch(f func() error) (err error) {
	defer func() {
		switch x := recover().(type) {
		case nil:
		case *Failure:
			err = x
		case runtime.Error:
			err = &Failure{Pos: authorPosition(), Err: fmt.Errorf("%w\n%s", x, debug.Stack())}
		case error:
			err = &Failure{Pos: authorPosition(), Err: x}
		default:
			err = &Failure{Pos: authorPosition(), Err: fmt.Errorf("%v\n%s", x, debug.Stack())}
		}
	}()
	return f()
}

// vocabulary are the packages whose frames are never the author's: a failure is
// reported where the loop called into them.
var vocabulary = []string{
	"github.com/weft-rl/weft/rl.", "github.com/weft-rl/weft/env.", "github.com/weft-rl/weft/env/",
	"github.com/weft-rl/weft/replay.", "github.com/weft-rl/weft/nn.", "github.com/weft-rl/weft/edge.", "github.com/weft-rl/weft/internal/",
	"github.com/gomlx/", "runtime.", "runtime/", "reflect.", "sync.", "testing.",
}

// entries are the packages in which the command line and the library begin: a failure
// with no author's frame inside them is not the fault of a line of source.
var entries = []string{"github.com/weft-rl/weft/cli.", "github.com/weft-rl/weft/app."}

// authorPosition is the innermost caller outside the vocabulary.
func authorPosition() string {
	at := Callers(1)
	if len(at) == 0 {
		return ""
	}
	return fmt.Sprintf("%s:%d", filepath.Base(at[0].File), at[0].Line)
}

// Caller is a place in a source file, as it was compiled.
type Caller struct {
	File string
	Line int
}

// Callers returns the places of the callers outside the vocabulary, at most so many,
// the innermost first: the author's code, and what was generated from it.
func Callers(most int) (out []Caller) {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for more := true; more && len(out) < most; {
		var f runtime.Frame
		f, more = frames.Next()
		if hasPrefix(f.Function, entries) {
			break
		}
		if f.Function != "" && !hasPrefix(f.Function, vocabulary) {
			out = append(out, Caller{f.File, f.Line})
		}
	}
	return out
}

// hasPrefix reports whether a function is of one of the packages.
func hasPrefix(function string, packages []string) bool {
	return slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(function, p) })
}
