package coordinator

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/journal"
)

// renewal is how often leases are renewed, and renewers by how many at a time.
const (
	renewal  = time.Second
	renewers = 8
)

// renew keeps the leases of workers that are heard of. A worker whose lease is over
// is hung up on: it may have been taken for dead.
func (a *acting) renew(ctx context.Context) {
	ticker := time.NewTicker(renewal)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.done:
			return
		case <-ticker.C:
			a.renewAll(ctx, a.news.live())
		}
	}
}

func (a *acting) renewAll(ctx context.Context, all []*session) {
	work := make(chan *session)
	var group sync.WaitGroup
	for range renewers {
		group.Go(func() {
			for s := range work {
				a.renewOne(ctx, s)
			}
		})
	}
	now := time.Now()
	for _, s := range all {
		if s.quiet(now) < a.Silence {
			work <- s
		}
	}
	close(work)
	group.Wait()
}

func (a *acting) renewOne(ctx context.Context, s *session) {
	ctx, cancel := context.WithTimeout(ctx, renewal)
	defer cancel()
	err := s.lease.Renew(ctx)
	if errors.Is(err, ErrExpired) {
		a.Log.Warn(err.Error(), journal.Worker, s.name)
		s.end()
	}
}
