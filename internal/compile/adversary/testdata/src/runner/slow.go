package main

import (
	"context"
	"math/rand/v2"
	"runtime"
	"sync"
	"time"

	"github.com/weft-rl/weft/edge"
)

// slow is a link that delays messages at random.
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

// Next delays before a message is taken.
func (l *slow) Next(ctx context.Context) (edge.Message, error) {
	l.wait()
	return l.Link.Next(ctx)
}

// wait yields to other goroutines, and sleeps now and then.
func (l *slow) wait() {
	l.mu.Lock()
	n := l.r.IntN(12)
	l.mu.Unlock()
	switch {
	case n == 0:
		<-time.After(100 * time.Microsecond)
	case n < 6:
		for range n {
			runtime.Gosched()
		}
	}
}
