package coordinator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/worker"
)

// stuck is a runner whose parts of a run that hangs do not end, whatever they are told.
type stuck struct {
	fake
	begun chan<- struct{}
	over  <-chan struct{} // of the test
}

func (s stuck) Run(ctx context.Context, a part.Assignment, r part.Reporter) error {
	if j, err := parse(a.Config); err != nil || j.fails != hangs {
		return s.fake.Run(ctx, a, r)
	}
	s.begun <- struct{}{}
	<-s.over
	return errors.New("it was stuck")
}

// A worker whose part does not end though it was given up ends, so that its process can be started
// again: it would be assigned parts of other runs, and never begin them.
func TestStuck(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	begun, over := make(chan struct{}, 1), make(chan struct{})
	defer close(over)
	o := c.options("a")
	o.Runner, o.Leave = stuck{fake{c.disk}, begun, over}, 50*time.Millisecond
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(t.Context(), o) }()
	c.members(1)
	c.submit("bad", 1, 10, hangs)
	<-begun
	if err := c.client.Stop(t.Context(), "bad", true); err != nil {
		t.Fatal(err)
	}
	c.ends("bad", core.Stopped)
	c.submit("r", 1, 25, "")
	if err := <-ended; !errors.Is(err, worker.ErrStuck) {
		t.Errorf("it ended with %v", err)
	}
	c.work("a")
	c.whole("r", 25)
}

// A worker that is to end does not wait forever for a part that does not.
func TestStuckAtEnd(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	begun, over := make(chan struct{}, 1), make(chan struct{})
	defer close(over)
	o := c.options("a")
	o.Runner, o.Leave = stuck{fake{c.disk}, begun, over}, 50*time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx, o) }()
	c.members(1)
	c.submit("bad", 1, 10, hangs)
	<-begun
	cancel()
	if err := <-ended; !errors.Is(err, worker.ErrStuck) {
		t.Errorf("it ended with %v", err)
	}
}
