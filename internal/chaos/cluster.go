package chaos

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/launch/local"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// cluster is a coordinator and workers, as processes of this machine.
type cluster struct {
	starter
	network     network
	running     *local.Cluster
	coordinator *slot
	workers     []*slot
	client      *protocol.Client
	flags       []string // flags of clients
	bad         func(error)
	over        chan struct{} // closed when it is to end
	watch       sync.WaitGroup

	mu      sync.Mutex
	files   map[string]files // files of the newest process, by name
	listen  chan struct{}    // closed, and made anew, when the coordinator says that it listens
	heard   int              // times that it did
	leaving map[string]bool  // workers that are about to end by themselves
}

// slot is a process of a cluster that is started again when it has died.
type slot struct {
	name string
	*local.Member
}

// goodbye is how long a process may take to end.
const goodbye = 10 * time.Second

// newCluster starts a cluster in a folder. What goes wrong with it is told to bad.
func newCluster(ctx context.Context, s *starter, n network, workers int, bad func(error)) (*cluster, error) {
	c := &cluster{
		starter: starter{program: s.program, env: s.env, dir: s.dir}, network: n, bad: bad,
		over: make(chan struct{}), listen: make(chan struct{}), files: map[string]files{}, leaving: map[string]bool{},
	}
	spec, err := c.spec(workers)
	if err != nil {
		return nil, errors.Join(err, n.close())
	}
	l := local.Launcher{Grace: goodbye, Before: c.before, After: c.after, Late: c.late, Listening: c.listens}
	starting, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("the coordinator does not say that it listens"))
	defer cancel()
	if c.running, err = l.Start(starting, spec); err != nil {
		return nil, errors.Join(err, n.close())
	}
	for i, m := range c.running.Processes() {
		if s := (&slot{m.Name(), m}); i == 0 {
			c.coordinator = s
		} else {
			c.workers = append(c.workers, s)
		}
	}
	c.watch.Go(c.watchFailed)
	at, flags, config := n.reach()
	c.client, c.flags = &protocol.Client{Addresses: []string{at}, TLS: config, Patience: time.Minute}, flags
	n.workers(c.pids)
	gathering, stop := context.WithTimeoutCause(ctx, time.Minute, errors.New("not all workers have joined within a minute"))
	defer stop()
	if err := c.client.Gather(gathering, workers); err != nil {
		return nil, errors.Join(cmp.Or(context.Cause(gathering), err), c.close())
	}
	return c, nil
}

// spec says what the processes are.
func (c *cluster) spec(workers int) (launch.Spec, error) {
	s := launch.Spec{Program: c.program, Env: c.env, Coordinator: c.network.coordinator().task("coordinator",
		"coordinator", "--data", filepath.Join(c.dir, "coordinator"), "--runs", c.runs(), "--allow", c.dir, "--json")}
	for i := range workers {
		name := fmt.Sprintf("w%d", i)
		if err := c.mount(name, c.runs()); err != nil {
			return s, err
		}
		s.Workers = append(s.Workers, c.network.worker(i).task(name,
			"worker", "--name", name, "--store", c.store(name), "--devices", "cpu", "--connect", connect.String(),
			"--cores", fmt.Sprint(max(1, runtime.NumCPU()/workers)), "--allow", c.dir, "--json"))
	}
	return s, nil
}

// before prepares a process that is about to start.
func (c *cluster) before(s *local.Start) error {
	f, err := c.prepare(s.Name, s.Cmd)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.files[s.Name] = f
	return err
}

// after records how a process ended.
func (c *cluster) after(x local.Exit) {
	f := c.newest(x.Name)
	c.bad(errors.Join(f.leftovers(x.Err, c.left(x.Name) || x.Asked, x.Killed), f.errors.Close()))
}

// newest returns the files of the newest process of a name.
func (c *cluster) newest(name string) files {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.files[name]
}

// late makes a process that does not end print its goroutines.
func (c *cluster) late(m *local.Member) {
	p := m.Process()
	if p == nil {
		return // it has just ended
	}
	c.bad(fmt.Errorf("%s does not end within %v: %s says what it is at", m.Name(), goodbye, c.newest(m.Name()).errors.Name()))
	p.Signal(sigThaw)
	p.Signal(sigDump)
	timer := time.NewTimer(5 * time.Second)
	defer timer.Stop()
	select {
	case <-p.Over():
	case <-timer.C:
	}
}

// watchFailed tells of processes that do not stay alive.
func (c *cluster) watchFailed() {
	for {
		select {
		case err := <-c.running.Failed():
			c.bad(err)
		case <-c.over:
			return
		}
	}
}

func (c *cluster) runs() string { return filepath.Join(c.dir, "runs") }

// store returns the path at which a worker sees the folder of runs. The path may be taken away from
// it.
func (c *cluster) store(worker string) string { return filepath.Join(c.dir, "store-"+worker) }

// mount has a worker see something in the place of its store.
func (c *cluster) mount(worker, what string) error {
	next := c.store(worker) + ".next"
	if err := os.Symlink(what, next); err != nil {
		return err
	}
	return os.Rename(next, c.store(worker))
}

// pids returns the processes of workers, 0 for a worker without one.
func (c *cluster) pids() (out []int) {
	for _, w := range c.workers {
		pid := 0
		if p := w.Process(); p != nil {
			pid = p.Cmd.Process.Pid
		}
		out = append(out, pid)
	}
	return out
}

// listens hears that the coordinator listens.
func (c *cluster) listens(at string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.heard++; c.heard == 1 {
		c.network.listens(at)
	}
	close(c.listen)
	c.listen = make(chan struct{})
}

// listening returns a channel that is closed when the coordinator says the next time that it
// listens.
func (c *cluster) listening() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.listen
}

// slots returns all processes.
func (c *cluster) slots() []*slot { return append([]*slot{c.coordinator}, c.workers...) }

// dump has all processes say what they are at, which ends them.
func (c *cluster) dump() {
	for _, s := range c.slots() {
		s.Leave()
		s.Signal(sigThaw)
		s.Signal(sigDump)
	}
}

// close ends all processes, and sees that nothing is left of them.
func (c *cluster) close() error {
	for _, s := range c.slots() {
		s.Signal(sigThaw)
	}
	err := c.running.Stop(context.Background())
	close(c.over)
	c.watch.Wait()
	for _, name := range c.survivors() {
		c.bad(fmt.Errorf("%s has left processes behind", name))
	}
	return errors.Join(err, c.network.close())
}
