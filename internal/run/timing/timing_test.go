package timing

import (
	"errors"
	"testing"
	"time"

	"github.com/weft-rl/weft/rl"
)

// clock is one that moves when it is told to.
type clock struct{ t time.Time }

func (c *clock) now() time.Time       { return c.t }
func (c *clock) pass(d time.Duration) { c.t = c.t.Add(d) }

const ms = time.Millisecond

// recorded returns a recorder that has skipped the first iterations, in which it has seen the
// operations of the names.
func recorded(edges int, names ...string) (*Recorder, *clock) {
	c := &clock{time.Unix(1, 0)}
	r := newRecorder(edges, c.now)
	for i := range Skip {
		r.Next(int64(i))
		for _, n := range names {
			r.Begin()
			c.pass(70 * ms) // it compiles
			r.End(rl.Operation{Kind: n})
		}
	}
	r.Next(Skip)
	return r, c
}

// TestNested: an operation inside an edge's operator counts as the operation, waiting as waiting,
// and the rest of the operator as handling.
func TestNested(t *testing.T) {
	r, c := recorded(2, "act")
	c.pass(ms) // of the loop
	r.Enter(0)
	c.pass(2 * ms)
	r.Begin()
	c.pass(3 * ms)
	r.End(rl.Operation{Kind: "act"})
	begin := c.now()
	c.pass(5 * ms)
	r.Sent(0, 1, 640, begin, 5*ms)
	begin = c.now()
	c.pass(7 * ms)
	r.Waited(0, 1, begin, 7*ms)
	r.Took(0, 1)
	c.pass(11 * ms)
	r.Leave(0)
	r.Next(Skip + 1)
	got := r.Read(true)
	e := got.Edges[0]
	if got.Iterations != 2 || got.Wall != int64(29*ms) || got.Events != 2 || got.Warm != 0 {
		t.Errorf("%d iterations, %v, %d events, warm for %d", got.Iterations, time.Duration(got.Wall), got.Events, got.Warm)
	}
	if op := got.Operations[0]; op.Count != 1 || op.Nanos != int64(3*ms) {
		t.Errorf("operation %+v", op)
	}
	if e.Handling != int64(13*ms) || e.Sending != int64(5*ms) || e.Bytes != 640 || e.Sent != 1 || e.Taken != 1 || e.Operators != 1 {
		t.Errorf("edge %+v", e)
	}
	if len(e.Waits) != 1 || e.Waits[0] != (Wait{Peer: 1, Nanos: int64(7 * ms)}) {
		t.Errorf("waits %+v", e.Waits)
	}
}

// TestFirstCall: the first call of an operation compiles, whenever it is, and is left out.
func TestFirstCall(t *testing.T) {
	r, c := recorded(0)
	for _, d := range []time.Duration{900 * ms, ms, 2 * ms} {
		r.Begin()
		c.pass(d)
		r.End(rl.Operation{Kind: "rl.Loss.Grad"})
	}
	got := r.Read(false)
	if op := got.Operations[0]; op.Count != 2 || op.Nanos != int64(3*ms) || got.Wall != int64(3*ms) || got.Warm != int64(900*ms) {
		t.Errorf("%+v, in all %v, warm for %v", op, time.Duration(got.Wall), time.Duration(got.Warm))
	}
	if got.Spans != nil {
		t.Error("spans of a replica that has not ended")
	}
}

// TestSpans: of more spans than are kept the newest stay, in order.
func TestSpans(t *testing.T) {
	r, c := recorded(0)
	for range spans + 10 {
		r.Begin()
		c.pass(ms)
		r.End(rl.Operation{Kind: "act"})
	}
	got := r.Read(true).Spans
	if len(got) != spans {
		t.Fatalf("%d spans", len(got))
	}
	for i := 1; i < len(got); i++ {
		if got[i].Begin != got[i-1].Begin+int64(ms) {
			t.Fatalf("span %d begins at %d, the one before it at %d", i, got[i].Begin, got[i-1].Begin)
		}
	}
}

// TestWhole: a device program is one operation, and its iterations are counted.
func TestWhole(t *testing.T) {
	c := &clock{time.Unix(1, 0)}
	r := newRecorder(0, c.now)
	iter, failure := int64(5), errors.New("out of memory")
	err := r.Whole(func() error {
		c.pass(10 * ms)
		r.Next(20) // a part of the program has ended
		iter = 25
		c.pass(30 * ms)
		return failure
	}, func() int64 { return iter })
	got := r.Read(true)
	if !errors.Is(err, failure) || got.Iterations != 20 || got.Wall != int64(40*ms) || got.Operations[0].Nanos != int64(40*ms) {
		t.Errorf("%v, %+v", err, got)
	}
}

// TestCalibrated: recording takes time, part of which is inside of what is recorded.
func TestCalibrated(t *testing.T) {
	if c := Calibrated(); c.Pair <= 0 || c.Inside < 0 || c.Inside > c.Pair {
		t.Errorf("%+v", c)
	}
}
