package edge_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/weft-rl/weft/edge"
)

// TestStuck: replicas that pass a message round are not stuck, though at most moments all of them
// wait or have just been woken. They are as soon as nobody passes it on.
func TestStuck(t *testing.T) {
	const replicas, passes = 3, 60_000
	for _, queue := range []int{0, 1} {
		l := edge.NewLocal(replicas, []int{queue})
		ctx, stop := context.WithCancelCause(t.Context())
		var all sync.WaitGroup
		var passed atomic.Int64
		for me := range replicas {
			all.Go(func() { pass(ctx, l.Link(me), me, (me+1)%replicas, &passed, passes) })
		}
		for !l.Stuck(replicas) {
			runtime.Gosched()
		}
		if n := passed.Load(); n != passes {
			t.Errorf("queue %d: they were called stuck after %d of %d messages", queue, n, passes)
		}
		stop(errors.New("over"))
		all.Wait()
	}
}

// pass passes on what comes, until so many messages were passed in all. Replica 0 begins.
func pass(ctx context.Context, l edge.Link, me, to int, passed *atomic.Int64, passes int64) {
	for first := me == 0; ; first = false {
		if !first {
			m, err := l.Next(ctx)
			if err != nil {
				return
			}
			l.Took(m)
		}
		if passed.Load() == passes {
			continue
		}
		passed.Add(1)
		if l.Send(ctx, to, edge.Message{}) != nil {
			return
		}
	}
}
