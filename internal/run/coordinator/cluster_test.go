package coordinator_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/etcd"
	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/internal/run/worker"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is for what takes milliseconds, unless a machine is busy.
const patience = 2 * time.Minute

// cluster is coordinators on an etcd, and workers that train by counting.
type cluster struct {
	*testing.T
	disk    *disk
	store   coordinator.Store
	runs    string
	marks   string // folder in runs for the mark
	tls     *tls.Config
	planner coordinator.Planner
	brief   time.Duration // that others wait for a plan
	silence time.Duration // long, where nothing is to be taken for lost because this machine is busy
	returns int64         // ticks in which a connection that broke may be made again; likewise
	address []string      // of all coordinators there were
	client  *protocol.Client
	probe   *coordinator.Probe // of the next coordinator; nil is none
	mu      sync.Mutex
	said    []string // by all of them
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	store, err := etcd.Embed(t.Context(), filepath.Join(t.TempDir(), "etcd"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	c := &cluster{T: t, disk: newDisk(), store: store, runs: t.TempDir(), planner: planner, silence: 20 * time.Second, returns: 4}
	c.client = &protocol.Client{Patience: 30 * time.Second}
	return c
}

// quick returns settings for ticks of 50 ms.
func (c *cluster) quick() core.Settings {
	s := core.Defaults()
	s.Grace, s.Return, s.Settle = 600, c.returns, 4
	return s
}

// coordinate starts a coordinator at an address, and returns what stops it.
func (c *cluster) coordinate(address string) (at string, stop func()) {
	c.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		c.Fatal(err)
	}
	at = l.Addr().String()
	o := coordinator.Options{
		Listener: l, TLS: c.tls, Store: c.store, Planner: c.planner, Runs: c.runs, Marks: c.marks,
		Core: c.quick(), Tick: 50 * time.Millisecond, Silence: c.silence, Brief: c.brief, Log: c.say("coordinator " + at), Probe: c.probe,
	}
	stop = c.background(func(ctx context.Context) error { return coordinator.Serve(ctx, o) })
	c.address = append(c.address, at)
	c.client.Addresses = c.address
	return at, stop
}

func (c *cluster) say(who string) *slog.Logger { return journal.New(mouth{c}, journal.Text, who) }

// mouth takes what is logged.
type mouth struct{ *cluster }

func (m mouth) Write(line []byte) (int, error) {
	m.Logf("%s", line)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.said = append(m.said, string(line))
	return len(line), nil
}

// told waits until somebody says something.
func (c *cluster) told(text string) {
	c.Helper()
	c.wait(text, func(*protocol.Status) bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return slices.ContainsFunc(c.said, func(said string) bool { return strings.Contains(said, text) })
	})
}

// background runs something that must end well until it is stopped.
func (c *cluster) background(run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			c.Errorf("it ended with %v", err)
		}
	})
	c.Cleanup(stop)
	return stop
}

func (c *cluster) options(name string) worker.Options {
	return worker.Options{
		Coordinators: c.address, TLS: c.tls, Name: name, Host: "h", Data: name + ":1", Cores: 1, Devices: []string{"cpu"}, Binary: "b1",
		Runner: fake{c.disk}, Beat: 50 * time.Millisecond, Silence: c.silence, Lease: 30 * time.Second, Patience: 30 * time.Second, Log: c.say("worker " + name),
	}
}

// work starts a worker; change, if there is one, changes what it is.
func (c *cluster) work(name string, change ...func(*worker.Options)) (stop func()) {
	o := c.options(name)
	for _, f := range change {
		f(&o)
	}
	return c.background(func(ctx context.Context) error { return worker.Run(ctx, o) })
}

// refused starts a worker that is not let in, and waits until it says why: as it looks for a
// coordinator that lets it in, or as its error.
func (c *cluster) refused(o worker.Options, why string) {
	c.Helper()
	said := make(lines, 1000)
	o.Patience, o.Log = time.Hour, journal.New(said, journal.Text, "worker "+o.Name)
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	done := make(chan error, 1)
	go func() { done <- worker.Run(ctx, o) }()
	ended := func() error { cancel(); return <-done }
	last := ""
	for !strings.Contains(last, why) {
		select {
		case last = <-said:
		case err := <-done:
			if cancel(); err == nil || !strings.Contains(err.Error(), why) {
				c.Errorf("worker %s: %v, want %q", o.Name, err, why)
			}
			return
		case <-ctx.Done():
			c.Errorf("worker %s: %v, want %q, not %s", o.Name, ended(), why, last)
			return
		}
	}
	_ = ended() // it was told to
}

