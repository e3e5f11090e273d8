package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/weft-rl/weft/internal/run/gate"
)

// Unreached is the error of an epoch that did not begin because this process could not open a
// stream to others.
type Unreached struct {
	Workers []string // names of the workers
	Err     error
}

func (u *Unreached) Error() string {
	return fmt.Sprintf("data plane: worker %s cannot be reached: %v", strings.Join(u.Workers, " and worker "), u.Err)
}

func (u *Unreached) Unwrap() error { return u.Err }

// Peer says that the failure is not of this process's part.
func (u *Unreached) Peer() bool { return true }

// Unreached returns the workers that this process could not reach.
func (u *Unreached) Unreached() []string { return u.Workers }

// Refused is the error of an epoch that did not begin because another process refused this one, or
// another process answered at its address. A retry may succeed.
type Refused struct {
	Worker string
	Err    error
}

func (r *Refused) Error() string {
	return fmt.Sprintf("data plane: worker %s cannot be connected to: %v", r.Worker, r.Err)
}

func (r *Refused) Unwrap() error { return r.Err }

// Peer says that the failure is not of this process's part.
func (r *Refused) Peer() bool { return true }

// Broken returns the worker: there is something wrong between the two.
func (r *Refused) Broken() []string { return []string{r.Worker} }

// Late is the error of an epoch that did not begin because processes had not built their parts in
// time.
type Late struct{ Workers []string }

func (l *Late) Error() string {
	return fmt.Sprintf("data plane: worker %s did not come in time", strings.Join(l.Workers, " and worker "))
}

// Peer says that the failure is another process's.
func (l *Late) Peer() bool { return true }

// Late returns the workers that did not come.
func (l *Late) Late() []string { return l.Workers }

// meet opens streams to some of the others, and waits until the rest have opened theirs. Only who
// opens a stream knows whether the other process can be reached; who waits cannot tell a cut link
// from a slow process.
func (s *Session) meet(ctx context.Context) error {
	joining, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	defer context.AfterFunc(s.ctx, func() { fail(context.Cause(s.ctx)) })()
	s.joining = joining
	defer time.AfterFunc(s.node.o.Wait, func() { fail(errLate) }).Stop()
	away, err := s.dialAll(fail)
	if len(away) > 0 {
		slices.Sort(away)
		return &Unreached{away, err}
	}
	for _, p := range s.others() {
		select {
		case <-p.open:
		case <-joining.Done():
			return s.unjoined(context.Cause(joining))
		}
	}
	return nil
}

// unjoined returns why the session did not come about: because of a peer, or of what has happened
// to the epoch.
func (s *Session) unjoined(err error) error {
	var refused *Refused
	switch {
	case errors.As(err, &refused):
		return refused
	case err != errLate:
		return fmt.Errorf("data plane: %w", err)
	}
	l := &Late{}
	for _, p := range s.others() {
		if !p.isOpen() {
			l.Workers = append(l.Workers, p.name)
		}
	}
	return l
}

var errLate = errors.New("not all workers were there in time")

// dialAll opens the streams that are this process's to open, and returns which peers could not be
// reached, with one of the reasons. When one cannot be, the others are given up: those that have
// answered so far can be reached.
func (s *Session) dialAll(fail context.CancelCauseFunc) (away []string, why error) {
	var mu sync.Mutex
	var dials sync.WaitGroup
	for _, p := range s.others() {
		if !s.dials(p) {
			continue
		}
		dials.Go(func() {
			answered, err := s.connect(p)
			if err == nil {
				return
			}
			fail(err)
			if !answered && s.ctx.Err() == nil {
				mu.Lock()
				defer mu.Unlock()
				if away = append(away, p.name); why == nil {
					why = err
				}
			}
		})
	}
	dials.Wait()
	return away, why
}

// way opens a stream once. An error with the code Unavailable means that no process listens there.
type way func(hello) (carrier, error)

