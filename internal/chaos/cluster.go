package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/control"
)

// cluster is a coordinator and workers, as processes of this machine.
type cluster struct {
	starter
	network     network
	coordinator *slot
	workers     []*slot
	meeting     sync.Mutex // of workers, while they are started
	client      *control.Client
	flags       []string // of clients
	stop        context.CancelFunc
	all         sync.WaitGroup
	bad         func(error)

	hearing sync.Mutex
	listen  chan struct{} // closed, and made anew, when the coordinator says that it listens
	heard   int           // times that it did
}

// goodbye is how long a process may take to end.
const goodbye = 10 * time.Second

// newCluster starts a cluster in a folder. What goes wrong with it is told to bad.
func newCluster(ctx context.Context, s *starter, n network, workers int, bad func(error)) (*cluster, error) {
	c := &cluster{starter: starter{program: s.program, env: s.env, dir: s.dir}, network: n, bad: bad, listen: make(chan struct{})}
	living, stop := context.WithCancel(context.WithoutCancel(ctx))
	c.stop = stop
	c.coordinator = newSlot("coordinator", &c.starter, bad)
	c.coordinator.read = c.listens
	c.coordinator.args = func() (place, []string) {
		return n.coordinator(), []string{"coordinator", "--data", filepath.Join(c.dir, "coordinator"), "--runs", c.runs(), "--json", "--with-parent"}
	}
	listening := c.listening()
	c.all.Go(func() { c.coordinator.keep(living) })
	select {
	case <-listening:
	case <-time.After(time.Minute):
		return nil, errors.Join(errors.New("the coordinator does not say that it listens"), c.close())
	case <-ctx.Done():
		return nil, errors.Join(ctx.Err(), c.close())
	}
	at, flags, config := n.reach()
	c.client, c.flags = &control.Client{Addresses: []string{at}, TLS: config, Patience: time.Minute}, flags
	n.workers(c.pids)
	for i := range workers {
		if err := c.mount(fmt.Sprintf("w%d", i), c.runs()); err != nil {
			return nil, errors.Join(err, c.close())
		}
		w := newSlot(fmt.Sprintf("w%d", i), &c.starter, bad)
		w.args = func() (place, []string) {
			return n.worker(i), []string{
				"worker", "--name", w.name, "--store", c.store(w.name), "--devices", "cpu", "--connect", connect.String(),
				"--cores", fmt.Sprint(max(1, runtime.NumCPU()/workers)), "--json", "--with-parent",
			}
		}
		c.meeting.Lock()
		c.workers = append(c.workers, w)
		c.meeting.Unlock()
		c.all.Go(func() { w.keep(living) })
	}
	if err := c.complete(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	return c, nil
}

func (c *cluster) runs() string { return filepath.Join(c.dir, "runs") }

// store returns the path at which a worker sees the folder of runs. The path may be taken away from it.
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
	c.meeting.Lock()
	defer c.meeting.Unlock()
	for _, w := range c.workers {
		pid := 0
		if p := w.process(); p != nil {
			pid = p.cmd.Process.Pid
		}
		out = append(out, pid)
	}
	return out
}

// listens reads what the coordinator prints.
func (c *cluster) listens(line string) {
	var e struct{ Event, Address string }
	if json.Unmarshal([]byte(line), &e) != nil || e.Event != "listening" {
		return
	}
	c.hearing.Lock()
	defer c.hearing.Unlock()
	if c.heard++; c.heard == 1 {
		c.network.listens(e.Address)
	}
	close(c.listen)
	c.listen = make(chan struct{})
}

// listening is closed when the coordinator says the next time that it listens.
func (c *cluster) listening() <-chan struct{} {
	c.hearing.Lock()
	defer c.hearing.Unlock()
	return c.listen
}

// complete waits until all workers have joined.
func (c *cluster) complete(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, errors.New("not all workers have joined within a minute"))
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		s, err := c.client.Status(ctx, "")
		if err == nil && len(s.Workers) == len(c.workers) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}

// slots are all processes.
func (c *cluster) slots() []*slot { return append([]*slot{c.coordinator}, c.workers...) }

// dump has all processes say what they are at, which ends them.
func (c *cluster) dump() {
	for _, s := range c.slots() {
		s.leave()
		s.signal(sigThaw)
		s.signal(sigDump)
	}
}

// close ends all processes, the workers first, and sees that nothing is left of them.
func (c *cluster) close() error {
	for _, s := range c.slots() {
		s.signal(sigThaw)
	}
	c.stop()
	for _, s := range c.slots() {
		s.end(goodbye)
	}
	c.all.Wait()
	c.starter.mu.Lock()
	defer c.starter.mu.Unlock()
	for _, p := range c.starter.all {
		if survived(p.cmd) {
			c.bad(fmt.Errorf("%s has left processes behind", p.name))
		}
	}
	return c.network.close()
}
