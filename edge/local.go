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
	here   int32        // replicas of this process
	idle   atomic.Int32 // replicas of this process that wait
	woken  atomic.Int64 // waits that have ended
}

// Waiting returns how many replicas of this process wait for a message, or for room to send one,
// and how many such waits have ended so far.
func (l *Local) Waiting() (now int, ended int64) {
	ended = l.woken.Load() // first: a wait that ends meanwhile is seen at the next look
	return int(l.idle.Load()), ended
}

// box is what waits for one replica. Every sender holds a place in it before it
// puts anything in, so that putting never waits.
type box struct {
	in chan item
	// places are by edge and sender: a channel with room for as many messages as
	// may wait.
	places [][]chan struct{}
	posted [][]atomic.Pointer[Message]
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
	l := &Local{queues: queues, boxes: make([]*box, replicas)}
	for i := range l.boxes {
		b, room := &box{}, 0
		for _, queue := range queues {
			places := make([]chan struct{}, replicas)
			for j := range places {
				places[j] = make(chan struct{}, max(1, queue))
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
	places := b.places[m.Edge][l.me]
	if l.all.isAway(to) {
		return l.all.carry(ctx, to, places, m)
	}
	if err := l.all.hold(ctx, places); err != nil {
		return err
	}
	b.in <- item{m: m}
	if l.all.queues[m.Edge] > 0 {
		return nil
	}
	if err := l.all.hold(ctx, places); err != nil { // until it was taken
		return err
	}
	<-places
	return nil
}

// hold takes a place.
func (l *Local) hold(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	default:
	}
	l.rest()
	defer l.resume()
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
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
		b.in <- item{post: cell}
	}
}

func (l localLink) Next(ctx context.Context) (Message, error) {
	if m, ok := l.Poll(); ok {
		return m, nil
	}
	l.all.rest()
	defer l.all.resume()
	select {
	case i := <-l.all.boxes[l.me].in:
		return i.take(), nil
	case <-ctx.Done():
		return Message{}, context.Cause(ctx)
	}
}

func (l localLink) Poll() (Message, bool) {
	select {
	case i := <-l.all.boxes[l.me].in:
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
	select {
	case <-l.all.boxes[l.me].places[m.Edge][m.From]:
		if l.all.isAway(m.From) {
			l.all.beyond.Credit(m.From, l.me, m.Edge)
		}
	default: // a posted message holds no place
	}
}
