package mesh

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/wire"
)

// stream is either end of a gRPC stream.
type stream interface {
	SendMsg(any) error
	RecvMsg(any) error
}

// peer is another process of the session.
type peer struct {
	number   int
	name     string
	address  string
	sameHost bool

	open     chan struct{} // closed when the stream is there
	admitted atomic.Bool
	stream   stream
	conn     *grpc.ClientConn // of a stream that this process opened
	cancel   context.CancelFunc

	sending sync.Mutex
	sent    uint64
	spoke   atomic.Int64 // when something was last sent, and heard
	heard   atomic.Int64

	heardAck sync.Once
	left     atomic.Bool   // it said bye
	acked    chan struct{} // closed when it has all that was sent
	ended    chan struct{} // closed when nothing more is read

	spare // it may be another's in the same place

	credits

	posting sync.Mutex
	posts   []posted // that are not on their way yet, each of another edge and sender
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

func (p *peer) isOpen() bool {
	select {
	case <-p.open:
		return true
	default:
		return false
	}
}

func (p *peer) close() {
	if p.cancel != nil {
		p.cancel()
	}
	if p.conn != nil {
		_ = p.conn.Close() // nothing is left on it
	}
}

// send sends the frames of one message, one after another.
func (p *peer) send(frames ...*frame) error {
	p.sending.Lock()
	defer p.sending.Unlock()
	for _, f := range frames {
		f.seq = p.sent
		p.sent++
		f.credits = p.take()
		if err := p.stream.SendMsg(f); err != nil {
			return p.cause(err)
		}
	}
	p.spoke.Store(time.Now().UnixNano())
	return nil
}

// cause is why a stream broke, in words: a process that is gone, and gRPC's many ways
// to say so.
func (p *peer) cause(err error) error {
	switch status.Code(err) {
	case codes.Canceled, codes.Unavailable:
		err = io.EOF
	}
	if errors.Is(err, io.EOF) {
		return errors.New("its connection was closed")
	}
	return err
}

// message sends a message, in parts if it is large. A value that cannot cross is the
// session's failure; a stream that breaks, the peer's.
func (s *Session) message(p *peer, k kind, to int, m edge.Message) error {
	all, err := wire.Encode(m)
	if err == nil && p.left.Load() {
		err = s.unmet(fmt.Errorf("worker %s has left, though something is to be sent to it", p.name))
	}
	if err != nil {
		s.fail(err)
		return err
	}
	total := uint64(all.Len())
	bodies := split(all)
	frames := make([]*frame, len(bodies))
	for i, body := range bodies {
		frames[i] = &frame{kind: k, edge: m.Edge, from: m.From, to: to, total: total, body: body}
		k = more
	}
	if err = p.send(frames...); err != nil {
		s.lose(p, err)
	}
	return err
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
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// tend sends what was posted, and heartbeats while there is nothing else to send.
func (s *Session) tend(p *peer) {
	every := s.node.o.Silence / 4
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		var err error
		select {
		case <-s.ctx.Done():
			return
		case <-p.gone:
			return
		case <-p.wake:
			err = s.flush(p)
		case now := <-tick.C:
			if now.Sub(time.Unix(0, p.spoke.Load())) > every/2 && !p.left.Load() {
				err = p.send(&frame{kind: beat})
			}
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
	return nil
}

// read takes frames until the stream ends.
func (s *Session) read(p *peer) {
	var in inbox
	for next := uint64(0); ; next++ {
		var f frame
		err := p.stream.RecvMsg(&f)
		if err == nil {
			p.heard.Store(time.Now().UnixNano())
			if f.seq != next {
				err = fmt.Errorf("frame %d came as number %d", f.seq, next)
				f.body.Free()
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

// inbox is a message of which a part has come.
type inbox struct {
	first frame
	body  []byte // nil between messages
	have  int
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
		return s.collect(p, in, f)
	}
	text := f.body.Materialize()
	f.body.Free()
	switch f.kind {
	case want:
		return s.wants(p, f)
	case bye:
		p.left.Store(true)
		_ = p.send(&frame{kind: ack}) // who has gone already needs none
		s.orphaned(p)
	case ack:
		p.heardAck.Do(func() { close(p.acked) })
	case fail, lost:
		_ = p.send(&frame{kind: ack}) // or it is gone
		s.fail(s.reason(f, string(text)))
	}
	return nil
}

// collect puts a message's parts together, and delivers it. Where gRPC put them is
// free again at once, which keeps that memory in the cache.
func (s *Session) collect(p *peer, in *inbox, f frame) error {
	defer f.body.Free()
	if (f.kind == more) != (in.body != nil) {
		return errors.New("a part of a message came alone")
	}
	if f.kind != more {
		if f.total > uint64(s.node.o.Largest) {
			return fmt.Errorf("a message of %d bytes is more than %d", f.total, s.node.o.Largest)
		}
		in.first, in.body, in.have = f, wire.Memory(int(f.total)), 0
	}
	n := f.body.Len()
	if left := len(in.body) - in.have; n > left || n < min(left, mostBody) {
		return errors.New("a message has not the length that it said")
	}
	f.body.CopyTo(in.body[in.have:])
	if in.have += n; in.have < len(in.body) {
		return nil
	}
	body := in.body
	in.body = nil
	return s.deliver(p, in.first, body)
}

func (s *Session) deliver(p *peer, f frame, body []byte) error {
	m, err := wire.Decode(body, s.g.Device)
	if err != nil {
		return err
	}
	m.Edge, m.From = f.edge, f.from
	if !s.speaks(p, f.from) {
		return fmt.Errorf("it speaks for replica %d, which is not its", f.from)
	}
	return s.g.Links.Deliver(f.to, m, f.kind == post)
}

// speaks reports whether a replica is a peer's.
func (s *Session) speaks(p *peer, replica int) bool {
	return replica < len(s.g.Homes) && s.g.Homes[replica] == p.number
}
