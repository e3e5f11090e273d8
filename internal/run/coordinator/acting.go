package coordinator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

const (
	storeTimeout = 5 * time.Second
	queued       = 1024 // events that wait to be decided upon
)

// acting is a coordinator's term. One goroutine, in loop, has the core, the sessions
// and the tickets; others send it events.
type acting struct {
	*coordinator
	ctx      context.Context // ends with the term
	term     Term
	core     *core.Core
	events   chan event
	done     chan struct{} // it acts no more
	sessions map[int64]*session
	tickets  map[int64]chan string
	ticket   int64
	ticked   time.Time
	alive    atomic.Pointer[time.Time] // when the loop last ticked; nil: it has not yet
	stale    bool                      // others do not know the present state
	plans    map[string]*planning      // under way, or not asked for again yet, by run
	answers  []core.Event              // answers of the planner that the core has not been told yet
	helpers  sync.WaitGroup            // goroutines that this term owns
	ids      atomic.Int64              // last session's number
	records  records
	queue    queue
	news     news
	shared   shared
}

// event is something that happened, with who wants to know what comes of it.
type event struct {
	core.Event
	joins *session    // session of a worker that joined
	reply chan string // answer to a client's request
	plan  *planning   // plan that is made, or takes long
}

func newActing(c *coordinator, term Term) *acting {
	return &acting{
		coordinator: c, term: term, core: core.New(c.Core), events: make(chan event, queued), done: make(chan struct{}),
		sessions: map[int64]*session{}, tickets: map[int64]chan string{}, plans: map[string]*planning{}, records: records{dir: c.Runs, most: c.Bounds.Log}, news: news{changed: make(chan struct{})},
	}
}

// put tells the loop that something happened; false if it is over.
func (a *acting) put(e event) bool {
	select {
	case a.events <- e:
		return true
	case <-a.done:
		return false
	}
}

// loop decides until the term is over.
func (a *acting) loop(ctx context.Context) error {
	ticker := time.NewTicker(a.Tick)
	defer ticker.Stop()
	renewing, stop := context.WithCancel(ctx)
	defer stop()
	a.helpers.Go(func() { a.renew(renewing) })
	a.ticked = time.Now()
	for {
		var err error
		select {
		case <-ctx.Done():
			return nil
		case <-a.term.Lost():
			return ErrDeposed
		case e := <-a.events:
			err = a.step(e)
		case now := <-ticker.C:
			err = a.tick(now)
		}
		if err != nil {
			return err
		}
	}
}

// close ends the term: its sessions, and everything that it began.
func (a *acting) close() {
	close(a.done)
	for _, reply := range a.tickets {
		close(reply)
	}
	a.helpers.Wait()
	a.records.close()
}

func (a *acting) resign() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	return a.term.Resign(ctx)
}

// tick advances the core's time and reports the workers that have become silent. If this process
// itself was suspended, no worker counts as silent.
func (a *acting) tick(now time.Time) error {
	a.alive.Store(&now)
	late := now.Sub(a.ticked) - a.Tick
	a.ticked = now
	for _, id := range a.ordered() {
		s := a.sessions[id]
		if late > a.Silence/2 {
			s.hear(now)
		}
		silent := s.quiet(now) > a.Silence
		var err error
		switch {
		case silent && !s.silent:
			err = a.step(event{Event: core.Silent{Name: s.name, Session: id}})
		case !silent && s.silent:
			err = a.step(event{Event: core.Heard{Name: s.name, Session: id}})
		}
		s.silent = silent
		if err != nil {
			return err
		}
	}
	err := a.step(event{Event: core.Tick{}})
	a.publish()
	return err
}

