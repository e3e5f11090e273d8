package coordinator

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-rl/weft/internal/run/control"
	"github.com/weft-rl/weft/internal/run/core"
)

const (
	introduction = 2 * time.Second // for a worker to say who it is
	outgoing     = 256             // messages that wait for a worker
)

// session is a worker's connection.
type session struct {
	id     int64
	name   string
	stream control.Session
	out    chan *control.Down
	heard  atomic.Pointer[time.Time] // when, with its monotonic reading; see hear
	over   chan struct{}
	once   sync.Once
	silent bool  // of the loop
	lease  Lease // of who renews it
}

// hear notes a sign of life. The time is kept as time.Now returns it, since only its monotonic reading tells how much
// time has passed: clocks are set, also by seconds.
func (s *session) hear(now time.Time) { s.heard.Store(&now) }

// quiet returns how long before now the last sign of life was.
func (s *session) quiet(now time.Time) time.Duration { return now.Sub(*s.heard.Load()) }

// end has the connection closed.
func (s *session) end() { s.once.Do(func() { close(s.over) }) }

// offer queues a message; false if the worker takes none.
func (s *session) offer(m *control.Down) bool {
	select {
	case s.out <- m:
		return true
	default:
		return false
	}
}

// Join is a worker's connection: one goroutine reads, this one writes.
func (c *coordinator) Join(stream control.Session) error {
	s := &session{stream: stream, out: make(chan *control.Down, outgoing), over: make(chan struct{})}
	hello := make(chan *control.Up)
	admitted := make(chan *acting, 1)
	defer close(admitted)
	c.readers.Go(func() {
		defer s.end()
		m, err := stream.Recv()
		if err != nil {
			return
		}
		select {
		case hello <- m:
		case <-stream.Context().Done():
			return
		}
		if a := <-admitted; a != nil {
			a.read(s)
		}
	})
	select {
	case m := <-hello:
		if err := c.check(m); err != nil {
			c.Log(fmt.Sprintf("somebody is refused: %.300s", control.Reason(err)))
			return err
		}
		a, err := c.acting(stream.Context())
		if err != nil {
			return err
		}
		return a.welcome(s, m.Hello, admitted)
	case <-s.over:
		return control.Refusal("a message that is no introduction")
	case <-time.After(introduction):
		return control.Refusal("it did not say who it is")
	}
}

// names are those of workers and runs; they become parts of paths.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// check refuses a worker that does not belong here.
func (c *coordinator) check(m *control.Up) error {
	h := m.Hello
	switch {
	case m.Kind != control.KindHello || h == nil:
		return control.Refusal("a message that is no introduction")
	case h.Version != control.Version:
		return control.Refusal(fmt.Sprintf("the worker speaks version %d of the protocol, the coordinator version %d: start both with the same weft", h.Version, control.Version))
	case h.Binary != c.Binary:
		return control.Refusal(fmt.Sprintf("the worker's program (%.12s) is not the coordinator's (%.12s): start both with the same binary", h.Binary, c.Binary))
	case !names.MatchString(h.Name):
		return control.Refusal(fmt.Sprintf("%.100q is no name for a worker: letters, digits, dots, dashes, underscores", h.Name))
	case h.Cores < 1 || h.Memory < 0 || len(h.Devices) == 0:
		return control.Refusal(fmt.Sprintf("worker %s has %d cores, %d bytes of memory and the devices %q", h.Name, h.Cores, h.Memory, h.Devices))
	}
	return nil
}

