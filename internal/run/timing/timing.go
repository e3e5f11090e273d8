// Package timing records how a replica of a run spends its time: in which operations, at which
// edges, waiting for whom.
//
// A Recorder is the replica's rl.Timer and edge.Tracer. It adds up, so that a run of any length
// takes the same memory, and keeps the newest spans for a timeline. What it has added up is a
// Tally, which is plain data: replicas of other processes send theirs to the owner with their
// reports.
//
// Times are a frame's own: an operation that a lazy value makes inside an edge's operator counts as
// the operation, waiting inside an operator counts as waiting. The first call of every operation is
// left out, because it compiles, and so are the first iterations.
package timing

import (
	"os"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/rl"
)

// Watch sees all that a replica does.
type Watch interface {
	rl.Timer
	edge.Tracer
}

// Tally is how one replica has spent its time since Skip iterations were done. Durations are in
// nanoseconds.
type Tally struct {
	On         bool   // the replica was recorded
	Host       string // name of its machine
	Cores      int    // cores that its process may use
	Iterations int64
	Wall       int64 // time since the first iteration that counts, less Warm
	Warm       int64 // time of first calls, which compile
	Events     int64 // calls of the recorder, in pairs
	Operations []Operation
	Edges      []Edge // by number; those of the runner after those of the plan
	Spans      []Span // the newest; only when the replica has ended
}

// Operation counts the calls of one operation.
type Operation struct {
	Kind, Name string
	Number     int
	Count      int64
	Nanos      int64 // its own time
}

// Edge counts one replica's use of an edge.
type Edge struct {
	Operators int64 // calls of operators
	Sent      int64 // messages
	Taken     int64
	Bytes     int64 // of tensors, in all messages sent
	Handling  int64 // time in operators, but for sending and waiting: copies
	Sending   int64 // time until messages were queued, with waiting for room
	Waits     []Wait
}

// Wait is time spent waiting for another replica's message.
type Wait struct {
	Peer  int // number of the replica; -1 is any
	Nanos int64
}

// Span is one stretch of a replica's time.
type Span struct {
	What  int32 // index of an operation; -1-edge for an operator; see Waiting
	Peer  int32 // replica that was waited for; only of a wait
	Wait  bool
	Begin int64 // nanoseconds since 1970
	Nanos int64
}

// Timelines of several processes have the wall clock in common: it is read once.
var (
	started = time.Now()
	origin  = started.UnixNano()
)

// since1970 returns a time on the clock that all processes of a machine share.
func since1970(t time.Time) int64 { return origin + int64(t.Sub(started)) }

// Skip is the number of iterations that are left out: the first compiles operations, and the second
// the graphs that take their place.
const Skip = 2

// spans is how many of the newest spans are kept.
const spans = 4096

// Recorder records one replica. It belongs to the replica's goroutine.
type Recorder struct {
	Tally
	now   func() time.Time
	nexts int
	whole bool      // the loop is one device program, whose iterations are not seen one by one
	from  time.Time // begin of what counts
	index map[ident]int
	stack []frame
	ring  []Span
	at    int // in ring
}

type ident struct {
	kind, name string
	number     int
}

// frame is an operation or an operator under way.
type frame struct {
	begin  time.Time
	inside time.Duration // time of frames and waits inside
}

// New returns a recorder for a replica with so many edges, the runner's own included.
func New(edges int) *Recorder { return newRecorder(edges, time.Now) }

func newRecorder(edges int, now func() time.Time) *Recorder {
	host, _ := os.Hostname() // one without a name is one machine
	r := &Recorder{now: now, index: map[ident]int{}, ring: make([]Span, 0, spans)}
	r.Tally = Tally{On: true, Host: host, Cores: runtime.GOMAXPROCS(0), Edges: make([]Edge, edges)}
	r.from = now()
	return r
}

// Next begins an iteration.
func (r *Recorder) Next(int64) {
	if r.whole {
		return
	}
	r.nexts++
	if r.nexts <= Skip+1 {
		r.restart()
	}
}

// restart forgets what was added up.
func (r *Recorder) restart() {
	for i := range r.Operations {
		r.Operations[i].Count, r.Operations[i].Nanos = 0, 0
	}
	clear(r.Edges)
	r.Warm, r.Events, r.from = 0, 0, r.now()
}

// Begin begins an operation.
func (r *Recorder) Begin() { r.stack = append(r.stack, frame{begin: r.now()}) }

// End ends an operation.
func (r *Recorder) End(op rl.Operation) {
	id := ident{op.Kind, op.Name, op.Number}
	i, known := r.index[id]
	if !known {
		i = len(r.Operations)
		r.index[id] = i
		r.Operations = append(r.Operations, Operation{Kind: op.Kind, Name: op.Name, Number: op.Number})
	}
	own, f := r.pop()
	r.span(Span{What: int32(i), Begin: since1970(f.begin), Nanos: int64(own + f.inside)})
	if !known {
		r.Warm += int64(own)
		return
	}
	r.Operations[i].Count++
	r.Operations[i].Nanos += int64(own)
}