// ordered returns the sessions' numbers: their order is that of their beginnings.
func (a *acting) ordered() []int64 {
	out := make([]int64, 0, len(a.sessions))
	for id := range a.sessions {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// step tells the core what happened and does what it decides. An error ends the term.
func (a *acting) step(e event) error {
	began := time.Now()
	if e.plan != nil {
		if e.Event = a.came(e.plan); e.Event == nil {
			return nil
		}
	}
	switch x := e.Event.(type) {
	case core.Joined:
		a.sessions[x.Worker.Session] = e.joins
	case core.Submitted:
		x.Ticket = a.expect(e.reply)
		e.Event = x
	case core.StopAsked:
		x.Ticket = a.expect(e.reply)
		e.Event = x
	case core.DeleteAsked:
		x.Ticket = a.expect(e.reply)
		e.Event = x
	case core.DrainAsked:
		x.Ticket = a.expect(e.reply)
		e.Event = x
	case core.Leaving:
		a.stale = true
	}
	var shared assignment
	decisions := a.core.Step(e.Event)
	a.give(e.Event, decisions)
	for _, d := range decisions {
		if err := a.do(d, &shared); err != nil {
			return err
		}
		switch d.(type) {
		case core.Persist, core.Welcome:
			a.stale = true
		}
	}
	if x, ok := e.Event.(core.Lost); ok {
		delete(a.sessions, x.Session)
		a.stale = true
	}
	if a.stale && len(a.events) == 0 { // else it would be old at once
		a.publish()
	}
	a.Probe.tally.decided(time.Since(began))
	if x, ok := e.Event.(core.Progressed); ok {
		a.Probe.tally.advanced(x.Run, x.Progress.Steps)
	}
	if a.Took != nil {
		a.Took(e.Event, time.Since(began))
	}
	return a.tell()
}

// tell tells the core of plans that were there when it asked for them.
func (a *acting) tell() error {
	answers := a.answers
	a.answers = nil
	for _, e := range answers {
		if err := a.step(event{Event: e}); err != nil {
			return err
		}
	}
	return nil
}

// write has something done with a run's folder, beside the loop.
func (a *acting) write(run string, do func(*record) error) {
	r := a.records.of(run)
	r.lane.put(func(lane func()) { a.helpers.Go(lane) }, func() {
		if err := do(r); err != nil {
			a.put(event{Event: core.RecordLost{Run: run, Why: err.Error()}})
		}
	})
}

// over reports whether the term is.
func (a *acting) over() bool {
	select {
	case <-a.done:
	case <-a.term.Lost():
	default:
		return false
	}
	return true
}

// expect returns a ticket by which a caller waits for an answer.
func (a *acting) expect(reply chan string) int64 {
	a.ticket++
	a.tickets[a.ticket] = reply
	return a.ticket
}

func (a *acting) do(d core.Decision, shared *assignment) error {
	switch d := d.(type) {
	case core.Persist:
		a.Probe.tally.kept(d.Run, time.Now())
		d.Run.Progress.Metrics, d.Run.Progress.Edges = nil, nil // they are in the run's record, or of the moment
		if err := a.keep(func(ctx context.Context) error { return a.term.Save(ctx, d.Run) }); err != nil {
			return err
		}
		a.note(d.Run)
		if d.Run.Phase.Over() {
			a.unplan(d.Run.Name)
		}
	case core.Forget:
		return a.keep(func(ctx context.Context) error { return a.term.Forget(ctx, d.Run) })
	case core.MakePlan:
		a.plan(d)
	case core.Rewind:
		a.write(d.Run, func(r *record) error {
			if a.over() { // another coordinator may have begun a later epoch
				r.bad = d.Epoch
				return nil
			}
			err := r.rewind(d.Epoch, d.Step, d.Evaluated, d.Size)
			if err != nil {
				r.bad = d.Epoch
			}
			return err
		})
	case core.Tell:
		a.Log.Info(d.Text, journal.Run, d.Run)
		a.write(d.Run, func(r *record) error {
			if err := r.say(d.Text); err != nil {
				a.Log.Error(fmt.Sprintf("its log cannot be written: %v", err), journal.Run, d.Run)
			}
			return nil
		})
	case core.Reply:
		a.publish()                  // whoever is answered finds what was answered for
		a.tickets[d.Ticket] <- d.Err // has room for it
		delete(a.tickets, d.Ticket)
	case core.Assign:
		return a.assign(d, shared)
	case core.Welcome:
		a.send(d.Session, &protocol.Down{Kind: protocol.KindWelcome})
	case core.Refuse:
		a.send(d.Session, &protocol.Down{Kind: protocol.KindRefused, Text: d.Why, Again: true})
		delete(a.sessions, d.Session)
	case core.Start:
		a.sendOf(d.Run, d.Session, &protocol.Down{Kind: protocol.KindStart, Run: d.Run, Epoch: d.Epoch, Life: d.Life})
	case core.Halt:
		a.sendOf(d.Run, d.Session, &protocol.Down{Kind: protocol.KindHalt, Run: d.Run, Epoch: d.Epoch, Life: d.Life})
	case core.Drain:
		a.send(d.Session, &protocol.Down{Kind: protocol.KindDrain})
	case core.Dismiss:
		a.send(d.Session, &protocol.Down{Kind: protocol.KindDismiss})
	case core.Abort:
		a.sendOf(d.Run, d.Session, &protocol.Down{Kind: protocol.KindAbort, Run: d.Run, Epoch: d.Epoch, Life: d.Life, Text: d.Why})
	case core.Answer:
		a.sendOf(d.Run, d.Session, &protocol.Down{Kind: protocol.KindAck, Seq: d.Ticket, Text: d.Err})
	}
	return nil
}

// keep does something to the store, which must not take long.
func (a *acting) keep(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), storeTimeout)
	defer cancel()
	err := do(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the store did not answer for %v: %w", storeTimeout, err)
	}
	return err
}

