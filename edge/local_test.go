package edge_test

import (
	"context"
	"runtime"
	"testing"

	"github.com/weft-rl/weft/edge"
)

// With cores enough a replica looks for messages before it sleeps: they come all the
// same, in order, and who waits can be stopped.
func TestLook(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	l := edge.NewLocal(2, []int{1})
	ctx, stop := context.WithCancel(t.Context())
	a, b := l.Link(0), l.Link(1)
	echoed := make(chan error)
	go func() {
		for {
			m, err := b.Next(ctx)
			if err != nil {
				echoed <- err
				return
			}
			b.Took(m)
			if m.Value.(int)%10 == 0 { // let the other one fall asleep
				for range 1000 {
					runtime.Gosched()
				}
			}
			if err := b.Send(ctx, 0, edge.Message{Value: m.Value}); err != nil {
				echoed <- err
				return
			}
		}
	}()
	for i := range 200 {
		if err := a.Send(ctx, 1, edge.Message{Value: i}); err != nil {
			t.Fatal(err)
		}
		m, err := a.Next(ctx)
		if err != nil || m.Value != i {
			t.Fatalf("%v came, not %d (%v)", m.Value, i, err)
		}
		a.Took(m)
	}
	stop()
	if err := <-echoed; err == nil {
		t.Error("it was not stopped")
	}
}
