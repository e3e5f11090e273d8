package edge

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Topology lists the participants of a run: the edges of a grouping, and the replicas of each of
// its groups with their shares.
type Topology struct {
	Edges  []plan.Edge
	Groups []Members
	// Turns is how many parts of the environments take turns: what is gathered of them
	// then comes part by part. 0 is all at once.
	Turns int
	// Async is how an asynchronous run meets; nil for a synchronous one, which is
	// exact.
	Async *Async
}

// Members are the replicas of a group.
type Members struct {
	Name string
	// Own is each replica's share of the axis that the group divides; one zero Span for a group of
	// one replica, which has everything.
	Own []rl.Span
	// On is each replica's device; nil for a replica of another process. The list is empty if
	// devices are not known.
	On []*rl.Device
}

// Async says how far the replicas of an asynchronous run may come apart.
type Async struct {
	// Staleness is how many versions the weights that a batch or a gradient was
	// made with may be behind when it is used. What is older is dropped.
	Staleness int
	// Producers is how many of a group's replicas a gather waits for; 0 is all.
	Producers int
	// Limit is the proportion of samples to inserts that the consumer keeps by the number of
	// producers that it takes from.
	Limit Limit
	// Whole is true when the consumer keeps something of every row: then a gather waits
	// for another in the place of a producer that is gone.
	Whole bool
}

// Replicas returns how many there are in all groups.
func (t *Topology) Replicas() int {
	n := 0
	for _, g := range t.Groups {
		n += len(g.Own)
	}
	return n
}

// Number returns the number, among all replicas, of replica r of a group.
func (t *Topology) Number(group, r int) int {
	for _, g := range t.Groups[:group] {
		r += len(g.Own)
	}
	return r
}