// assignment holds the common part of an epoch's assignments, as bytes.
type assignment struct {
	run   string
	epoch int64
	text  []byte
}

func (a *acting) assign(d core.Assign, shared *assignment) error {
	x := d.Assignment
	if shared.text == nil || shared.run != x.Run || shared.epoch != x.Epoch || x.Life > 0 { // its peers are others
		x.Me = 0
		text, err := protocol.Pack(x)
		if err != nil {
			return err
		}
		*shared = assignment{x.Run, x.Epoch, text}
	}
	a.sendOf(x.Run, d.Session, &protocol.Down{Kind: protocol.KindAssign, Run: x.Run, Epoch: x.Epoch, Life: x.Life, Me: d.Assignment.Me, Tail: shared.text})
	return nil
}

// sendOf hands a message about a run to a session, once what was decided about the run's
// folder before is done. Nobody is given a part of an epoch that could not be begun.
func (a *acting) sendOf(run string, id int64, m *protocol.Down) {
	r, s := a.records.known(run), a.sessions[id]
	if r == nil { // a worker spoke of it, and nobody else
		s.hand(m)
		return
	}
	r.lane.soon(func() {
		if m.Kind != protocol.KindAssign || r.bad != m.Epoch {
			s.hand(m)
		}
	})
}

// send hands a message to a session.
func (a *acting) send(id int64, m *protocol.Down) { a.sessions[id].hand(m) }

// from returns where a worker's message comes from.
func (s *session) from(m *protocol.Up) core.From {
	return core.From{Worker: s.name, Session: s.id, Run: m.Run, Epoch: m.Epoch, Life: m.Life}
}

// bounded returns where a run stands, with no more of it than belongs there.
func bounded(p part.Progress) part.Progress {
	p.Metrics, p.Edges = part.Bounded(p.Metrics), part.BoundedTraffic(p.Edges)
	return p
}

// told returns the event that a worker's message is, if it is one.
func (s *session) told(m *protocol.Up) core.Event {
	progress := part.Progress{}
	if m.Progress != nil {
		progress = bounded(*m.Progress)
	}
	switch m.Kind {
	case protocol.KindReady:
		return core.PartReady{From: s.from(m)}
	case protocol.KindDone:
		return core.PartDone{From: s.from(m), Progress: progress}
	case protocol.KindFailed:
		return core.PartFailed{From: s.from(m), Error: m.Text, User: m.User, Peer: m.Peer, Fault: m.Fault}
	case protocol.KindCommit:
		if m.Manifest != nil {
			return core.Committing{From: s.from(m), Manifest: *m.Manifest, Ticket: m.Seq}
		}
	}
	return nil
}
