package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/weft-rl/weft/edge"
)

// slow is a link on which messages take their time, by a schedule of its own.
type slow struct {
	edge.Link
	mu sync.Mutex
	r  *rand.Rand
}

func newSlow(l edge.Link, seed, replica uint64) edge.Link {
	return &slow{Link: l, r: rand.New(rand.NewPCG(seed, replica))}
}

// Send delays before a message leaves.
func (l *slow) Send(ctx context.Context, to int, m edge.Message) error {
	l.wait()
	return l.Link.Send(ctx, to, m)
}

// Next delays before one is taken.
func (l *slow) Next(ctx context.Context) (edge.Message, error) {
	l.wait()
	return l.Link.Next(ctx)
}

// wait lets others go first, sometimes for longer.
func (l *slow) wait() {
	l.mu.Lock()
	n := l.r.IntN(24)
	l.mu.Unlock()
	switch {
	case n == 0:
		<-time.After(time.Duration(50) * time.Microsecond)
	case n < 6:
		for range n {
			runtime.Gosched()
		}
	}
}
