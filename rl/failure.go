package rl

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/weft-rl/weft/internal/stack"
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

func newFailure(err error) *Failure { return &Failure{Pos: stack.Author(), Err: err} }

// Failf does what Fail does with a formatted message.
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
			err = &Failure{Pos: stack.Author(), Err: fmt.Errorf("%w\n%s", x, debug.Stack())}
		case error:
			err = &Failure{Pos: stack.Author(), Err: x}
		default:
			err = &Failure{Pos: stack.Author(), Err: fmt.Errorf("%v\n%s", x, debug.Stack())}
		}
	}()
	return f()
}
