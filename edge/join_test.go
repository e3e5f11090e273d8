package edge

import (
	"context"
	"sync"
	"testing"
)

// gone is another process, which takes all and says nothing.
type gone struct{ idle, busy chan struct{} }

func (g gone) Carry(int, Message) error { return nil }
func (g gone) Newest(int, Message)      {}
func (g gone) Credit(_, _, _ int)       {}
func (g gone) Want(_, _, _ int)         {}
func (g gone) Released(int)             {}
func (g gone) Busy()                    { g.busy <- struct{}{} }
func (g gone) Hurry(idle bool) {
	if idle {
		g.idle <- struct{}{}
	}
}

// TestIdle: a process is idle when all of its replicas wait, whatever they wait for, and
// busy as soon as one goes on.
func TestIdle(t *testing.T) {
	l := NewLocal(3, []int{1})
	g := gone{make(chan struct{}, 10), make(chan struct{}, 10)}
	l.Join([]bool{false, false, true}, g)
	var all sync.WaitGroup
	all.Go(func() {
		if _, err := l.Link(0).Next(t.Context()); err != nil {
			t.Error(err)
		}
	})
	all.Go(func() {
		for range 2 { // the second waits for room
			if err := l.Link(1).Send(t.Context(), 2, Message{}); err != nil {
				t.Error(err)
			}
		}
	})
	<-g.idle
	if len(g.busy) > 0 {
		t.Error("it was busy before it was idle")
	}
	if err := l.Room(1, 2, 0); err != nil {
		t.Fatal(err)
	}
	<-g.busy
	if err := l.Deliver(0, Message{From: 2}, false); err != nil {
		t.Fatal(err)
	}
	all.Wait()
	if len(g.idle) > 0 || len(g.busy) > 0 {
		t.Error("it was idle or busy once more")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.Link(0).Next(ctx); err == nil {
		t.Error("a message came from nowhere")
	}
}