// welcome lets a worker in, and writes to it until the connection is over.
func (a *acting) welcome(s *session, h *control.Hello, admitted chan<- *acting) error {
	s.id, s.name = a.ids.Add(1), h.Name
	s.hear(time.Now())
	ctx, cancel := context.WithTimeout(s.stream.Context(), storeTimeout)
	lease, err := a.term.Member(ctx, h.Name)
	cancel()
	if err != nil {
		return control.Idle(err.Error())
	}
	s.lease = lease
	defer a.release(s)
	w := core.Worker{
		Name: h.Name, Session: s.id, Instance: h.Instance, Host: h.Host, Data: h.Data,
		Cores: h.Cores, Memory: h.Memory, Devices: h.Devices,
	}
	s.hear(time.Now())
	if !a.put(event{Event: core.Joined{Worker: w, Doing: h.Doing}, joins: s}) {
		return control.Idle("it has just stopped acting")
	}
	defer a.put(event{Event: core.Lost{Name: s.name, Session: s.id}})
	admitted <- a
	return a.write(s)
}

// release gives a worker's lease back, so that others know at once. When it is the term
// that is over, the worker goes on, and the next coordinator is to wait for it.
func (a *acting) release(s *session) {
	select {
	case <-a.done:
		return
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.lease.Release(ctx); err != nil && !errors.Is(err, ErrExpired) {
		a.Log(fmt.Sprintf("worker %s: its lease was not given back: %v", s.name, err))
	}
}

func (a *acting) write(s *session) error {
	defer s.end() // nobody takes anything from now on
	for {
		select {
		case <-s.stream.Context().Done():
			return nil
		case <-s.over:
			return nil
		case <-a.done:
			return control.Idle("it has just stopped acting")
		case m := <-s.out:
			if err := s.stream.Send(m); err != nil {
				return nil // the worker sees it as well
			}
			if m.Kind == control.KindRefused {
				return nil
			}
		}
	}
}

// read takes a worker's messages until the connection is over.
func (a *acting) read(s *session) {
	for {
		m, err := s.stream.Recv()
		if err != nil {
			return
		}
		s.hear(time.Now())
		if err := a.take(s, m); err != nil {
			a.Log(fmt.Sprintf("worker %s: %v", s.name, err))
			return
		}
	}
}

// take handles a message. Lines are written before anything that was said after them
// is decided upon.
func (a *acting) take(s *session, m *control.Up) error {
	switch m.Kind {
	case control.KindBeat:
		s.offer(&control.Down{Kind: control.KindBeat})
		if m.Progress != nil && !a.put(event{Event: core.Progressed{From: s.from(m), Progress: bounded(*m.Progress)}}) {
			return ErrDeposed
		}
		return nil
	case control.KindRecord, control.KindNote:
		if err := a.written(s, m); err != nil && !a.put(event{Event: core.RecordLost{Run: m.Run, Why: err.Error()}}) {
			return ErrDeposed
		}
		// What is acknowledged is not sent again: a coordinator that is killed now has written it.
		a.acknowledge(s, m.Seq)
		return nil
	case control.KindCommit:
		if r := a.records.known(m.Run); r != nil {
			if err := r.sync(); err != nil && !a.put(event{Event: core.RecordLost{Run: m.Run, Why: err.Error()}}) {
				return ErrDeposed
			}
		}
	}
	e := s.told(m)
	if e == nil {
		return fmt.Errorf("a message of kind %q that makes no sense", m.Kind)
	}
	if !a.put(event{Event: e}) {
		return ErrDeposed
	}
	if m.Kind != control.KindCommit { // which is answered
		a.acknowledge(s, m.Seq)
	}
	return nil
}

// acknowledge tells a worker that its message has come. It waits for room: what is not acknowledged the worker keeps, and
// one that keeps too much says nothing more.
func (a *acting) acknowledge(s *session, seq int64) {
	select {
	case s.out <- &control.Down{Kind: control.KindAck, Seq: seq}:
	case <-s.over:
	case <-a.done:
	}
}

// written takes lines and notes of a run. Those of an epoch that is over are dropped.
func (a *acting) written(s *session, m *control.Up) error {
	r := a.records.known(m.Run)
	if r == nil {
		return nil
	}
	if m.Kind == control.KindNote {
		return r.say(s.name + ": " + m.Text)
	}
	return r.write(m.Epoch, m.Offset, m.Tail)
}
