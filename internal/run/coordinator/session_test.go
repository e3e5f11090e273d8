package coordinator

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/gate"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// settled runs a worker's connection without the worker: take hands a message over, and end waits
// for what becomes of all.
func settled(a *acting, s *session) (take func(*protocol.Up) bool, end func()) {
	receipts := make(chan receipt, settling)
	var done sync.WaitGroup
	done.Go(func() { a.settle(s, receipts) })
	return func(m *protocol.Up) bool { return a.take(s, m, receipts) }, func() {
		close(receipts)
		done.Wait()
	}
}

// What is acknowledged is not sent again, so lines are acknowledged when they are on the disk: the
// coordinator's machine may be lost at any moment. Signs of life are answered meanwhile.
func TestAcknowledged(t *testing.T) {
	a, s := &acting{}, &session{out: make(chan *protocol.Down, 2)}
	a.records.dir = t.TempDir()
	r := a.records.of("run")
	if err := r.rewind(1, -1, false, 0); err != nil {
		t.Fatal(err)
	}
	defer r.close()
	s.parts.add(grant{"run", 1, 0, true})
	take, end := settled(a, s)
	r.syncing.Lock() // the disk takes its time
	take(&protocol.Up{Kind: protocol.KindRecord, Run: "run", Epoch: 1, Seq: 7, Tail: []byte(rows("1"))})
	r.holds(t, rows("1"))
	take(&protocol.Up{Kind: protocol.KindBeat})
	if m := <-s.out; m.Kind != protocol.KindBeat {
		t.Errorf("%+v is said before the lines are on the disk", m)
	}
	select {
	case m := <-s.out:
		t.Errorf("%+v is said before the lines are on the disk", m)
	case <-time.After(50 * time.Millisecond):
	}
	r.syncing.Unlock()
	if ack := <-s.out; ack.Kind != protocol.KindAck || ack.Seq != 7 {
		t.Errorf("answer %+v", ack)
	}
	if end(); r.dirty {
		t.Error("lines are acknowledged and not on the disk")
	}
}

// A worker that has not taken yet what it was told is told all the same that its messages have
// come: it keeps what is not acknowledged, and has room for so much.
func TestAcknowledgedLate(t *testing.T) {
	a, s := &acting{}, &session{out: make(chan *protocol.Down, 1), over: make(chan struct{})}
	a.records.dir = t.TempDir()
	s.parts.add(grant{"run", 0, 0, false})
	take, end := settled(a, s)
	s.out <- &protocol.Down{Kind: protocol.KindBeat}
	take(&protocol.Up{Kind: protocol.KindNote, Run: "run", Seq: 7})
	<-s.out
	if ack := <-s.out; ack.Kind != protocol.KindAck || ack.Seq != 7 {
		t.Errorf("answer %+v", ack)
	}
	s.out <- &protocol.Down{Kind: protocol.KindBeat}
	take(&protocol.Up{Kind: protocol.KindNote, Run: "run", Seq: 8})
	s.end() // and who is gone is not waited for
	end()
}

// A run that only a worker speaks of has no folder, whatever the worker says of it.
func TestStranger(t *testing.T) {
	dir := t.TempDir()
	c := &coordinator{Options: Options{Address: "here", Runs: filepath.Join(dir, "runs"), Core: core.Defaults()}.withDefaults()}
	c.gate = gate.New(nil, nil)
	a, s := newActing(c, endless{}), &session{out: make(chan *protocol.Down, 8), over: make(chan struct{}), name: "w", id: 1}
	a.sessions[1] = s
	const run = "../out"
	if err := a.do(core.Abort{From: core.From{Worker: "w", Session: 1, Run: run, Epoch: 1}, Why: "it is over"}, &assignment{}); err != nil {
		t.Fatal(err)
	}
	if m := <-s.out; m.Kind != protocol.KindAbort {
		t.Errorf("%+v", m)
	}
	take, end := settled(a, s)
	take(&protocol.Up{Kind: protocol.KindNote, Run: run, Epoch: 1, Seq: 1, Text: "x"})
	take(&protocol.Up{Kind: protocol.KindRecord, Run: run, Epoch: 1, Seq: 2, Tail: []byte("x\n")})
	end()
	a.close()
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// endless is a term that nobody ends.
type endless struct{ Term }

func (endless) Lost() <-chan struct{} { return nil }

// A run whose disk does not answer keeps no other from being decided about.
func TestApart(t *testing.T) {
	c := &coordinator{Options: Options{Address: "here", Runs: t.TempDir(), Core: core.Defaults()}.withDefaults()}
	a := newActing(c, endless{})
	slow, s := a.records.of("slow"), &session{out: make(chan *protocol.Down, 8), over: make(chan struct{})}
	a.sessions[1] = s
	slow.mu.Lock()
	begin := func(run string) {
		t.Helper()
		x := part.Assignment{Run: run, Epoch: 1, Workers: []part.Worker{{Name: "w"}}}
		for _, d := range []core.Decision{core.Rewind{Run: run, Epoch: 1, Step: -1}, core.Assign{Session: 1, Assignment: x}, core.Tell{Run: run, Text: "it begins"}} {
			if err := a.do(d, &assignment{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	begin("slow")
	begin("quick")
	if m := <-s.out; m.Kind != protocol.KindAssign || m.Run != "quick" {
		t.Errorf("%+v comes first", m)
	}
	slow.mu.Unlock()
	if m := <-s.out; m.Kind != protocol.KindAssign || m.Run != "slow" {
		t.Errorf("%+v comes next", m)
	}
	a.close()
}
