// Package coordinator is the shell around core: it listens for workers and clients,
// keeps what core wants kept, and has one goroutine that tells core what happened and
// does what it decides. Only the coordinator speaks with the store; it holds the leases
// of workers for as long as it hears of them.
package coordinator

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/gate"
	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/port"
	"github.com/weft-rl/weft/internal/run/program"
	"github.com/weft-rl/weft/internal/run/protocol"
	"github.com/weft-rl/weft/plan"
)

// Planner makes the plan of a configuration on a cluster. Shards are those that the run
// has had, which the planner keeps to unless the configuration lets a run grow; 0 if it
// has not been planned before. An error that wraps ErrShort
// says that more workers might help. It returns when ctx is done. Several goroutines may call it.
//
// Program is the path of the program that the run brought; empty is the coordinator's own.
type Planner func(ctx context.Context, program, config string, c plan.Cluster, shards int) (plan.Plan, error)

// ErrShort is why a plan cannot be made on the workers there are.
var ErrShort = errors.New("too few workers")

// Options configure a coordinator.
type Options struct {
	Listener net.Listener
	Address  string      // address at which other processes reach it; the listener's by default
	TLS      *tls.Config // nil is for loopback alone
	Store    Store
	Planner  Planner
	Runs     string // folder of the runs' records and logs
	Marks    string // folder in Runs for the mark of the workers' store; needed where several clusters have one folder of runs

	Bounds  Bounds
	Core    core.Settings
	Tick    time.Duration // 250 ms by default
	Silence time.Duration // time after which a silent worker is suspected; 1 s by default
	Brief   time.Duration // time that other runs wait for the plan of one; 500 ms by default

	Log   *slog.Logger // nil is none
	Probe *Probe       // serves metrics and health; nil serves none
	// Took, if there is one, is told how long an event took to be decided and acted upon.
	Took func(core.Event, time.Duration)
}

func (o Options) withDefaults() Options {
	if o.Address == "" {
		o.Address = o.Listener.Addr().String()
	}
	if o.Core == (core.Settings{}) {
		o.Core = core.Defaults()
	}
	if o.Tick == 0 {
		o.Tick = 250 * time.Millisecond
	}
	if o.Silence == 0 {
		o.Silence = time.Second
	}
	if o.Brief == 0 {
		o.Brief = 500 * time.Millisecond
	}
	o.Bounds = o.Bounds.withDefaults()
	if o.Probe == nil {
		o.Probe = &Probe{}
	}
	if o.Log == nil {
		o.Log = journal.Discard()
	}
	return o
}

// coordinator is one process's: it acts, or stands by.
type coordinator struct {
	Options
	gate    *gate.Gate
	audit   audit
	kept    *program.Folder // programs that runs brought
	staging chan struct{}   // slots for programs that are being handed over
	mu      sync.Mutex
	acts    *acting // nil: it stands by
	idle    string  // reason why no leader is known
	readers sync.WaitGroup
}

// Serve runs a coordinator until ctx is done. It waits for leadership, and acts while it has it.
// While another coordinator leads, it tells callers which.
func Serve(ctx context.Context, o Options) error {
	c := &coordinator{Options: o.withDefaults(), idle: "it has just started"}
	c.gate = gate.New(c.TLS, func(text string) { c.Log.Warn(text) })
	c.Probe.c.Store(c)
	c.audit.dir = c.Runs
	c.keepPrograms()
	server := protocol.NewServer(audited{c}, c.gate, c.Probe.tally.counts()...)
	watching, stop := context.WithCancel(ctx)
	c.readers.Go(func() { c.gate.Watch(watching) })
	served := make(chan error, 1)
	go func() { served <- server.Serve(port.Connections(c.Listener, port.Most)) }()
	err := c.campaign(ctx)
	server.Stop()
	stop()
	c.readers.Wait()
	return errors.Join(err, <-served)
}

// campaign acts whenever it may. A store that does not answer is no reason to give up.
func (c *coordinator) campaign(ctx context.Context) error {
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		if at := c.other(ctx); at != "" {
			c.Log.Info(fmt.Sprintf("it stands by: the coordinator at %s acts", at))
		}
		term, err := c.Store.Campaign(ctx, c.Address)
		if err == nil {
			pause = 100 * time.Millisecond
			err = c.act(ctx, term)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			c.standBy(err.Error())
			c.Log.Error(fmt.Sprintf("it does not act: %v", err))
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// act serves a term, from taking over to its end.
func (c *coordinator) act(ctx context.Context, term Term) (err error) {
	a := newActing(c, term)
	var stop context.CancelFunc
	a.ctx, stop = context.WithCancel(ctx)
	defer stop()
	loading, cancel := context.WithTimeout(ctx, storeTimeout)
	runs, alive, err := term.Load(loading)
	cancel()
	if err != nil {
		_ = a.resign() // else the leadership ends by itself
		return err
	}
	c.Log.Info(fmt.Sprintf("it acts, with %d runs", len(runs)))
	c.Probe.tally.elected()
	a.helpers.Go(a.records.sweep)
	a.shared.recall(filepath.Join(c.Runs, c.Marks), len(alive))
	for _, r := range runs {
		if !r.Phase.Over() {
			a.records.of(r.Name) // its workers may speak of it at once
		}
	}
	if err = a.step(event{Event: core.Loaded{Runs: runs, Alive: alive}}); err == nil {
		a.publish()
		c.mu.Lock()
		c.acts = a
		c.mu.Unlock()
		err = a.loop(ctx)
	}
	c.standBy("it has just stopped acting")
	stop() // what it has begun
	a.close()
	if e := a.resign(); err == nil { // a store that does not answer is told of once
		err = e
	}
	return err
}

func (c *coordinator) standBy(why string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acts, c.idle = nil, why
}

// acting returns the term under way, or an error that says who acts instead.
func (c *coordinator) acting(ctx context.Context) (*acting, error) {
	c.mu.Lock()
	a, idle := c.acts, c.idle
	c.mu.Unlock()
	if a != nil {
		return a, nil
	}
	if at := c.other(ctx); at != "" {
		return nil, protocol.Elsewhere(at)
	}
	return nil, protocol.Idle(idle)
}

// other returns the address of another coordinator that acts; empty if none is known to.
func (c *coordinator) other(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	at, err := c.Store.Leader(ctx)
	if err != nil || at == c.Address {
		return ""
	}
	return at
}
