package coordinator

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/gate"
	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

const (
	introduction = 2 * time.Second // time for a worker to say who it is
	outgoing     = 256             // messages that wait for a worker
)

// session is a worker's connection.
type session struct {
	id     int64
	name   string
	who    gate.Caller
	stream protocol.Session
	out    chan *protocol.Down
	heard  atomic.Pointer[time.Time] // when, with its monotonic reading; see hear
	over   chan struct{}
	once   sync.Once
	read   chan struct{} // closed when all that came is decided upon
	silent bool          // nothing was heard of the worker for too long; used by the loop alone
	misses bool          // the part last said that it hears nothing of others; used by the listener alone
	lease  Lease         // lease; used by the goroutine that renews it
	left   func()        // has its store not be the cluster's because of it; may be called again
	parts  parts         // parts that it was given
}

// hear notes a sign of life. The time is kept as time.Now returns it, since only its monotonic
// reading tells how much time has passed: clocks are set, also by seconds.
func (s *session) hear(now time.Time) { s.heard.Store(&now) }

// quiet returns how long before now the last sign of life was.
func (s *session) quiet(now time.Time) time.Duration { return now.Sub(*s.heard.Load()) }

// end closes the connection.
func (s *session) end() { s.once.Do(func() { close(s.over) }) }

// offer queues a message; false if the worker takes none.
func (s *session) offer(m *protocol.Down) bool {
	select {
	case s.out <- m:
		return true
	default:
		return false
	}
}

// hand queues a message. A session that takes none is given up; nil is one that is over.
func (s *session) hand(m *protocol.Down) {
	if s != nil && !s.offer(m) {
		s.end()
	}
}

// Join serves a worker's connection: one goroutine reads, this one writes.
func (c *coordinator) Join(stream protocol.Session) error {
	s := &session{stream: stream, who: protocol.Caller(stream.Context()), out: make(chan *protocol.Down, outgoing), over: make(chan struct{}), read: make(chan struct{})}
	hello := make(chan *protocol.Up)
	admitted := make(chan *acting, 1)
	defer close(admitted)
	c.readers.Go(func() {
		defer s.end()
		defer close(s.read)
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
			a.listen(s)
		}
	})
	select {
	case m := <-hello:
		if err := c.check(m); err != nil {
			c.gate.Refused(s.who, protocol.Reason(err))
			return err
		}
		a, err := c.acting(stream.Context())
		if err != nil {
			return err
		}
		left, err := a.share(s, m.Hello)
		if err != nil {
			c.Log.Warn(fmt.Sprintf("it is refused: %.300s", protocol.Reason(err)), journal.Worker, m.Hello.Name)
			return err
		}
		s.left = sync.OnceFunc(left)
		defer s.left()
		if d := m.Hello.Doing; d != nil {
			s.parts.claimed = d.Run
		}
		return a.welcome(s, m.Hello, admitted)
	case <-s.over:
		return protocol.Refusal("a message that is no introduction")
	case <-time.After(introduction):
		return protocol.Refusal("it did not say who it is")
	}
}

