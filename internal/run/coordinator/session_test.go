package coordinator

import (
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/control"
)

// What is acknowledged is not sent again, so lines are acknowledged when they are in the record: a coordinator may be
// killed at any moment.
func TestAcknowledged(t *testing.T) {
	a, s := &acting{}, &session{out: make(chan *control.Down, 1)}
	a.records.dir = t.TempDir()
	r := a.records.of("run")
	if err := r.rewind(1, -1, false); err != nil {
		t.Fatal(err)
	}
	defer r.close()
	r.mu.Lock() // nothing can be written
	done := make(chan error, 1)
	go func() {
		done <- a.take(s, &control.Up{Kind: control.KindRecord, Run: "run", Epoch: 1, Seq: 7, Tail: []byte(rows("1"))})
	}()
	select {
	case <-s.out:
		r.mu.Unlock()
		t.Fatal("lines are acknowledged before they are written")
	case <-time.After(50 * time.Millisecond):
	}
	r.mu.Unlock()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if ack := <-s.out; ack.Kind != control.KindAck || ack.Seq != 7 {
		t.Errorf("answer %+v", ack)
	}
	r.holds(t, rows("1"))
}

// A worker that has not taken yet what it was told is told all the same that its messages have come: it keeps what is not
// acknowledged, and has room for so much.
func TestAcknowledgedLate(t *testing.T) {
	a, s := &acting{}, &session{out: make(chan *control.Down, 1), over: make(chan struct{})}
	a.records.dir = t.TempDir()
	done := make(chan error, 1)
	take := func(seq int64) { done <- a.take(s, &control.Up{Kind: control.KindNote, Run: "run", Seq: seq}) }
	s.out <- &control.Down{Kind: control.KindBeat}
	go take(7)
	select {
	case <-done:
		t.Fatal("the next message is read, and this one not acknowledged")
	case <-time.After(50 * time.Millisecond):
	}
	<-s.out
	if ack := <-s.out; ack.Kind != control.KindAck || ack.Seq != 7 {
		t.Errorf("answer %+v", ack)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	s.out <- &control.Down{Kind: control.KindBeat}
	go take(8)
	s.end() // and who is gone is not waited for
	if err := <-done; err != nil {
		t.Error(err)
	}
}
