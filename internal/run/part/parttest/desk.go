// Package parttest has a coordinator's side for tests of what runs parts.
package parttest

import (
	"context"
	"slices"
	"sync"

	"github.com/weft-rl/weft/internal/run/part"
)

// Desk is the part.Reporter of all parts of an epoch at once, which remembers what it
// was told.
type Desk struct {
	// Committed, unless nil, is asked about every commit.
	Committed func(part.Manifest) error
	// Progressed, unless nil, is told of progress.
	Progressed func(part.Progress)

	parts int
	all   chan struct{} // closed when all parts are ready
	halt  chan struct{} // closed by Halt

	mu      sync.Mutex
	ready   int
	commits []part.Manifest
	lines   []byte
	last    part.Progress
	notes   []string
}

// NewDesk returns a desk for an epoch of so many parts.
func NewDesk(parts int) *Desk {
	return &Desk{parts: parts, all: make(chan struct{}), halt: make(chan struct{})}
}

// Ready implements part.Reporter.
func (d *Desk) Ready(ctx context.Context) error {
	d.mu.Lock()
	if d.ready++; d.ready == d.parts {
		close(d.all)
	}
	d.mu.Unlock()
	select {
	case <-d.all:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Commit implements part.Reporter.
func (d *Desk) Commit(_ context.Context, m part.Manifest) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.Committed != nil {
		if err := d.Committed(m); err != nil {
			return err
		}
	}
	d.commits = append(d.commits, m)
	return nil
}

// Progress implements part.Reporter.
func (d *Desk) Progress(p part.Progress) {
	d.mu.Lock()
	d.last = p
	d.mu.Unlock()
	if d.Progressed != nil {
		d.Progressed(p)
	}
}

// Record implements part.Reporter.
func (d *Desk) Record(_ context.Context, lines []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, lines...)
	return nil
}

// Note implements part.Reporter.
func (d *Desk) Note(text string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.notes = append(d.notes, text)
}

// Halt ends the epoch at its next consistent point. It is called once.
func (d *Desk) Halt() { close(d.halt) }

// Halted implements part.Reporter.
func (d *Desk) Halted() <-chan struct{} { return d.halt }

// Quiet implements part.Reporter.
func (d *Desk) Quiet([]string) {}

// Commits returns all commits, in order.
func (d *Desk) Commits() []part.Manifest {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.commits)
}

// Lines returns the record so far.
func (d *Desk) Lines() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.lines)
}

// Last returns the newest progress.
func (d *Desk) Last() part.Progress {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.last
}

// Notes returns all notes that the part sent.
func (d *Desk) Notes() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.notes)
}