// names matches the names that workers and runs may have; they become parts of paths.
var names = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$`)

// check refuses a worker that does not belong here.
func (c *coordinator) check(m *protocol.Up) error {
	h := m.Hello
	switch {
	case m.Kind != protocol.KindHello || h == nil:
		return protocol.Refusal("a message that is no introduction")
	case h.Version != protocol.Version:
		return protocol.Refusal(fmt.Sprintf("the worker speaks version %d of the protocol, the coordinator version %d: start both with the same weft", h.Version, protocol.Version))
	case !names.MatchString(h.Name):
		return protocol.Refusal(fmt.Sprintf("%.100q is no name for a worker: letters, digits, dots, dashes, underscores", h.Name))
	case h.Cores < 1 || h.Memory < 0 || len(h.Devices) == 0:
		return protocol.Refusal(fmt.Sprintf("worker %s has %d cores, %d bytes of memory and the devices %.200q", h.Name, h.Cores, h.Memory, h.Devices))
	}
	return sane(h)
}

// welcome lets a worker in, and writes to it until the connection is over.
func (a *acting) welcome(s *session, h *protocol.Hello, admitted chan<- *acting) error {
	s.id, s.name = a.ids.Add(1), h.Name
	s.hear(time.Now())
	ctx, cancel := context.WithTimeout(s.stream.Context(), storeTimeout)
	lease, err := a.term.Member(ctx, h.Name)
	cancel()
	if err != nil {
		return protocol.Idle(err.Error())
	}
	s.lease = lease
	defer a.release(s)
	w := core.Worker{
		Name: h.Name, Session: s.id, Instance: h.Instance, Host: h.Host, Data: h.Data,
		Cores: h.Cores, Memory: h.Memory, Devices: h.Devices, Binary: h.Binary, Platform: h.Platform, Guest: h.Guest, Draining: h.Draining, Holder: s.who.Name,
	}
	s.hear(time.Now())
	if !a.put(event{Event: core.Joined{Worker: w, Doing: h.Doing}, joins: s}) {
		return protocol.Idle("it has just stopped acting")
	}
	defer a.put(event{Event: core.Lost{Name: s.name, Session: s.id}})
	defer s.left() // before others hear of it
	admitted <- a
	return a.speak(s)
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
		a.Log.Warn(fmt.Sprintf("its lease was not given back: %v", err), journal.Worker, s.name)
	}
}

func (a *acting) speak(s *session) error {
	defer s.end() // nobody takes anything from now on
	for {
		select {
		case <-s.stream.Context().Done():
			select { // what came before the end counts
			case <-s.read:
			case <-a.done:
			}
			return nil
		case <-s.over:
			return nil
		case <-a.done:
			return protocol.Idle("it has just stopped acting")
		case m := <-s.out:
			if err := s.stream.Send(m); err != nil {
				return nil // the worker sees it as well
			}
			if m.Kind == protocol.KindRefused {
				return nil
			}
		}
	}
}

// listen takes a worker's messages until the connection is over, and returns when all of
// them are handled.
func (a *acting) listen(s *session) {
	receipts := make(chan receipt, settling)
	var settled sync.WaitGroup
	defer settled.Wait()
	defer close(receipts)
	settled.Go(func() { a.settle(s, receipts) })
	for {
		m, err := s.stream.Recv()
		if err != nil {
			return
		}
		s.hear(time.Now())
		if !a.take(s, m, receipts) {
			return
		}
	}
}

// take handles a message; false if the term is over. Lines are written before anything
// that was said after them is decided upon.
func (a *acting) take(s *session, m *protocol.Up, receipts chan<- receipt) bool {
	if m.Kind == protocol.KindBeat {
		s.offer(&protocol.Down{Kind: protocol.KindBeat})
		return a.stands(s, m)
	}
	if m.Kind == protocol.KindLeave {
		return a.put(event{Event: core.Leaving{Worker: s.name, Session: s.id}})
	}
	x := receipt{message: m}
	if s.parts.mayWrite(m) {
		x.record = a.records.known(m.Run)
	} else if !s.parts.knows(m.Run) {
		a.gate.Refused(s.who, fmt.Sprintf("worker %s says %q of run %q, of which it has no part", s.name, m.Kind, m.Run))
	}
	if err := a.written(s, x); err != nil && !a.lose(m, err) {
		return false
	}
	if m.Tail = nil; m.Kind == protocol.KindNote { // what waits to be settled is small
		m.Text = ""
	}
	m.Text = part.Brief(m.Text)
	receipts <- x // settle takes them to the end
	return true
}

// stands handles what a sign of life says of a part; false if the term is over.
func (a *acting) stands(s *session, m *protocol.Up) bool {
	if was := s.misses; was || len(m.Quiet) > 0 {
		s.misses = len(m.Quiet) > 0
		if !a.put(event{Event: core.Quiet{From: s.from(m), Workers: m.Quiet}}) {
			return false
		}
	}
	return m.Progress == nil || a.put(event{Event: core.Progressed{From: s.from(m), Progress: bounded(*m.Progress)}})
}

// acknowledge tells a worker that its message has come. It waits for room: what is not acknowledged
// the worker keeps, and one that keeps too much says nothing more.
func (a *acting) acknowledge(s *session, seq int64) {
	select {
	case s.out <- &protocol.Down{Kind: protocol.KindAck, Seq: seq}:
	case <-s.over:
	case <-a.done:
	}
}

// written takes lines and notes of a run. Those of an epoch that is over are dropped.
func (a *acting) written(s *session, x receipt) error {
	if x.record == nil {
		return nil
	}
	switch m := x.message; m.Kind {
	case protocol.KindNote:
		return x.record.say(s.name + ": " + brief(m.Text, maxNote))
	case protocol.KindRecord:
		return x.record.write(m.Epoch, m.Offset, m.Tail)
	}
	return nil
}
