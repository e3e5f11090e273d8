// Package local launches clusters as child processes of this one. They are started again when they
// die, and die with this process, however it ends.
package local

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/run/port"
)

// ParentFlag is the flag, without its dashes, that every process is given: it ends when its
// standard input does.
const ParentFlag = "with-parent"

// Launcher starts child processes. The zero value is ready to use. Its functions may be nil, and
// are called by several goroutines.
type Launcher struct {
	// Host is the address of this machine that the coordinator listens at; empty is loopback.
	Host string
	// Grace is the time that processes have to end when they are asked to; 0 is 5 s.
	Grace time.Duration
	// Alive is how long a process must live to count as one that stays alive; 0 is 1 s.
	Alive time.Duration
	// Before is told of a process before it starts, and may change its command; if it changes where
	// standard error goes, Tail is empty. What it returns as an error keeps the process from
	// starting.
	Before func(*Start) error
	// After is told of a process that has ended, or could not start though Before had returned.
	After func(Exit)
	// Late is told of a member that has not ended within Grace. It is killed when Late returns.
	Late func(*Member)
	// Listening is told whenever the coordinator says where it listens, the first time before
	// workers start.
	Listening func(address string)
}

// goodbye is how long a process may take to end unless a launcher says otherwise.
const goodbye = 5 * time.Second

// A process that dies is started again; a member whose processes never live for a moment is given
// up.
const (
	alive    = time.Second
	attempts = 5
)

// Cluster is a cluster of child processes.
type Cluster struct {
	launcher Launcher
	spec     launch.Spec
	members  []*Member // the coordinator first
	failed   chan error
	kept     []*Member // members that were started
	stop     context.CancelFunc

	mu      sync.Mutex
	listen  string // address that the coordinator is told to listen at
	address string // address that it reported
	heard   chan struct{}
}

var (
	_ launch.Launcher = Launcher{}
	_ launch.Cluster  = (*Cluster)(nil)
	_ launch.Member   = (*Member)(nil)
)

// Launch implements launch.Launcher.
func (l Launcher) Launch(ctx context.Context, s launch.Spec) (launch.Cluster, error) {
	c, err := l.Start(ctx, s)
	if err != nil {
		return nil, err // no nil *Cluster in an interface
	}
	return c, nil
}

// Start does what Launch does. Its result has what clusters of child processes have beside
// launch.Cluster.
func (l Launcher) Start(ctx context.Context, s launch.Spec) (*Cluster, error) {
	if l.Grace == 0 {
		l.Grace = goodbye
	}
	l.Alive = cmp.Or(l.Alive, alive)
	l.Host = cmp.Or(l.Host, "127.0.0.1")
	c := &Cluster{launcher: l, spec: s, failed: make(chan error, 1+len(s.Workers)), heard: make(chan struct{})}
	for _, t := range append([]launch.Task{s.Coordinator}, s.Workers...) {
		c.members = append(c.members, newMember(c, t))
	}
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.keep(living, c.members[0], c.listens)
	select {
	case <-c.heard:
	case err := <-c.failed:
		return nil, errors.Join(err, c.Stop(context.Background()))
	case <-ctx.Done():
		return nil, errors.Join(context.Cause(ctx), c.Stop(context.Background()))
	}
	for _, m := range c.members[1:] {
		c.keep(living, m, func(string) {})
	}
	return c, nil
}

// keep starts a goroutine that keeps a member alive until ctx is done. Stop waits for it.
func (c *Cluster) keep(ctx context.Context, m *Member, read func(line string)) {
	c.kept = append(c.kept, m)
	go func() {
		defer close(m.over)
		m.keep(ctx, read)
	}()
}

// listens reads what the coordinator prints.
func (c *Cluster) listens(line string) {
	at, ok := launch.ReadListening(line)
	if !ok {
		return
	}
	c.mu.Lock()
	first := c.address == ""
	if first {
		c.address, c.listen = at, at
	}
	c.mu.Unlock()
	if c.launcher.Listening != nil {
		c.launcher.Listening(at)
	}
	if first {
		close(c.heard)
	}
}

// places returns the addresses of the placeholders. The coordinator is given another port until it
// has listened once: what was free may have been taken meanwhile.
func (c *Cluster) places() (listen, join string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.address == "" {
		c.listen = port.LastingAt(c.launcher.Host)
	}
	return c.listen, c.address
}

// Address implements launch.Cluster.
func (c *Cluster) Address() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.address
}

// Members implements launch.Cluster.
func (c *Cluster) Members() (out []launch.Member) {
	for _, m := range c.members {
		out = append(out, m)
	}
	return out
}

// Processes returns the members as what they are here.
func (c *Cluster) Processes() []*Member { return c.members }

// Failed implements launch.Cluster.
func (c *Cluster) Failed() <-chan error { return c.failed }

// Stop implements launch.Cluster.
func (c *Cluster) Stop(ctx context.Context) error {
	c.stop()
	var ends sync.WaitGroup
	for _, m := range c.kept {
		ends.Go(func() { m.end(ctx, c.launcher) })
	}
	ends.Wait()
	return nil
}
