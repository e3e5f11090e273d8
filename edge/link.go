package edge

import (
	"context"
	"errors"
)

// Link carries messages for one replica: the only thing that knows whether the
// others are goroutines of this process or lie beyond a network. A runner
// provides it. Nothing sent may be changed afterwards by either side.
//
// Queues are bounded: for every edge there is one between each two replicas that
// it connects, with room for so many messages as the runner chose, and a sender
// waits while it is full. So the consumer sets the pace.
type Link interface {
	// Send queues m for replica to, waiting for room.
	Send(ctx context.Context, to int, m Message) error
	// Post queues m in place of what replica to has not taken yet of this edge: of
	// several versions only the newest matters. It never waits.
	Post(to int, m Message)
	// Next blocks until there is a message for this replica, on any edge and from any sender, and
	// returns it. Messages of one sender on one edge come in order.
	Next(ctx context.Context) (Message, error)
	// Poll is Next if there is a message already.
	Poll() (m Message, ok bool)
	// Took gives the sender of m room for another one.
	Took(m Message)
}

// Message is one value on an edge. A link between processes writes Value as bytes; the receiver
// knows its type.
type Message struct {
	Edge int
	From int // replica, by number

	Value any

	// Versions holds those of the copies that the value was made with, by edge; only
	// asynchronous runs need them, and the rest of the fields.
	Versions []int64
	Iter     int64 // iteration of the sender
	Steps    int64 // taken for it by the sender's own environments

	arrived int64 // rank in the order of arrival at the receiver
	life    int   // life of its sender, at the receiver
	taken   bool  // whether the sender was told that it was taken
}

// Encoded is a Value that came from another process: what it is is known when it is
// asked for.
type Encoded interface {
	// Decode writes the value to where into, a pointer, points, or nothing if it is
	// malformed. It may be called once.
	Decode(into any) error
}

// Beyond is the way to the replicas of other processes. What is given to it for one
// replica on one edge arrives in that order.
type Beyond interface {
	// Carry takes a message to replica to, which has room for it.
	Carry(to int, m Message) error
	// Newest takes a posted message, in place of one of the same edge and sender that
	// is not on its way yet. It never waits.
	Newest(to int, m Message)
	// Credit tells replica to that replica by received one of its messages on an edge. The link may
	// delay credits and send several together.
	Credit(to, by, edge int)
	// Hurry is called by a replica that is about to block: the link sends all delayed messages at
	// once. idle means that all other replicas of this process are blocked too; Busy is called when
	// that ends.
	Hurry(idle bool)
	Busy()
	// Want tells replica to that from waits for it to take a message on an edge.
	Want(to, from, edge int)
	// Released tells that all that came from a replica that has departed was taken or
	// dropped: another may come in its place.
	Released(replica int)
}

// Departed is the edge on which a link reports that a replica of another process is gone. The
// message is empty; its receiver has processed all messages before it.
const Departed = -1

// ErrStopped is the error of an operation in a run that another process stopped.
var ErrStopped = errors.New("the run was stopped")

// ErrDeparted is the error of an asynchronous consumer's iteration whose producer is gone before it
// has sent everything. The program may be entered again at its top.
var ErrDeparted = errors.New("the replica that was served is gone")