// Enter begins an operator of an edge.
func (r *Recorder) Enter(int) { r.stack = append(r.stack, frame{begin: r.now()}) }

// Leave ends it.
func (r *Recorder) Leave(edge int) {
	own, f := r.pop()
	r.Edges[edge].Operators++
	r.Edges[edge].Handling += int64(own)
	r.span(Span{What: int32(-1 - edge), Begin: since1970(f.begin), Nanos: int64(own + f.inside)})
}

// Pause does nothing: Sent and Waited have the time.
func (r *Recorder) Pause() {}

// pop ends the innermost frame and returns its own time.
func (r *Recorder) pop() (own time.Duration, f frame) {
	n := len(r.stack) - 1
	f = r.stack[n]
	r.stack = r.stack[:n]
	took := r.now().Sub(f.begin)
	r.Events++
	if n > 0 {
		r.stack[n-1].inside += took
	}
	return took - f.inside, f
}

// Sent counts a message.
func (r *Recorder) Sent(edge, _ int, bytes int64, _ time.Time, took time.Duration) {
	e := &r.Edges[edge]
	e.Sent++
	e.Bytes += bytes
	e.Sending += int64(took)
	r.within(took)
}

// Waited counts the time of a wait.
func (r *Recorder) Waited(edge, from int, begin time.Time, took time.Duration) {
	e := &r.Edges[edge]
	i := slices.IndexFunc(e.Waits, func(w Wait) bool { return w.Peer == from })
	if i < 0 {
		i = len(e.Waits)
		e.Waits = append(e.Waits, Wait{Peer: from})
	}
	e.Waits[i].Nanos += int64(took)
	r.within(took)
	r.span(Span{What: int32(-1 - edge), Peer: int32(from), Wait: true, Begin: since1970(begin), Nanos: int64(took)})
}

// Took counts a message that was taken.
func (r *Recorder) Took(edge, _ int) { r.Edges[edge].Taken++ }

// within takes a time out of the innermost frame's own.
func (r *Recorder) within(took time.Duration) {
	if n := len(r.stack); n > 0 {
		r.stack[n-1].inside += took
	}
}

// Whole records a loop that is one device program: all of it is one operation, whose iterations run
// counts.
func (r *Recorder) Whole(program func() error, iterations func() int64) error {
	r.index[ident{DeviceProgram, "", 0}] = 0
	r.Operations = []Operation{{Kind: DeviceProgram}}
	r.restart()
	r.whole = true
	before := iterations()
	r.Begin()
	err := program()
	r.End(rl.Operation{Kind: DeviceProgram})
	r.Iterations = iterations() - before
	return err
}

// DeviceProgram is the kind of operation that a loop is which runs as one device program.
const DeviceProgram = "device.Program"

// span keeps one in place of the oldest.
func (r *Recorder) span(s Span) {
	if len(r.ring) < spans {
		r.ring = append(r.ring, s)
		return
	}
	r.ring[r.at] = s
	r.at = (r.at + 1) % spans
}

// Read returns what was added up, in memory of its own; with final, which is for a replica that has
// ended, the newest spans too.
func (r *Recorder) Read(final bool) Tally {
	t := r.Tally
	if !r.whole {
		t.Iterations = max(0, int64(r.nexts-Skip))
	}
	t.Wall = int64(r.now().Sub(r.from)) - t.Warm
	t.Operations, t.Edges = slices.Clone(t.Operations), slices.Clone(t.Edges)
	for i := range t.Edges {
		t.Edges[i].Waits = slices.Clone(t.Edges[i].Waits)
	}
	if final {
		t.Spans = slices.Concat(r.ring[r.at:], r.ring[:r.at])
	}
	return t
}

// Cost is the time that recording takes by itself.
type Cost struct {
	Pair   time.Duration // time that recording one operation takes in all
	Inside time.Duration // part of it that is recorded as the operation's own
}

// Calibrated measures, once for this process, what recording costs.
var Calibrated = sync.OnceValue(func() Cost {
	const pairs, rounds = 512, 16
	best := Cost{Pair: time.Hour}
	for range rounds {
		r := New(0)
		r.nexts = Skip + 1
		r.Begin()
		r.End(rl.Operation{})
		begin := time.Now()
		for range pairs {
			r.Begin()
			r.End(rl.Operation{})
		}
		if pair := time.Since(begin) / pairs; pair < best.Pair {
			best = Cost{Pair: pair, Inside: time.Duration(r.Operations[0].Nanos / pairs)}
		}
	}
	return best
})
