// Package worker is a process of a cluster that carries out parts of runs: it finds the
// coordinator that acts, says what it has and what it is at, and does what it is told.
// A part goes on while the connection is down, for as long as a lease would last: a
// new coordinator may take it up. What it has to say waits until it can be said.
package worker

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// Options describe a worker and its resources.
type Options struct {
	Coordinators []string // addresses; one is enough
	TLS          *tls.Config
	Name, Host   string
	Data         string // address of its data plane
	Cores        int
	Memory       int64
	Devices      []string
	Binary       string // hash of the program
	Guest        string // address of the data plane of programs that runs bring; empty if it takes none
	Runner       part.Runner
	Shared       *Shared // its store; nil skips the check that workers share it

	Beat    time.Duration // between signs of life; 250 ms by default
	Silence time.Duration // time after which a silent coordinator counts as lost; 1 s by default
	Lease   time.Duration // time for which a part goes on without a lease; 5 s by default
	// Leave is how long a part may take to end that was given up; 30 s by default. Code of an
	// algorithm or an environment may not end at all, and only the end of the process ends it then.
	Leave time.Duration
	// Drain, if there is one, is closed when the worker is to leave. It then waits until its run
	// goes on without it, for as long as DrainTimeout, 1 min by default. The end of the context has
	// it leave at once.
	Drain        <-chan struct{}
	DrainTimeout time.Duration
	// Patience is how long it looks for a coordinator before it gives up; 1 min by default.
	Patience time.Duration

	Log   *slog.Logger // nil is none
	Probe *Probe       // serves metrics and health; nil serves none
}

func (o Options) withDefaults() Options {
	def := func(d *time.Duration, to time.Duration) {
		if *d == 0 {
			*d = to
		}
	}
	def(&o.Beat, 250*time.Millisecond)
	def(&o.Silence, time.Second)
	def(&o.Lease, 5*time.Second)
	def(&o.Patience, time.Minute)
	def(&o.Leave, 30*time.Second)
	def(&o.DrainTimeout, time.Minute)
	if o.Probe == nil {
		o.Probe = &Probe{}
	}
	if o.Log == nil {
		o.Log = journal.Discard()
	}
	return o
}

// worker is the process.
type worker struct {
	Options
	instance string
	ctx      context.Context
	end      context.CancelCauseFunc
	parts    sync.WaitGroup
	post     post

	mu      sync.Mutex
	part    *running    // the one it is at, or was at last; nil: none
	joined  bool        // a coordinator has welcomed it, and the connection lasts
	mark    string      // mark that was last found in the store
	leaving *time.Timer // ends it if it is not dismissed in time; nil: it is not to leave
}

// ErrStuck is the error of a worker whose part does not end though it was given up. Its process
// should end too, and may be started again: parts of other runs would wait for that one.
var ErrStuck = errors.New("a part that was given up does not end")

// Run works until ctx is done, it is asked to leave and may, it is refused, no coordinator is
// found, or a part of it is stuck.
func Run(ctx context.Context, o Options) error {
	id := make([]byte, 8)
	if _, err := rand.Read(id); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	w := &worker{Options: o.withDefaults(), instance: hex.EncodeToString(id), ctx: ctx, end: cancel, post: post{news: make(chan struct{}, 1)}}
	w.Probe.w.Store(w)
	var waits sync.WaitGroup
	waits.Go(func() { w.await(ctx) })
	err := w.work(ctx)
	cancel(nil)
	waits.Wait()
	w.stopClock()
	if cause := context.Cause(ctx); errors.Is(cause, ErrStuck) {
		return cause
	}
	if p := w.current(); p != nil {
		select { // those before it have ended when it does
		case <-p.over:
		case <-time.After(w.Leave):
			return errors.Join(err, p.stuck(w.Leave))
		}
	}
	w.parts.Wait()
	return err
}