// lines takes what is logged, a line a message, for as long as there is room.
type lines chan string

func (l lines) Write(line []byte) (int, error) {
	select {
	case l <- string(line):
	default:
	}
	return len(line), nil
}

// wait waits until something is true of what the coordinator knows.
func (c *cluster) wait(what string, is func(*protocol.Status) bool) *protocol.Status {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for {
		s, err := c.client.Status(ctx, "")
		if err == nil && is(s) {
			return s
		}
		select {
		case <-ctx.Done():
			c.Fatalf("%s does not come true: %+v, %v", what, s, err)
		case <-ticker.C:
		}
	}
}

func (c *cluster) members(n int) {
	c.Helper()
	c.wait(fmt.Sprintf("%d workers", n), func(s *protocol.Status) bool { return len(s.Workers) == n })
}

// session returns the number of a worker's connection, 0 while it has none.
func (c *cluster) session(name string) int64 {
	s, err := c.client.Status(c.Context(), "")
	if err != nil {
		c.Fatal(err)
	}
	for _, w := range s.Workers {
		if w.Name == name {
			return w.Session
		}
	}
	return 0
}

// at waits until a run has come to a step.
func (c *cluster) at(run string, step int64) {
	c.Helper()
	c.wait(fmt.Sprintf("%s at step %d", run, step), func(s *protocol.Status) bool {
		for _, r := range s.Runs {
			if r.Name == run {
				return r.Progress.Steps >= step
			}
		}
		return false
	})
}

func (c *cluster) submit(run string, workers, steps int, fails string) {
	c.Helper()
	if err := c.client.Submit(c.Context(), run, fmt.Sprintf(configuration, workers, steps, fails)); err != nil {
		c.Fatal(err)
	}
}

// ends waits for a run's end.
func (c *cluster) ends(run string, as core.Phase) core.Run {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), patience)
	defer cancel()
	r, err := c.client.Watch(ctx, run, func(core.Run) {})
	if err != nil || r.Phase != as {
		c.Fatalf("run %s is %s: %s, %v, want it %s", run, r.Phase, r.Why, err, as)
	}
	return r
}

// whole checks that a run has done all its steps, and recorded each once.
func (c *cluster) whole(run string, steps int) core.Run {
	c.Helper()
	r := c.ends(run, core.Done)
	if r.Progress.Steps != int64(steps) || r.Progress.Result == nil || r.Last == nil || r.Last.Step != int64(steps) {
		c.Errorf("it ended as %+v, %+v", r.Progress, r.Last)
	}
	rows, err := metrics.ReadJSONL(filepath.Join(c.runs, run, "metrics.jsonl"))
	if err != nil || len(rows) != steps {
		c.Fatalf("%d lines are recorded, want %d: %v", len(rows), steps, err)
	}
	for i, row := range rows {
		if row.Step != int64(i+1) {
			c.Fatalf("line %d is of step %d", i, row.Step)
		}
	}
	return r
}

// proxy is a network in between, which can be cut or stand still.
type proxy struct {
	net.Listener
	mu     sync.Mutex
	still  bool
	moves  *sync.Cond
	conns  []net.Conn
	copies sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l}
	p.moves = sync.NewCond(&p.mu)
	p.copies.Go(func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, in, out)
			p.mu.Unlock()
			p.copies.Go(func() { p.copy(in, out) })
			p.copies.Go(func() { p.copy(out, in) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.freeze(false)
		p.cut()
		p.copies.Wait()
	})
	return p
}

func (p *proxy) copy(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		for p.still {
			p.moves.Wait()
		}
		p.mu.Unlock()
		if n > 0 {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// freeze lets nothing through, or everything again.
func (p *proxy) freeze(still bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.still = still
	p.moves.Broadcast()
}

// cut breaks all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}
