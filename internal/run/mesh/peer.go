package mesh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/run/mesh/ring"
	"github.com/weft-rl/weft/internal/run/mesh/wire"
	"github.com/weft-rl/weft/internal/run/part"
)

// peer is another process of the session.
type peer struct {
	number   int
	name     string
	address  string
	sameHost bool

	open     chan struct{} // closed when the stream is there
	admitted atomic.Bool
	stream   *stream

	sending sync.Mutex
	enc     wire.Encoder
	part    []wire.Piece // body of the frame that is being sent
	taken   []room       // credits of the frame that is being sent
	later   atomic.Bool  // something waits for company
	sent    atomic.Uint64
	heard   atomic.Uint64 // frames

	heardAck sync.Once
	left     atomic.Bool   // it said bye
	acked    chan struct{} // closed when it has all that was sent
	ended    chan struct{} // closed when nothing more is read

	spare // it may be another's in the same place

	credits

	posting sync.Mutex
	posts   []posted // posts that are not on their way yet, each of another edge and sender
	wake    chan struct{}
}

// posted is a message that a newer one may replace.
type posted struct {
	to int
	m  edge.Message
}

func newPeer(number int, w part.Worker, host string) *peer {
	p := &peer{number: number, name: w.Name, address: w.Data, sameHost: w.Host == host && host != ""}
	p.make()
	return p
}

func (p *peer) make() {
	p.open, p.acked, p.ended = make(chan struct{}), make(chan struct{}), make(chan struct{})
	p.gone, p.tended, p.wake = make(chan struct{}), make(chan struct{}), make(chan struct{}, 1)
}

