package worker

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/gate"
	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// slow is a coordinator that assigns a part, hangs up, and is slow to welcome the worker when it is
// back.
type slow struct {
	protocol.Server
	t       *testing.T
	givenUp chan struct{}
	mu      sync.Mutex
	came    int
	again   chan *protocol.Hello // that the worker said the third time
}

func (c *slow) Join(s protocol.Session) error {
	m, err := s.Recv()
	if err != nil {
		return err
	}
	c.mu.Lock()
	c.came++
	n := c.came
	c.mu.Unlock()
	switch {
	case n == 1:
		return c.assign(s)
	case n == 2 && m.Hello.Doing != nil: // else it was too slow to come back, and nothing is to be seen
		<-c.givenUp
		_ = s.Send(&protocol.Down{Kind: protocol.KindWelcome}) // or it is gone
		if m, err := s.Recv(); err == nil {
			c.t.Errorf("it stays, and says %q", m.Kind)
		}
		return nil
	}
	select {
	case c.again <- m.Hello:
	default:
	}
	<-s.Context().Done()
	return nil
}

// assign gives a worker a part, and leaves it alone with it.
func (c *slow) assign(s protocol.Session) error {
	text, err := protocol.Pack(part.Assignment{Run: "r", Epoch: 1, Workers: make([]part.Worker, 1)})
	if err != nil {
		return err
	}
	for _, m := range []*protocol.Down{{Kind: protocol.KindWelcome}, {Kind: protocol.KindAssign, Run: "r", Epoch: 1, Tail: text}} {
		if err := s.Send(m); err != nil {
			return err
		}
	}
	for {
		if m, err := s.Recv(); err != nil || m.Kind == protocol.KindReady {
			return err
		}
	}
}

// TestLeaseEndsMeanwhile: a worker whose lease ends between its introduction and its welcome does
// not leave the coordinator in the belief that it is still at its part: nobody else might ever say
// so.
func TestLeaseEndsMeanwhile(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &slow{t: t, givenUp: make(chan struct{}), again: make(chan *protocol.Hello, 1)}
	server := protocol.NewServer(c, gate.New(nil, nil))
	var all sync.WaitGroup
	all.Go(func() { _ = server.Serve(l) }) // to the end of the test
	defer all.Wait()
	defer server.Stop()
	ctx, cancel := context.WithCancel(t.Context())
	given := sync.OnceFunc(func() { close(c.givenUp) })
	all.Go(func() {
		err := Run(ctx, Options{
			Coordinators: []string{l.Addr().String()}, Name: "w", Beat: 10 * time.Millisecond, Lease: 300 * time.Millisecond,
			Runner: does(func(ctx context.Context, r part.Reporter) error { return r.Ready(ctx) }),
			Log: journal.New(hears(func(text string) {
				if strings.Contains(text, "given up") {
					given()
				}
			}), journal.Text, "worker"),
		})
		if err != nil {
			t.Error(err)
		}
	})
	defer cancel()
	if h := <-c.again; h.Doing != nil {
		t.Errorf("it is still at %+v", h.Doing)
	}
}

// hears is told what is logged.
type hears func(text string)

func (h hears) Write(line []byte) (int, error) {
	h(string(line))
	return len(line), nil
}
