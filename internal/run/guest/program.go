package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/weft-rl/weft/internal/run/part"
)

// Serve introduces a program to the worker at the other end of conn, and has run carry out the
// assignment that it is given. The context of run ends when the worker is gone, or gives the part
// up.
func Serve(ctx context.Context, conn net.Conn, run func(context.Context, Setup, part.Assignment, part.Reporter) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l := &line{conn: conn}
	if err := l.send(message{Kind: hello, Version: Version}); err != nil {
		return err
	}
	m, err := l.recv(maxMessage)
	if err != nil {
		return fmt.Errorf("the worker gave it nothing to do: %w", err)
	}
	if m.Kind != assign || m.Setup == nil || m.Assignment == nil {
		return fmt.Errorf("the worker says %q instead of an assignment", m.Kind)
	}
	r := &reporter{line: l, ctx: ctx, halted: make(chan struct{}), waiting: map[int64]chan string{}}
	go func() { // to the end of the connection, which is that of the process
		cancel(r.listen())
	}()
	if err := run(ctx, *m.Setup, *m.Assignment, r); err != nil {
		f := part.FailureOf(err)
		return l.send(message{Kind: failed, Failure: &f})
	}
	return l.send(message{Kind: done})
}

// reporter tells the worker what the part has to report.
type reporter struct {
	line   *line
	ctx    context.Context
	halted chan struct{}

	mu      sync.Mutex
	halting bool
	number  int64
	waiting map[int64]chan string // messages that are not answered yet
}

var _ part.Reporter = (*reporter)(nil)

// errGone is why a part ends whose worker has closed the connection.
var errGone = errors.New("the worker has given the part up")

// listen takes the worker's messages until the connection is over.
func (r *reporter) listen() error {
	for {
		m, err := r.line.recv(maxSaid)
		if err != nil {
			return errGone
		}
		r.mu.Lock()
		switch {
		case m.Kind == halt && !r.halting:
			r.halting = true
			close(r.halted)
		case m.Kind == answer:
			if c := r.waiting[m.Number]; c != nil {
				c <- m.Text
				delete(r.waiting, m.Number)
			}
		}
		r.mu.Unlock()
	}
}

// ask sends a message and waits for the answer.
func (r *reporter) ask(ctx context.Context, m message) error {
	c := make(chan string, 1)
	r.mu.Lock()
	r.number++
	m.Number = r.number
	r.waiting[m.Number] = c
	r.mu.Unlock()
	if err := r.line.send(m); err != nil {
		return err
	}
	select {
	case text := <-c:
		if text != "" {
			return errors.New(text)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	}
}

// tell sends a message that is not answered. If the connection is over, the part is about to end.
func (r *reporter) tell(m message) { _ = r.line.send(m) }

// Ready implements part.Reporter.
func (r *reporter) Ready(ctx context.Context) error { return r.ask(ctx, message{Kind: ready}) }

// Commit implements part.Reporter.
func (r *reporter) Commit(ctx context.Context, m part.Manifest) error {
	return r.ask(ctx, message{Kind: commit, Manifest: &m})
}

// Record implements part.Reporter.
func (r *reporter) Record(ctx context.Context, lines []byte) error {
	for len(lines) > 0 {
		n := min(len(lines), piece)
		if err := r.ask(ctx, message{Kind: record, Lines: lines[:n]}); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

// Progress implements part.Reporter.
func (r *reporter) Progress(p part.Progress) { r.tell(message{Kind: progress, Progress: &p}) }

// Quiet implements part.Reporter.
func (r *reporter) Quiet(workers []string) { r.tell(message{Kind: quiet, Workers: workers}) }

// Note implements part.Reporter.
func (r *reporter) Note(text string) {
	r.tell(message{Kind: note, Text: text[:min(len(text), piece)]})
}

// Halted implements part.Reporter.
func (r *reporter) Halted() <-chan struct{} { return r.halted }