// reached returns the ways to a peer, the best one first, and a function that gives back what they
// hold. That hosts have the same name does not mean that they have the same files, so there is
// always TCP.
func (s *Session) reached(p *peer) ([]way, func(), error) {
	tcp, socket := reach(p.address)
	conn, err := grpc.NewClient("passthrough:///"+tcp, clientOptions(s.node.o.TLS)...)
	if err != nil {
		return nil, nil, err
	}
	all := []way{func(h hello) (carrier, error) { return s.open(conn, h) }}
	if socket != "" && p.sameHost {
		all = slices.Insert(all, 0, func(h hello) (carrier, error) {
			c, err := s.knock(socket, h)
			if code := status.Code(err); code != codes.OK && code != notYet { // it may be another machine's socket of that name
				err = status.Error(codes.Unavailable, err.Error())
			}
			return c, err
		})
	}
	return all, func() { _ = conn.Close() }, nil // nothing is left on it
}

// noAnswer is the error of a peer that did not answer for too long.
type noAnswer struct{ error }

func (n noAnswer) Unwrap() error { return n.error }

// connect opens the stream to a peer. It tries again while the peer answers that it is not ready,
// and for a while if it does not answer at all. If it fails, answered reports whether the peer can
// be reached, as far as is known.
func (s *Session) connect(p *peer) (answered bool, err error) {
	ways, done, err := s.ways(p)
	if err != nil {
		return true, &Refused{p.name, err}
	}
	h := hello{run: s.g.Run, epoch: s.g.Epoch, from: s.g.Me, to: p.number, life: s.g.Life, secret: s.secret()}
	pause := time.NewTimer(0)
	defer pause.Stop()
	for heard := time.Now(); ; {
		c, err := try(ways, h)
		switch status.Code(err) {
		case codes.OK:
			if _, ok := c.(*remote); !ok {
				done() // else the stream holds the connection
			}
			s.begin(p, c)
			return true, nil
		case notYet:
			heard, answered = time.Now(), true
		case codes.Unavailable:
			if time.Since(heard) > s.node.o.Connect {
				done()
				return false, noAnswer{fmt.Errorf("no answer from %s for %v: %w", p.address, s.node.o.Connect, err)}
			}
		default:
			done()
			return true, &Refused{p.name, err}
		}
		pause.Reset(20 * time.Millisecond)
		select {
		case <-pause.C:
		case <-s.joining.Done():
			done()
			var other noAnswer // for all that time there was none from this one either
			return answered || !errors.As(context.Cause(s.joining), &other), fmt.Errorf("worker %s at %s: %w", p.name, p.address, err)
		}
	}
}

// try tries one way after the other, until a process answers.
func try(ways []way, h hello) (c carrier, err error) {
	for _, w := range ways {
		if c, err = w(h); status.Code(err) != codes.Unavailable {
			break
		}
	}
	return c, err
}

// attempt returns a context for one attempt to open a stream.
func (s *Session) attempt() (context.Context, context.CancelFunc) {
	return context.WithTimeout(s.joining, min(polite, s.node.o.Connect))
}

// silent replaces the error of an attempt that ran out of time by one that says that nothing
// answered.
func silent(attempt context.Context, err error) error {
	if err == nil || attempt.Err() == nil {
		return err
	}
	return status.Errorf(codes.Unavailable, "no answer in time: %v", err)
}

// open tries gRPC once.
func (s *Session) open(conn *grpc.ClientConn, h hello) (_ carrier, err error) {
	attempt, stop := s.attempt()
	defer stop()
	defer func() { err = silent(attempt, err) }()
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(s.ctx, h.metadata()))
	release := context.AfterFunc(attempt, cancel)
	stream, err := conn.NewStream(ctx, &service.Streams[0], method)
	if err != nil {
		cancel()
		return nil, err
	}
	md, err := stream.Header()
	if err == nil && len(md.Get("weft-protocol")) == 0 { // refused: the status says why
		err = stream.RecvMsg(new(arrival))
	}
	var answer hello
	if err == nil {
		answer, err = readHello(md)
	}
	if err == nil {
		err = s.verify(answer, h)
	}
	if err == nil {
		err = s.belongs(h.to, gate.Of(stream.Context()).Name)
	}
	if release() && err == nil {
		return &remote{calls: stream, tls: s.node.o.TLS != nil, stop: func() {
			cancel()
			_ = conn.Close() // nothing is left on it
		}}, nil
	}
	cancel()
	if err == nil {
		err = context.Cause(attempt)
	}
	return nil, err
}
