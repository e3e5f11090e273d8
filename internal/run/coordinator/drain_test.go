package coordinator_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/worker"
)

// leaver starts a worker that ends well by itself, and returns what asks it to leave and what waits
// until it has.
func (c *cluster) leaver(name string, change ...func(*worker.Options)) (leave, left func()) {
	o := c.options(name)
	drain := make(chan struct{})
	o.Drain = drain
	for _, f := range change {
		f(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, o) }()
	gone := false
	left = func() {
		c.Helper()
		select {
		case err := <-done:
			if gone = true; err != nil {
				c.Errorf("worker %s ended with %v", name, err)
			}
		case <-time.After(patience):
			c.Fatalf("worker %s does not leave", name)
		}
	}
	c.Cleanup(func() {
		if cancel(); !gone {
			<-done
		}
	})
	return func() { close(drain) }, left
}

// TestDrain has workers leave a run that is under way, one after another: the one that decides as
// well, by a client's wish or by its own. Each step is done once.
func TestDrain(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	_, leftA := c.leaver("a") // it decides
	leaveB, leftB := c.leaver("b")
	c.work("c")
	c.members(3)
	letGo := c.disk.hold("r")
	c.submit("r", 3, 400, "")
	c.at("r", 15)
	leaveB()
	leftB()
	c.members(2)
	if err := c.client.Drain(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	leftA()
	letGo()
	r := c.whole("r", 400)
	if n := c.disk.did("r"); n != 400 {
		t.Errorf("%d steps were done for a run of 400", n)
	}
	if r.Epoch != 3 || r.Restarts != 0 {
		t.Errorf("it took %d epochs and %d restarts", r.Epoch, r.Restarts)
	}
	if err := c.client.Drain(t.Context(), "a"); err == nil || !strings.Contains(err.Error(), "there is no worker a") {
		t.Error(err)
	}
}

// TestDrainIdle lets workers leave at once that have no part, and no run is planned on one that is
// to leave.
func TestDrainIdle(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	leave, left := c.leaver("a")
	c.members(1)
	leave()
	left()
	c.members(0)
	c.submit("r", 1, 20, "")
	c.wait("it waits", func(s *protocol.Status) bool { return strings.Contains(s.Runs[0].Why, "waits for a worker") })
	c.work("b")
	c.whole("r", 20)
}

// busy is a runner that comes to no consistent point.
type busy struct{ fake }

func (b busy) Run(ctx context.Context, a part.Assignment, r part.Reporter) error {
	return errors.Join(r.Ready(ctx), func() error { <-ctx.Done(); return ctx.Err() }())
}

// TestDrainTimeout has a worker leave whose run does not come to a consistent point in time. The
// run goes on from its checkpoint.
func TestDrainTimeout(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	leave, left := c.leaver("a", func(o *worker.Options) { o.Runner, o.DrainTimeout = busy{fake{c.disk}}, 200*time.Millisecond })
	c.members(1)
	c.submit("r", 1, 20, "")
	c.wait("it runs", func(s *protocol.Status) bool { return s.Runs[0].Phase == core.Running })
	leave()
	left()
	c.told("it leaves, though its run did not come to a consistent point within 200ms")
	c.work("b")
	c.whole("r", 20)
}

// TestDrainReplaced has a coordinator go on with what another one began: a worker leaves, and
// nothing is done again.
func TestDrainReplaced(t *testing.T) {
	c := newCluster(t)
	_, stop := c.coordinate("127.0.0.1:0")
	replaced := make(chan struct{})
	leave, left := c.leaver("a", func(o *worker.Options) { o.Runner = late{fake{c.disk}, replaced} })
	c.work("b")
	c.members(2)
	c.submit("r", 2, 60, "")
	c.at("r", 30)
	leave()
	c.wait("it is about to hand over", func(s *protocol.Status) bool { return s.Runs[0].Handing })
	stop()
	c.coordinate(c.address[0])
	close(replaced)
	left()
	c.whole("r", 60)
	if n := c.disk.did("r"); n != 60 {
		t.Errorf("%d steps were done for a run of 60", n)
	}
}

// late is a runner that does nothing from step 30 on until its coordinator was replaced and it was
// told to halt.
type late struct {
	fake
	replaced <-chan struct{}
}

func (l late) Run(ctx context.Context, a part.Assignment, r part.Reporter) error {
	return l.fake.Run(ctx, a, waiter{r, ctx, l.replaced})
}

type waiter struct {
	part.Reporter
	ctx      context.Context
	replaced <-chan struct{}
}

func (w waiter) Progress(p part.Progress) {
	w.Reporter.Progress(p)
	if p.Steps != 30 || p.Halted {
		return
	}
	for _, c := range []<-chan struct{}{w.replaced, w.Reporter.Halted()} {
		select {
		case <-c:
		case <-w.ctx.Done():
		}
	}
}

// TestPrograms has workers of two programs side by side. A run has workers of one of them, stays
// with that, and moves when its own have left.
func TestPrograms(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	upgraded := func(o *worker.Options) { o.Binary = "b2" }
	leaveA, leftA := c.leaver("a")
	leaveB, leftB := c.leaver("b")
	c.members(2)
	letGo := c.disk.hold("r")
	c.submit("r", 2, 600, "")
	c.at("r", 5)
	c.work("x", upgraded)
	c.work("y", upgraded)
	c.members(4)
	leaveA()
	leftA()
	c.wait("it goes on with b alone", func(s *protocol.Status) bool {
		return s.Runs[0].Epoch == 2 && len(s.Runs[0].Members) == 1 && s.Runs[0].Members[0].Name == "b"
	})
	leaveB()
	leftB()
	letGo()
	r := c.whole("r", 600)
	if text := strings.Join(r.History, "\n"); !strings.Contains(text, "it moves from program b1 to program b2") || !strings.Contains(text, "on x, y") {
		t.Error(text)
	}
	if n := c.disk.did("r"); n != 600 || r.Epoch != 3 {
		t.Errorf("%d steps were done for a run of 600, in %d epochs", n, r.Epoch)
	}
	c.submit("s", 2, 20, "") // a new one has what is there
	c.whole("s", 20)
}

// strange is a runner of a program that cannot build a run.
type unknowing struct{ fake }

func (unknowing) Run(context.Context, part.Assignment, part.Reporter) error {
	return errors.New("there is no algorithm of that name")
}

// TestProgramRefuses has a run move to a program that cannot build it: it waits for the one that it
// had.
func TestProgramRefuses(t *testing.T) {
	c := newCluster(t)
	c.coordinate("127.0.0.1:0")
	leave, left := c.leaver("a")
	c.members(1)
	c.submit("r", 1, 300, "")
	c.at("r", 5)
	c.work("x", func(o *worker.Options) { o.Binary, o.Runner = "b2", unknowing{fake{c.disk}} })
	c.members(2)
	leave()
	left()
	c.told("program b2 cannot run it (worker x: there is no algorithm of that name)")
	c.work("b")
	c.whole("r", 300)
	if n := c.disk.did("r"); n != 300 {
		t.Errorf("%d steps were done for a run of 300", n)
	}
}