// work finds a coordinator and stays with it, again and again.
func (w *worker) work(ctx context.Context) error {
	for {
		began := time.Now()
		err := w.serve(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if time.Since(began) > w.Beat {
			continue
		}
		select { // it was let in and hung up on: not again and again without a pause
		case <-ctx.Done():
		case <-time.After(w.Beat):
		}
	}
}

// serve finds a coordinator and stays with it until the connection is over. Without
// one, a part ends when its lease would.
func (w *worker) serve(ctx context.Context) error {
	p := w.current() // it is given no other before it has joined
	lease := time.AfterFunc(w.Lease, func() { w.abort(p, unheard) })
	defer lease.Stop()
	c := protocol.Client{Addresses: w.Coordinators, TLS: w.TLS, Patience: w.Patience, Waiting: func(why error) {
		w.Log.Warn(fmt.Sprintf("it looks for a coordinator: %v", why))
	}}
	joined := false
	err := c.Each(ctx, func(conn *grpc.ClientConn) error {
		err := w.session(ctx, conn, p, func() (inTime bool) {
			joined = true
			return lease.Stop()
		})
		if joined {
			return nil // it is looked for anew, with new patience
		}
		return err
	})
	if joined && ctx.Err() == nil {
		w.Log.Warn("the connection to the coordinator is lost")
	}
	return err
}

const unheard = "no coordinator is heard of"

// session returns a connection: one goroutine sends, this one receives. p is the part that it is
// at, and joined is called when it is welcome.
func (w *worker) session(ctx context.Context, conn *grpc.ClientConn, p *running, joined func() (inTime bool)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	quiet := newQuiet(w.Silence+2*time.Second, cancel) // until it is welcome
	defer quiet.stop()
	link, err := protocol.Join(ctx, conn)
	if err != nil {
		return err
	}
	hello := w.hello(p)
	if err := link.Send(&protocol.Up{Kind: protocol.KindHello, Hello: hello}); err != nil {
		_, err = link.Recv()
		return err
	}
	m, err := link.Recv()
	if err == nil && m.Kind == protocol.KindLook {
		quiet.heard(looking + 5*time.Second)
		_ = w.look(ctx, link, m.Text) // what is wrong is received
		m, err = link.Recv()
	}
	if err != nil {
		return err
	}
	switch {
	case m.Kind == protocol.KindRefused && m.Again:
		return errors.New(m.Text)
	case m.Kind != protocol.KindWelcome:
		return protocol.Final{Err: fmt.Errorf("the coordinator says %q instead of a welcome", m.Kind)}
	}
	if !joined() {
		w.abort(p, unheard) // it is about to be, or was
		if hello.Doing != nil {
			return errors.New("the worker joined with a part that it has given up meanwhile") // and says otherwise when it comes again
		}
	}
	w.Log.Info("it has joined")
	w.Probe.joins.Add(1)
	w.isJoined(true)
	defer w.isJoined(false)
	if p != nil {
		p.mail.again()
	}
	var sending sync.WaitGroup
	defer sending.Wait()
	defer cancel()
	sending.Go(func() {
		defer cancel()
		w.send(ctx, link)
	})
	for {
		quiet.heard(w.Silence)
		m, err := link.Recv()
		if err != nil {
			return err
		}
		if err := w.obey(m); err != nil {
			return err
		}
	}
}

func (w *worker) hello(p *running) *protocol.Hello {
	h := &protocol.Hello{
		Version: protocol.Version, Binary: w.Binary, Guest: w.Guest, Name: w.Name, Instance: w.instance, Host: w.Host, Data: w.Data,
		Cores: w.Cores, Memory: w.Memory, Devices: w.Devices,
	}
	if w.Guest != "" {
		h.Platform = part.Platform()
	}
	if p != nil {
		h.Doing = p.doing()
	}
	h.Draining, h.Shared = w.isLeaving(), w.store()
	return h
}

func (w *worker) current() *running {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.part
}

// send sends what the part has to say, and signs of life.
func (w *worker) send(ctx context.Context, link protocol.Link) {
	beat := time.NewTicker(w.Beat)
	defer beat.Stop()
	told := false
	for {
		if !told && w.isLeaving() {
			if told = true; link.Send(&protocol.Up{Kind: protocol.KindLeave}) != nil {
				return
			}
		}
		p := w.current()
		if p != nil {
			for m := p.mail.next(); m != nil; m = p.mail.next() {
				if link.Send(m) != nil {
					return
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-w.post.news:
			if p == nil || !p.urgent() {
				continue
			}
		case <-beat.C:
		}
		m := &protocol.Up{Kind: protocol.KindBeat}
		if p != nil {
			p.stands(m)
		}
		if link.Send(m) != nil {
			return
		}
	}
}

// obey does what the coordinator says.
func (w *worker) obey(m *protocol.Down) error {
	p := w.current()
	mine := p != nil && p.Run == m.Run && p.Epoch == m.Epoch && p.Life == m.Life
	switch m.Kind {
	case protocol.KindAssign:
		a, err := protocol.Unpack(m.Tail, m.Me)
		if err != nil {
			return err
		}
		if mine {
			return fmt.Errorf("epoch %d of run %s is assigned twice", a.Epoch, a.Run)
		}
		w.begin(a)
	case protocol.KindStart:
		if mine {
			p.start()
		}
	case protocol.KindHalt:
		if mine {
			p.halt()
		}
	case protocol.KindAbort:
		if mine {
			w.abort(p, m.Text)
		}
	case protocol.KindDrain:
		w.leave("the coordinator asks it to leave")
	case protocol.KindDismiss:
		w.Log.Info("it leaves: no run needs it")
		w.end(errLeft)
	case protocol.KindAck:
		if p != nil {
			p.mail.acknowledge(m.Seq, m.Text)
		}
	}
	return nil
}

// begin carries an assignment out, once the part before it has ended.
func (w *worker) begin(a part.Assignment) {
	w.Log.Info(fmt.Sprintf("epoch %d: part %d of %d", a.Epoch, a.Me, len(a.Workers)), journal.Run, a.Run)
	ctx, cancel := context.WithCancel(w.ctx)
	p := newRunning(ctx, cancel, a, &w.post)
	w.mu.Lock()
	before := w.part
	w.part = p
	w.mu.Unlock()
	if before != nil {
		before.abort()
		w.expect(before)
	}
	w.parts.Go(func() {
		defer close(p.over)
		if before != nil {
			<-before.over
		}
		w.Probe.parts.Add(1)
		if p.carryOut(w.Runner) != nil {
			w.Probe.failed.Add(1)
		}
	})
}

// abort gives a part up.
func (w *worker) abort(p *running, why string) {
	if p == nil || !p.abort() {
		return
	}
	w.expect(p)
	w.Log.Info(fmt.Sprintf("epoch %d is given up: %s", p.Epoch, why), journal.Run, p.Run)
}

// expect ends the worker if a part that was given up does not end in time.
func (w *worker) expect(p *running) {
	time.AfterFunc(w.Leave, func() {
		select {
		case <-p.over:
		default:
			w.end(p.stuck(w.Leave))
		}
	})
}

// stuck returns the error of a part that has not ended in time.
func (p *running) stuck(limit time.Duration) error {
	return fmt.Errorf("run %s, epoch %d: %w within %v", p.Run, p.Epoch, ErrStuck, limit)
}
