package edge

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Join makes the replicas for which away is true those of other processes: what is
// for them goes to b, and what comes from them is given to Deliver and Room. It is
// called before any link is used.
func (l *Local) Join(away []bool, b Beyond) {
	l.away, l.beyond = away, b
	for i, box := range l.boxes {
		if away[i] {
			box.in = nil // its places alone are needed: they are the room that it has
		} else {
			l.here++
		}
	}
}

func (l *Local) isAway(replica int) bool { return l.away != nil && l.away[replica] }

// carry does what Send does to a replica of another process.
func (l *Local) carry(ctx context.Context, to int, room *place, m Message) error {
	if !room.hold() {
		l.beyond.Want(to, m.From, m.Edge)
		if err := l.hold(ctx, m.From, room); err != nil {
			return err
		}
	}
	if err := l.beyond.Carry(to, m); err != nil {
		return err
	}
	return l.handOver(ctx, m, room)
}

// rest notes that a replica is about to wait until a count is above zero.
func (l *Local) rest(me int, count *atomic.Int32) {
	if idle := l.waits.begin(me, count); l.beyond != nil {
		l.beyond.Hurry(idle == l.here)
	}
}

// resume notes that a replica's wait has ended. It is called before the count is touched.
func (l *Local) resume(me int) {
	if idle := l.waits.end(me); l.beyond != nil && idle == l.here-1 {
		l.beyond.Busy()
	}
}

// Joined reports whether there are replicas of other processes.
func (l *Local) Joined() bool { return l.beyond != nil }

// Queue returns how many messages of an edge may wait between two replicas.
func (l *Local) Queue(edge int) int { return l.queues[edge] }

// Edges returns how many there are, those of the runner included.
func (l *Local) Edges() int { return len(l.queues) }

// Deliver files a message from another process's replica for one of this process's.
// It never waits: a sender that has no room is an error.
func (l *Local) Deliver(to int, m Message, posted bool) error {
	if err := l.check(m.From, to, m.Edge); err != nil {
		return err
	}
	if posted {
		l.post(to, m)
		return nil
	}
	b := l.boxes[to]
	if !b.places[m.Edge][m.From].hold() {
		return fmt.Errorf("replica %d sent more on edge %d than replica %d has room for", m.From, m.Edge, to)
	}
	b.put(item{m: m})
	return nil
}

// Room notes that replica by of another process took a message of replica from.
func (l *Local) Room(from, by, edge int) error {
	if err := l.check(by, from, edge); err != nil {
		return err
	}
	if !l.boxes[by].places[edge][from].give() {
		return fmt.Errorf("replica %d took more on edge %d than replica %d sent", by, edge, from)
	}
	return nil
}

// Depart tells replica to of this process that one of another process is gone, once
// all that came from it was delivered. It is not told again before it has taken that.
func (l *Local) Depart(to, gone int) {
	l.boxes[to].put(item{m: Message{Edge: Departed, From: gone}}) // has room for it
}

// release gives back the room that replica by held with one that is gone.
func (l *Local) release(gone, by int) {
	for _, places := range l.boxes[gone].places {
		for places[by].give() {
		}
	}
	l.beyond.Released(gone)
}

// check checks that a message from away for here names replicas and an edge that
// there are.
func (l *Local) check(away, here, edge int) error {
	n := len(l.boxes)
	if away < 0 || away >= n || here < 0 || here >= n || edge < 0 || edge >= len(l.queues) || !l.isAway(away) || l.isAway(here) {
		return fmt.Errorf("message on edge %d from replica %d for replica %d, which is not in this process", edge, away, here)
	}
	return nil
}
