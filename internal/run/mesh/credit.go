package mesh

import (
	"fmt"
	"slices"
	"sync"
)

// room is a place that has become free: replica by took a message of replica to's.
type room struct{ edge, by, to int }

// credits are the rooms that a peer is still to be told of. They go with the next
// frame, since the answer to what was taken mostly follows at once; they go at once
// when half of a queue has become free, or when a sender waits for one.
type credits struct {
	mu     sync.Mutex
	rooms  []room
	wanted []room // room that senders wait for
}

// add notes a room, and reports whether the peer should hear of it at once.
func (c *credits) add(r room, queue int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rooms = append(c.rooms, r)
	if i := slices.Index(c.wanted, r); i >= 0 {
		c.wanted = slices.Delete(c.wanted, i, i+1)
		return true
	}
	n := len(c.rooms)
	return queue == 0 || n > 1 && n >= min(queue, mostRooms)/2
}

// wantedBy notes that a sender waits for a room, and reports whether there is
// something to tell it already.
func (c *credits) wantedBy(r room) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.Contains(c.rooms, r) {
		return true
	}
	if !slices.Contains(c.wanted, r) {
		c.wanted = append(c.wanted, r)
	}
	return false
}

// take appends the credits that go with a frame.
func (c *credits) take(out []room) []room {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := min(len(c.rooms), mostRooms)
	out = append(out, c.rooms[:n]...)
	c.rooms = slices.Delete(c.rooms, 0, n)
	return out
}

// Credit implements edge.Beyond.
func (s *Session) Credit(to, by, edge int) {
	p := s.peer(s.g.Homes[to])
	if p.add(room{edge, by, to}, s.g.Links.Queue(edge)) {
		_ = p.send(&frame{kind: beat}) // a stream that is broken says so to who reads it
	}
}

// Want implements edge.Beyond.
func (s *Session) Want(to, from, edge int) {
	_ = s.peer(s.g.Homes[to]).send(&frame{kind: want, edge: edge, from: from, to: to}) // likewise
}

// credited does what a credit says.
func (s *Session) credited(p *peer, r room) error {
	if !s.speaks(p, r.by) {
		return fmt.Errorf("it sent a credit of replica %d, which it does not have", r.by)
	}
	return s.g.Links.Room(r.to, r.by, r.edge)
}

// wants does what a sender that waits asks for.
func (s *Session) wants(p *peer, f frame) error {
	if !s.speaks(p, f.from) || f.to >= len(s.g.Homes) || f.edge >= s.g.Links.Edges() {
		return fmt.Errorf("replica %d waits for replica %d on edge %d, which no replica of this process uses", f.from, f.to, f.edge)
	}
	if p.wantedBy(room{f.edge, f.to, f.from}) {
		return p.send(&frame{kind: beat})
	}
	return nil
}
