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