// Group finds a group by name.
func (t *Topology) Group(name string) (int, error) {
	for i, g := range t.Groups {
		if g.Name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("an edge names group %q, which does not exist", name)
}

// X is a replica's end of all its edges. It belongs to the goroutine that runs
// the replica's program.
type X struct {
	// Lo to Hi is the range of the group's axis that the replica owns, of Of things.
	Lo, Hi, Of int

	ctx   context.Context
	link  Link
	scope *rl.Scope
	top   *Topology
	group int
	rank  int
	ends  []end

	iter      int64
	announced int64     // the last iteration that others were told of
	sessions  []session // sessions in this iteration; set with producers
	skipped   []int64   // iterations whose messages are dropped, by replica
	gone      []bool    // whether each replica has departed
	lives     []int     // number of replicas that departed in this place, by replica
	joined    []bool    // whether a replica's next iteration follows the last one taken, by replica
	counted   int64     // steps that others were told of
	taking    int64     // steps of what was taken from others in this iteration
	taken     int64     // steps of what was used before
	reported  int64     // steps of taken that Used returned
	arrivals  int64

	limits   []*limiter    // limiters of the stores that the replica has
	partly   []rl.Narrower // state that the replica keeps of others' environments
	narrowed bool          // they are at those of this iteration's sessions
	follows  []rl.Breaker  // stores that are told where steps are missing

	waits      atomic.Int32 // edge that the replica waits on, counted from 1; 0 is none
	tracer     Tracer       // nil without one
	peer       int          // replica whose message the next wait is for; -1 is anybody's
	sizes      []size       // by edge, what is sent with the next messages, for the tracer
	departures int          // departures of all replicas
	versions   []int64      // versions of the copies at hand, by edge
	stats      []Stat
}

// end is a replica's side of one edge.
type end struct {
	from, to int         // groups
	waiting  [][]Message // messages that came early, by sender
	copy     copyState
	copies   map[rl.Component]*copyState
	mine     [2]int // rows of the last AllGather that are the replica's own
	rest     func() // takes what is still to come of the last Gathered
	out      outbox // values that wait for a Flush
	in       any    // values that came in a batch and were not asked for yet, an *inbox
}

// Control is how many edges there are beside the topology's own, numbered after them: a runner's
// two, whose messages count as received on arrival so that no sender blocks, that of asynchronous
// producers' tokens, and that of the sessions which replicas in step share.
const Control = 4

// New returns the end of replica r of a group. ctx stops whatever waits.
func New(ctx context.Context, top *Topology, group, r int, s *rl.Scope, link Link) (*X, error) {
	x := &X{ctx: ctx, link: link, scope: s, top: top, group: group, rank: r, counted: s.Steps(), peer: -1}
	own := top.Groups[group].Own[r]
	x.Lo, x.Hi, x.Of = own.Lo, own.Hi, own.Of
	n := len(top.Edges) + Control
	x.ends, x.versions, x.stats = make([]end, n), make([]int64, n), make([]Stat, n)
	k := top.Replicas()
	x.skipped, x.gone, x.lives, x.joined = make([]int64, k), make([]bool, k), make([]int, k), make([]bool, k)
	for i := range x.ends {
		e := &x.ends[i]
		e.waiting = make([][]Message, top.Replicas())
		if i >= len(top.Edges) {
			continue
		}
		var err error
		if e.from, err = top.Group(top.Edges[i].From); err != nil {
			return nil, err
		}
		if e.to, err = top.Group(top.Edges[i].To); err != nil {
			return nil, err
		}
	}
	return x, nil
}

// First reports whether this is the first replica of its group: the one whose
// values count where all have the same.
func (x *X) First() bool { return x.rank == 0 }

// LogOnce logs what is the same in every replica of the group.
func LogOnce(x *X, run *rl.Run, name string, v rl.Tensor) {
	if x.First() {
		run.Log(name, v)
	}
}

// Turn begins another iteration.
func (x *X) Turn() {
	for i := range x.ends {
		x.finish(i)
		x.ends[i].out, x.ends[i].in = nil, nil // of an iteration that was given up
	}
	x.iter++
	for _, l := range x.limits {
		l.note(len(x.sessions))
	}
	x.sessions = x.sessions[:0]
	x.use()
	x.widen()
}

// Taken returns the environment steps behind all that was taken from other replicas:
// what an asynchronous run counts.
func (x *X) Taken() int64 { return x.taken }

// Me returns the replica's number among all.
func (x *X) Me() int { return x.top.Number(x.group, x.rank) }

func (x *X) replicas(group int) int { return len(x.top.Groups[group].Own) }

// fail stops the program; the cause is elsewhere.
func (x *X) fail(err error) { panic(&rl.Failure{Err: fmt.Errorf("%w: %w", ErrStopped, err)}) }

// Put sends a runner's own message.
func (x *X) Put(edge, to int, v any) { x.send(edge, to, Message{Value: v}) }

// PostTo sends one of which only the newest matters.
func (x *X) PostTo(edge, to int, v any) { x.link.Post(to, Message{Edge: edge, Value: v}) }

// Take returns the next message of a sender on an edge.
func (x *X) Take(edge, from int) any { return x.receive(edge, from).Value }

// Poll returns the next message on an edge that has arrived already.
func (x *X) Poll(edge int) (from int, v any, ok bool) {
	x.poll()
	return x.arrived(edge)
}

// arrived returns the next message on an edge that was filed.
func (x *X) arrived(edge int) (from int, v any, ok bool) {
	for from, q := range x.ends[edge].waiting {
		if len(q) > 0 {
			return from, x.pop(edge, from).Value, true
		}
	}
	return 0, nil, false
}

// Drop waits for a message on an edge, or for the loss of a replica. It discards messages on the
// topology's own edges meanwhile; dropped is their number.
func (x *X) Drop(edge int) (from int, v any, ok bool, dropped int) {
	for before := x.departures; ; x.wait(edge) {
		dropped += x.discard()
		if from, v, ok = x.arrived(edge); ok || x.departures > before {
			return from, v, ok, dropped
		}
	}
}

// Gone reports whether a replica has departed and no replacement has reported yet.
func (x *X) Gone(replica int) bool { return x.gone[replica] }

// discard drops what producers sent, with all that is to come of the iterations
// that it belongs to; n is how many iterations that is.
func (x *X) discard() (n int) {
	if x.group != x.top.Keeper() {
		x.absorb()
	}
	for from, q := range x.ends[x.tokens()].waiting {
		if len(q) > 0 {
			n += len(q)
			x.skip(from, q[len(q)-1].Iter)
		}
	}
	return n
}

// absorb takes what producers have sent to a replica in step with the keeper, which decides what is
// dropped, so that none of them waits.
func (x *X) absorb() {
	for e := range x.top.Edges {
		for _, q := range x.ends[e].waiting {
			for i := range q {
				if x.loose(e) && !q[i].taken {
					q[i].taken = true
					x.link.Took(q[i])
				}
			}
		}
	}
}

func (x *X) send(edge, to int, m Message) {
	m.Edge = edge
	if x.tracer != nil {
		x.tracer.Pause()
	}
	begin := time.Now()
	x.waits.Store(int32(edge) + 1)
	if err := x.link.Send(x.ctx, to, m); err != nil {
		x.fail(err)
	}
	x.waits.Store(0)
	s := &x.stats[edge]
	took := time.Since(begin)
	s.Wait += took
	s.Messages++
	if x.tracer != nil {
		x.sizes[edge].sent = true
		x.tracer.Sent(edge, to, x.sizes[edge].bytes, begin, took)
	}
}

// receive returns the next message of one sender.
func (x *X) receive(edge, from int) Message {
	x.peer = from
	for len(x.ends[edge].waiting[from]) == 0 {
		x.wait(edge)
	}
	x.peer = -1
	return x.pop(edge, from)
}

// earliest returns the sender whose message on an edge arrived first, among the senders for which
// ok is true; -1 if no message has arrived.
func (x *X) earliest(edge int, ok func(from int) bool) int {
	best, at := -1, int64(0)
	for from, q := range x.ends[edge].waiting {
		if len(q) > 0 && ok(from) && (best < 0 || q[0].arrived < at) {
			best, at = from, q[0].arrived
		}
	}
	return best
}

// wait files the next message, whatever it is; edge is what the wait is for.
func (x *X) wait(edge int) {
	if m, ok := x.link.Poll(); ok {
		x.file(m)
		return
	}
	if x.tracer != nil {
		x.tracer.Pause()
	}
	begin := time.Now()
	x.waits.Store(int32(edge) + 1)
	m, err := x.link.Next(x.ctx)
	if err != nil {
		x.fail(err)
	}
	x.waits.Store(0)
	took := time.Since(begin)
	x.stats[edge].Wait += took
	if x.tracer != nil {
		x.tracer.Waited(edge, x.peer, begin, took)
	}
	x.file(m)
}

// Waits describes the edge that the replica's program waits on, or returns "" if it does not wait.
// It may be called by any goroutine.
func (x *X) Waits() string {
	switch i := int(x.waits.Load()) - 1; {
	case i < 0:
		return ""
	case i < len(x.top.Edges):
		e := x.top.Edges[i]
		return fmt.Sprintf("%s %q from %s to %s", e.Operator, e.Name, e.From, e.To)
	case i == x.tokens():
		return "the next batch of a producer"
	case i == x.choices():
		return "the choice of an iteration's producers"
	}
	return "the meeting of all replicas at the end of an iteration"
}

// poll files all that has arrived.
func (x *X) poll() {
	for {
		m, ok := x.link.Poll()
		if !ok {
			return
		}
		x.file(m)
	}
}

func (x *X) file(m Message) {
	if m.Edge == Departed {
		x.depart(m)
		return
	}
	x.gone[m.From] = false
	if x.drops(m) {
		x.link.Took(m)
		x.stats[m.Edge].Dropped++
		return
	}
	x.arrivals++
	m.arrived = x.arrivals
	q := &x.ends[m.Edge].waiting[m.From]
	*q = append(*q, m)
	s := &x.stats[m.Edge]
	s.Depth = max(s.Depth, len(*q))
	if x.ours(m.Edge) {
		x.link.Took(m)
	}
}

// ours reports whether an edge is the runner's own.
func (x *X) ours(edge int) bool { return edge >= len(x.top.Edges) && edge != x.tokens() }

// pop takes the oldest message of a sender.
func (x *X) pop(edge, from int) Message {
	q := x.ends[edge].waiting[from]
	m := q[0]
	copy(q, q[1:])
	q[len(q)-1] = Message{}
	x.ends[edge].waiting[from] = q[:len(q)-1]
	if !x.ours(edge) && !m.taken {
		x.link.Took(m)
	}
	x.stats[edge].Received++
	if x.tracer != nil {
		x.tracer.Took(edge, from)
	}
	return m
}
