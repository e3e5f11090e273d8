package edge

import (
	"time"

	"github.com/weft-rl/weft/rl"
)

// Tracer sees what a replica does at its edges: operators begin and end, and inside them the
// replica sends, waits and takes messages. Runners profile runs with it. Edges are numbered as in
// the topology; a runner's own come after them. A tracer is called on the goroutine of the replica.
type Tracer interface {
	// Enter is called when an operator of an edge begins, Leave when it ends.
	Enter(edge int)
	Leave(edge int)
	// Pause is called before the replica sends a message or waits for one; Sent or Waited follows.
	Pause()
	// Sent is called after a message of so many bytes of tensors was queued for replica to. The
	// replica waited for room, took at most, from begin on.
	Sent(edge, to int, bytes int64, begin time.Time, took time.Duration)
	// Waited is called after the replica waited for a message of replica from, -1 if that of any
	// would do.
	Waited(edge, from int, begin time.Time, took time.Duration)
	// Took is called when a message of replica from was taken.
	Took(edge, from int)
}

// Trace has t see what the replica does at its edges.
func (x *X) Trace(t Tracer) {
	x.tracer, x.sizes = t, make([]size, len(x.ends))
}

// size counts the bytes that are on their way to an edge's next messages.
type size struct {
	bytes int64
	sent  bool // a message has taken them along
}

// sized adds what was weighed to the next messages of an edge.
func (x *X) sized(edge int, bytes int64) {
	if x.tracer == nil {
		return
	}
	s := &x.sizes[edge]
	if s.sent {
		*s = size{}
	}
	s.bytes += bytes
}

// passage is an operator of an edge under way.
type passage struct {
	x    *X
	edge int
}

// pass begins an operator; done ends it.
func (x *X) pass(edge int) passage {
	if x.tracer != nil {
		x.tracer.Enter(edge)
	}
	return passage{x, edge}
}

func (p passage) done() {
	if p.x.tracer != nil {
		p.x.tracer.Leave(p.edge)
	}
}

// bytesIn returns the bytes of tensors.
func bytesIn(tensors []rl.Tensor) (n int64) {
	for _, t := range tensors {
		if t.Ok() {
			n += int64(t.Shape().ByteSize())
		}
	}
	return n
}
