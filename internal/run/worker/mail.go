package worker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-rl/weft/internal/run/protocol"
)

// post carries all mail of a worker.
type post struct {
	news chan struct{} // has something when there may be something to send
	seq  atomic.Int64  // last message's number, over all parts
}

// mail is the queue of a part's messages that the coordinator has not acknowledged. They are in
// order, and the next connection sends them again.
type mail struct {
	*post
	mu     sync.Mutex
	queue  []*protocol.Up
	sent   int // messages of the queue that this connection has sent
	bytes  int
	closed bool
	waits  map[int64]chan error
	space  chan struct{} // closed, and made anew, when something was acknowledged
}

const (
	maxBytes    = 4 << 20 // most bytes of lines that wait
	maxMessages = 1024
)

func newMail(p *post) *mail {
	return &mail{post: p, waits: map[int64]chan error{}, space: make(chan struct{})}
}

// put queues a message and gives it a number.
func (m *mail) put(u *protocol.Up) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	u.Seq = m.seq.Add(1)
	if u.Kind == protocol.KindCommit {
		m.waits[u.Seq] = make(chan error, 1)
	}
	if m.closed {
		return u.Seq
	}
	m.queue = append(m.queue, u)
	m.bytes += len(u.Tail)
	m.ring()
	return u.Seq
}

// ring has who sends look for something to send.
func (p *post) ring() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// next returns the next message to send, or nil.
func (m *mail) next() *protocol.Up {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sent >= len(m.queue) {
		return nil
	}
	m.sent++
	return m.queue[m.sent-1]
}

// again has everything that was not acknowledged sent by a new connection.
func (m *mail) again() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.sent = 0
}

// acknowledge takes a message off; why is what was wrong with it.
func (m *mail) acknowledge(seq int64, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := slices.IndexFunc(m.queue, func(u *protocol.Up) bool { return u.Seq == seq })
	if i < 0 {
		return
	}
	m.bytes -= len(m.queue[i].Tail)
	m.queue = slices.Delete(m.queue, i, i+1)
	if i < m.sent {
		m.sent--
	}
	close(m.space)
	m.space = make(chan struct{})
	if w := m.waits[seq]; w != nil {
		if why != "" {
			w <- errors.New(why)
		} else {
			w <- nil
		}
	}
}

// close drops all messages.
func (m *mail) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed, m.queue, m.sent, m.bytes = true, nil, 0, 0
}

// wait waits for what becomes of a message.
func (m *mail) wait(ctx, part context.Context, seq int64) error {
	m.mu.Lock()
	w := m.waits[seq]
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		delete(m.waits, seq)
		m.mu.Unlock()
	}()
	select {
	case err := <-w:
		return err
	case <-part.Done():
		return errAborted
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *mail) full() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.crowded()
}

// empty reports whether everything was acknowledged.
func (m *mail) empty() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue) == 0
}

// waiting returns how many messages wait to be acknowledged, and the bytes of lines among them.
func (m *mail) waiting() (messages, bytes int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.queue), m.bytes
}

func (m *mail) crowded() bool { return m.bytes > maxBytes || len(m.queue) > maxMessages }

// room waits until there is room for more. A part that is over has none: its mail was emptied, not
// read.
func (m *mail) room(ctx, part context.Context) error {
	for {
		m.mu.Lock()
		full, space := m.crowded(), m.space
		m.mu.Unlock()
		if part.Err() != nil {
			return errAborted
		}
		if !full {
			return nil
		}
		select {
		case <-space:
		case <-part.Done():
			return errAborted
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
