package edge

import (
	"context"
	"sync/atomic"
)

// Local is links between replicas of one process. A message's value is passed as it
// is: its sender has copied what is not immutable. Join adds replicas of other
// processes.
type Local struct {
	queues []int
	boxes  []*box
	away   []bool // replicas of other processes; nil where there are none
	beyond Beyond
	here   int32 // replicas of this process
	waits  waits
}

// box holds the messages that wait for one replica. A sender has a place in it before it
// puts anything in, so that putting never waits.
type box struct {
	in     chan item
	items  atomic.Int32 // items that were put in and not taken out yet
	places [][]*place   // by edge and sender
	posted [][]atomic.Pointer[Message]
}

func (b *box) put(i item) {
	b.items.Add(1)
	b.in <- i
}

// place is room for the messages of a sender that wait on an edge.
type place struct {
	taken chan struct{} // with room for as many messages as may wait
	free  atomic.Int32  // how many more may
}

func newPlace(room int) *place {
	p := &place{taken: make(chan struct{}, room)}
	p.free.Store(int32(room))
	return p
}

// hold takes room for a message if there is some.
func (p *place) hold() bool {
	select {
	case p.taken <- struct{}{}:
		p.free.Add(-1)
		return true
	default:
		return false
	}
}

// give gives room back, and reports whether any was held.
func (p *place) give() bool {
	select {
	case <-p.taken:
		p.free.Add(1)
		return true
	default:
		return false
	}
}

// item is a message, or the news that one was posted.
type item struct {
	m    Message
	post *atomic.Pointer[Message]
}

// NewLocal links so many replicas over edges: of each, at most as many messages
// as queues says wait between two replicas; with 0 a sender waits until its
// message is taken.
func NewLocal(replicas int, queues []int) *Local {
	l := &Local{queues: queues, boxes: make([]*box, replicas), waits: newWaits(replicas)}
	for i := range l.boxes {
		b, room := &box{}, 0
		for _, queue := range queues {
			places := make([]*place, replicas)
			for j := range places {
				places[j] = newPlace(max(1, queue))
				room += max(1, queue) + 1 // and one that was posted
			}
			b.places = append(b.places, places)
			b.posted = append(b.posted, make([]atomic.Pointer[Message], replicas))
		}
		b.in = make(chan item, room+replicas) // and the news that each is gone
		l.boxes[i] = b
	}
	return l
}

// Link returns replica i's.
func (l *Local) Link(i int) Link { return localLink{l, i} }

type localLink struct {
	all *Local
	me  int
}

func (l localLink) Send(ctx context.Context, to int, m Message) error {
	m.From = l.me
	b := l.all.boxes[to]
	room := b.places[m.Edge][l.me]
	if l.all.isAway(to) {
		return l.all.carry(ctx, to, room, m)
	}
	if err := l.all.hold(ctx, l.me, room); err != nil {
		return err
	}
	b.put(item{m: m})
	return l.all.handOver(ctx, m, room)
}

// handOver waits until a message was taken for which nothing may wait.
func (l *Local) handOver(ctx context.Context, m Message, room *place) error {
	if l.queues[m.Edge] > 0 {
		return nil
	}
	err := l.hold(ctx, m.From, room)
	if err == nil {
		room.give()
	}
	return err
}

// hold waits until a replica has room for a message.
func (l *Local) hold(ctx context.Context, me int, room *place) error {
	if room.hold() {
		return nil
	}
	l.rest(me, &room.free)
	select {
	case room.taken <- struct{}{}:
		l.resume(me)
		room.free.Add(-1)
		return nil
	case <-ctx.Done():
		l.resume(me)
		return context.Cause(ctx)
	}
}

func (l localLink) Post(to int, m Message) {
	m.From = l.me
	if l.all.isAway(to) {
		l.all.beyond.Newest(to, m)
		return
	}
	l.all.post(to, m)
}

// post replaces what replica to has not taken yet.
func (l *Local) post(to int, m Message) {
	b := l.boxes[to]
	cell := &b.posted[m.Edge][m.From]
	if cell.Swap(&m) == nil {
		b.put(item{post: cell})
	}
}

func (l localLink) Next(ctx context.Context) (Message, error) {
	if m, ok := l.Poll(); ok {
		return m, nil
	}
	b := l.all.boxes[l.me]
	l.all.rest(l.me, &b.items)
	select {
	case i := <-b.in:
		l.all.resume(l.me)
		b.items.Add(-1)
		return i.take(), nil
	case <-ctx.Done():
		l.all.resume(l.me)
		return Message{}, context.Cause(ctx)
	}
}

func (l localLink) Poll() (Message, bool) {
	b := l.all.boxes[l.me]
	select {
	case i := <-b.in:
		b.items.Add(-1)
		return i.take(), true
	default:
		return Message{}, false
	}
}

// take returns the item's message: of a posted one, the newest.
func (i item) take() Message {
	if i.post == nil {
		return i.m
	}
	return *i.post.Swap(nil)
}

func (l localLink) Took(m Message) {
	if m.Edge == Departed {
		l.all.release(m.From, l.me)
		return
	}
	held := l.all.boxes[l.me].places[m.Edge][m.From].give() // a posted message holds no place
	if held && l.all.isAway(m.From) {
		l.all.beyond.Credit(m.From, l.me, m.Edge)
	}
}