func (p *peer) isOpen() bool { return isClosed(p.open) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

func (p *peer) close() {
	if p.isOpen() {
		p.stream.close()
	}
}

// errAbsent is why nothing can be sent to a peer that was let in and is not there yet.
var errAbsent = errors.New("it has not connected yet")

// send sends a frame, with a body that is text.
func (p *peer) send(f *frame, text ...wire.Piece) error {
	if !p.isOpen() {
		return errAbsent
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	return p.cause(p.write(f, text))
}

// write writes a frame; who calls it has the right to send.
func (p *peer) write(f *frame, body []wire.Piece) error {
	f.seq = p.sent.Load()
	p.sent.Store(f.seq + 1)
	p.taken = p.take(p.taken[:0])
	f.credits = p.taken
	if err := p.stream.write(f, body); err != nil {
		return err
	}
	later, err := p.stream.push()
	if later && !p.later.Swap(true) {
		p.rouse()
	}
	return err
}

// hurry sends what waits for company.
func (p *peer) hurry() error {
	if !p.later.Load() {
		return nil
	}
	p.sending.Lock()
	defer p.sending.Unlock()
	p.later.Store(false)
	return p.cause(p.stream.flush())
}

// rouse wakes who tends the peer.
func (p *peer) rouse() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// cause returns why a stream broke, in words: a process that is gone, and gRPC's many ways
// to say so.
func (p *peer) cause(err error) error {
	if err == nil {
		return nil
	}
	switch status.Code(err) {
	case codes.Canceled, codes.Unavailable:
		err = io.EOF
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) || errors.Is(err, net.ErrClosed) ||
		errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET) {
		return errors.New("its connection was closed")
	}
	return err
}

// message sends a message. A value that cannot cross is the session's failure; a stream
// that breaks, the peer's.
func (s *Session) message(p *peer, k kind, to int, m edge.Message) error {
	if p.left.Load() {
		if k == post { // who has done its part needs nothing newer
			return nil
		}
		err := s.unmet(fmt.Errorf("worker %s has left, though something is to be sent to it", p.name))
		s.fail(err)
		return err
	}
	if err := s.present(p); err != nil {
		s.lose(p, err)
		return err
	}
	// What is to be done about an error comes after the right to send is given back: who ends the
	// session meanwhile waits for it.
	broken, err := p.message(k, to, m)
	switch {
	case err == nil:
	case broken:
		s.lose(p, err)
	default:
		s.fail(err)
	}
	return err
}

// message sends a message, and reports whether it was the stream that did not take it.
func (p *peer) message(k kind, to int, m edge.Message) (broken bool, err error) {
	p.sending.Lock()
	defer p.sending.Unlock()
	all, err := p.enc.Encode(m)
	if err != nil {
		return false, err
	}
	defer p.enc.Release()
	f := frame{kind: k, edge: m.Edge, from: m.From, to: to}
	for _, x := range all {
		f.total += uint64(len(x.Bytes))
	}
	if m, ok := p.stream.carrier.(shared); ok {
		m.Rouse()
	}
	return true, p.cause(p.parts(f, all))
}

// present waits for a peer that comes in another's place.
func (s *Session) present(p *peer) error {
	if p.isOpen() {
		return nil
	}
	select {
	case <-p.open:
		return nil
	case <-p.gone:
		return errAbsent
	case <-s.ctx.Done():
		return context.Cause(s.ctx)
	}
}

// parts writes a message's frames.
func (p *peer) parts(f frame, all []wire.Piece) error {
	defer func() { clear(p.part[:cap(p.part)]) }()
	p.part = p.part[:0]
	free := mostBody
	for _, x := range all {
		for rest := x.Bytes; len(rest) > 0; {
			n := min(free, len(rest))
			p.part = append(p.part, wire.Piece{Bytes: rest[:n:n], Owner: x.Owner})
			rest, free = rest[n:], free-n
			if free > 0 {
				continue
			}
			if err := p.write(&f, p.part); err != nil {
				return err
			}
			f.kind, p.part, free = more, p.part[:0], mostBody
		}
	}
	if len(p.part) == 0 {
		return nil
	}
	return p.write(&f, p.part)
}

// Carry implements edge.Beyond.
func (s *Session) Carry(to int, m edge.Message) error {
	p := s.peer(s.g.Homes[to])
	if p == nil {
		return fmt.Errorf("replica %d has nothing to say to replica %d", m.From, to)
	}
	return s.message(p, data, to, m)
}

// Newest implements edge.Beyond.
func (s *Session) Newest(to int, m edge.Message) {
	s.swap.RLock()
	defer s.swap.RUnlock()
	p := s.peer(s.g.Homes[to])
	p.posting.Lock()
	defer p.posting.Unlock()
	if s.g.Star {
		p.keep(posted{to, m})
	}
	for i := range p.posts {
		if q := &p.posts[i]; q.to == to && q.m.Edge == m.Edge && q.m.From == m.From {
			q.m = m
			return
		}
	}
	p.posts = append(p.posts, posted{to, m})
	p.rouse()
}

// Hurry implements edge.Beyond.
func (s *Session) Hurry(idle bool) {
	for i := range s.peers {
		if p := s.peer(i); p.isHere() {
			_ = p.hurry() // a stream that is broken says so to who reads it
		}
	}
	if idle {
		s.busy(false)
	}
}

// Busy implements edge.Beyond.
func (s *Session) Busy() { s.busy(true) }

// busy lets processes that share memory with this one know whether it computes. They
// are as many as there is memory for: it says nothing of others.
func (s *Session) busy(yes bool) {
	for i := range s.peers {
		if m := s.peer(i).memory(); m != nil {
			m.Busy(yes)
		}
	}
}

// Beside returns how many other processes of the session compute on this host now.
func (s *Session) Beside() (n int) {
	for i := range s.peers {
		if m := s.peer(i).memory(); m != nil && m.OtherBusy() {
			n++
		}
	}
	return n
}

// isHere reports whether there is such a peer, its stream is open, and it has not gone.
func (p *peer) isHere() bool { return p != nil && p.isOpen() && !p.isGone() }

// memory returns what is shared with a peer that is here; nil is nothing.
func (p *peer) memory() *ring.Pipe {
	if p.isHere() {
		if m, ok := p.stream.carrier.(shared); ok {
			return m.Pipe
		}
	}
	return nil
}

// tend sends what was posted and what waits for company, and heartbeats while there is
// nothing else to send.
func (s *Session) tend(p *peer) {
	tick := time.NewTicker(s.node.o.Silence / 8)
	defer tick.Stop()
	for sent := uint64(0); ; {
		var err error
		select {
		case <-s.ctx.Done():
			return
		case <-p.gone:
			return
		case <-p.wake:
			err = s.flush(p)
		case <-tick.C:
			if p.sent.Load() == sent && !p.left.Load() {
				err = p.send(&frame{kind: beat})
			}
			sent = p.sent.Load()
		}
		if err != nil {
			s.lose(p, err)
			return
		}
	}
}

// flush sends what was posted.
func (s *Session) flush(p *peer) error {
	p.posting.Lock()
	list := p.posts
	p.posts = nil
	p.posting.Unlock()
	for _, x := range list {
		if err := s.message(p, post, x.to, x.m); err != nil {
			return err
		}
	}
	return p.hurry()
}

// read takes frames until the stream ends.
func (s *Session) read(p *peer) {
	in := inbox{largest: s.node.o.Largest}
	var f frame
	for next := uint64(0); ; next++ {
		err := p.stream.in.next(&f, in.place)
		if err == nil {
			p.heard.Add(1)
			if f.seq != next {
				err = fmt.Errorf("frame %d came as number %d", f.seq, next)
			} else {
				err = s.handle(p, &in, f)
			}
		}
		if err != nil {
			s.lose(p, p.cause(err))
			return
		}
	}
}

// inbox is where bodies go.
type inbox struct {
	largest int64 // message
	first   frame
	body    []byte // received part of a message; nil between messages
	have    int
	text    []byte // body of the last frame that is no part of a message
}

// place returns where a frame's body goes: a part of a message to the memory that becomes its
// tensors'.
func (in *inbox) place(f *frame) ([]byte, error) {
	if !f.kind.isMessage() {
		if f.size > mostText {
			return nil, fmt.Errorf("%d bytes of text", f.size)
		}
		in.text = make([]byte, f.size)
		return in.text, nil
	}
	if (f.kind == more) != (in.body != nil) {
		return nil, errors.New("a part of a message came alone")
	}
	if f.kind != more {
		if f.total > uint64(in.largest) {
			return nil, fmt.Errorf("a message of %d bytes is more than %d", f.total, in.largest)
		}
		in.first, in.body, in.have = *f, wire.Memory(int(f.total)), 0
	}
	if left := len(in.body) - in.have; f.size > left || f.size < min(left, mostBody) {
		return nil, errors.New("a message has another length than its header says")
	}
	in.have += f.size
	return in.body[in.have-f.size : in.have], nil
}

// handle does what a frame says.
func (s *Session) handle(p *peer, in *inbox, f frame) error {
	for _, r := range f.credits {
		if err := s.credited(p, r); err != nil {
			return err
		}
	}
	switch f.kind {
	case data, post, more:
		if in.have < len(in.body) {
			return nil
		}
		body := in.body
		in.body = nil
		return s.deliver(p, in.first, body)
	case want:
		return s.wants(p, f)
	case bye:
		p.left.Store(true)
		_ = p.send(&frame{kind: ack}) // who has gone already needs none
		s.orphaned(p)
		return p.hurry()
	case ack:
		p.heardAck.Do(func() { close(p.acked) })
	case fail, lost:
		_ = p.send(&frame{kind: ack}) // or it is gone
		_ = p.hurry()
		if s.spares() { // whose failure it is tells the coordinator
			p.depart()
			return nil
		}
		s.fail(s.reason(f, string(in.text)))
	}
	return nil
}

func (s *Session) deliver(p *peer, f frame, body []byte) error {
	m, err := wire.Decode(body, s.g.Device)
	if err != nil {
		return err
	}
	m.Edge, m.From = f.edge, f.from
	if !s.speaks(p, f.from) {
		return fmt.Errorf("it sent a message of replica %d, which it does not have", f.from)
	}
	return s.g.Links.Deliver(f.to, m, f.kind == post)
}

// speaks reports whether a replica is a peer's.
func (s *Session) speaks(p *peer, replica int) bool {
	return replica < len(s.g.Homes) && s.g.Homes[replica] == p.number
}
