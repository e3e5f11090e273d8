package gym

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// failure is an environment, or a worker, that did not do what it should.
type failure struct {
	env  int // global index; -1: the whole worker
	text string
}

func (f *failure) Error() string { return f.text }

// span names a worker and its environments.
func (w *worker) span() string {
	if w.rows == 1 {
		return fmt.Sprintf("Python worker %d, with environment %d,", w.index, w.global)
	}
	return fmt.Sprintf("Python worker %d, with environments %d to %d,", w.index, w.global, w.global+w.rows-1)
}

// broken explains why a worker does not answer, and ends it.
func (w *worker) broken(err error) error {
	f := &failure{env: -1}
	switch {
	case errors.Is(err, errTimeout):
		w.stop(0)
		f.text = fmt.Sprintf("%s hangs: it did not answer within %s", w.span(), w.timeout)
	case errors.Is(err, io.EOF):
		w.stop(time.Second)
		f.text = fmt.Sprintf("%s has died", w.span())
		if w.ended != nil {
			f.text += fmt.Sprintf(" (%v)", w.ended)
		}
	default:
		w.stop(0)
		f.text = fmt.Sprintf("%s cannot be reached: %v", w.span(), err)
	}
	if said := w.said.String(); said != "" {
		f.text += "; the last it said:\n" + said
	}
	return f
}

// senseless returns a worker that answers what it cannot have been asked for: a program that
// writes to descriptor 4 itself, for instance. It is ended.
func (w *worker) senseless(what string) error {
	w.stop(0)
	return &failure{-1, fmt.Sprintf("%s sends %s", w.span(), what)}
}

// complaint returns what a worker says went wrong.
func (w *worker) complaint(kind byte, deadline time.Time) error {
	if kind != 'e' {
		return w.senseless(fmt.Sprintf("something out of turn (%q)", kind))
	}
	data, err := w.body(deadline, 0, maxAnswer)
	if err != nil {
		return err
	}
	var c struct {
		Env       *int   `json:"env"`
		Step      int    `json:"step"`
		Text      string `json:"text"`
		Traceback string `json:"traceback"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return w.senseless(fmt.Sprintf("a failure that is not understood: %v", err))
	}
	f := &failure{env: -1, text: c.Text}
	if c.Traceback != "" {
		f.text += "\n" + c.Traceback
	}
	if c.Env != nil {
		f.env = w.global + *c.Env
		where := fmt.Sprintf("environment %d", f.env)
		if c.Step > 0 {
			where += fmt.Sprintf(", at its step %d", c.Step)
		}
		f.text = where + ": " + f.text
	}
	return f
}
