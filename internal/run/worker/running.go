package worker

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// running is a part that is being carried out. It is its runner's reporter.
type running struct {
	part.Assignment
	ctx     context.Context
	cancel  context.CancelFunc
	started chan struct{} // closed when all parts are ready
	halted  chan struct{} // closed when it is to end at the next consistent point
	over    chan struct{} // closed when the runner has returned
	mail    *mail

	mu       sync.Mutex
	aborted  bool
	begun    bool // started is closed
	halting  bool // halted is
	ready    bool
	ended    bool
	err      error
	progress *part.Progress
	quiet    []string // workers that it has heard nothing of for a while
	changed  bool     // quiet changed, and no heartbeat has said so yet
	offset   int64    // position of the next line of the record
}

func newRunning(ctx context.Context, cancel context.CancelFunc, a part.Assignment, p *post) *running {
	return &running{
		Assignment: a, ctx: ctx, cancel: cancel, mail: newMail(p),
		started: make(chan struct{}), halted: make(chan struct{}), over: make(chan struct{}),
	}
}

// errAborted ends a part that goes on after its epoch has ended.
var errAborted = errors.New("the epoch is over")

// carryOut runs the part to its end, and says how it ended, unless nobody wants to know: then it
// returns nil.
func (p *running) carryOut(r part.Runner) error {
	defer p.cancel()
	err := p.run(r)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aborted {
		return nil
	}
	p.ended, p.err = true, err
	if p.ctx.Err() != nil { // the process is ending: its connection says so
		p.aborted = true
		return nil
	}
	m := &protocol.Up{Kind: protocol.KindDone, Progress: p.progress, Offset: p.offset}
	if err != nil {
		f := part.FailureOf(err)
		text := f.Text
		m = &protocol.Up{Kind: protocol.KindFailed, Text: part.Brief(text), User: f.Permanent, Peer: f.Peer, Fault: fault(f)}
		if m.Text != text { // what does not go into the run's history is in its log
			p.say(&protocol.Up{Kind: protocol.KindNote, Text: text[:min(len(text), piece)]})
		}
	}
	p.say(m)
	return err
}

// run runs the part. No panic of it ends the process, which may be wanted for others.
func (p *running) run(r part.Runner) (err error) {
	if p.ctx.Err() != nil {
		return errAborted
	}
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("panic: %v\n%s", x, debug.Stack())
		}
	}()
	return r.Run(p.ctx, p.Assignment, p)
}

// fault returns what a failure is to be blamed on.
func fault(f part.Failure) core.Fault {
	return core.Fault{Node: f.Node, Program: f.Program, Unreached: f.Unreached, Broken: f.Broken, Late: f.Late}
}

// say queues a message.
func (p *running) say(m *protocol.Up) int64 {
	m.Run, m.Epoch, m.Life = p.Run, p.Epoch, p.Life
	return p.mail.put(m)
}

// abort gives the part up; false if that is no news.
func (p *running) abort() bool {
	p.mu.Lock()
	news := !p.aborted && !p.ended
	p.aborted = true
	p.mu.Unlock()
	p.cancel()
	p.mail.close()
	return news
}

// start lets a part that is ready begin.
func (p *running) start() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.begun {
		p.begun = true
		close(p.started)
	}
}

// halt ends a part at its next consistent point.
func (p *running) halt() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.halting {
		p.halting = true
		close(p.halted)
	}
}

// Halted implements part.Reporter.
func (p *running) Halted() <-chan struct{} { return p.halted }

// doing returns the part's state for a new coordinator, nil if there is nothing to go on with. How
// the part ended is among it once that was acknowledged, with all that was said before: else the
// coordinator hears of it in its order.
func (p *running) doing() *core.Doing {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.aborted {
		return nil
	}
	ended := p.ended && p.mail.empty()
	d := &core.Doing{Run: p.Run, Epoch: p.Epoch, Life: p.Life, Ready: p.ready, Done: ended && p.err == nil}
	if p.progress != nil {
		d.Progress = *p.progress
	}
	if ended && p.err != nil {
		f := part.FailureOf(p.err)
		d.Error, d.User, d.Peer, d.Fault = part.Brief(f.Text), f.Permanent, f.Peer, fault(f)
	}
	return d
}

// stands adds to a sign of life where the run stands.
func (p *running) stands(m *protocol.Up) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.aborted && !p.ended {
		m.Run, m.Epoch, m.Life, m.Progress, m.Quiet = p.Run, p.Epoch, p.Life, p.progress, p.quiet
		p.changed = false
	}
}

// urgent reports whether there is something to say that a sign of life is not to wait for.
func (p *running) urgent() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed && !p.aborted && !p.ended
}

// Ready implements part.Reporter.
func (p *running) Ready(ctx context.Context) error {
	p.mu.Lock()
	p.ready = true
	p.say(&protocol.Up{Kind: protocol.KindReady})
	p.mu.Unlock()
	select {
	case <-p.started:
		return nil
	case <-p.ctx.Done():
		return errAborted
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Commit implements part.Reporter.
func (p *running) Commit(ctx context.Context, m part.Manifest) error {
	seq := p.say(&protocol.Up{Kind: protocol.KindCommit, Manifest: &m})
	return p.mail.wait(ctx, p.ctx, seq)
}

// Progress implements part.Reporter.
func (p *running) Progress(x part.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.progress = &x
}

// Quiet implements part.Reporter.
func (p *running) Quiet(workers []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet, p.changed = workers, true
	p.mail.ring()
}

// piece bounds a message of lines.
const piece = 256 << 10

// Record implements part.Reporter.
func (p *running) Record(ctx context.Context, lines []byte) error {
	for len(lines) > 0 {
		n := min(len(lines), piece)
		if err := p.mail.room(ctx, p.ctx); err != nil {
			return err
		}
		p.mu.Lock()
		p.say(&protocol.Up{Kind: protocol.KindRecord, Offset: p.offset, Tail: append([]byte(nil), lines[:n]...)})
		p.offset += int64(n)
		p.mu.Unlock()
		lines = lines[n:]
	}
	return nil
}

// Note implements part.Reporter.
func (p *running) Note(text string) {
	if p.mail.full() { // a note is not worth waiting for
		return
	}
	p.say(&protocol.Up{Kind: protocol.KindNote, Text: text})
}
