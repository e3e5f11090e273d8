package protocol

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"

	"github.com/weft-rl/weft/internal/plain"
	"github.com/weft-rl/weft/internal/run/certs"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/gate"
	"github.com/weft-rl/weft/internal/run/part"
)

// Client speaks with the coordinator that acts, wherever that is.
type Client struct {
	Addresses []string      // coordinators; a standby names the leader
	TLS       *tls.Config   // nil is for loopback alone
	Patience  time.Duration // time for a coordinator to act; 0 is 5 s
	// Waiting, if there is one, is told why no coordinator acts, whenever that is news.
	Waiting func(why error)
}

// dial prepares a connection.
func (c *Client) dial(address string) (*grpc.ClientConn, error) {
	return grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(gate.Dial(c.TLS, certs.Coordinate)), grpc.WithDefaultCallOptions(
		grpc.ForceCodec(codec{}), grpc.MaxCallRecvMsgSize(MaxMessage), grpc.MaxCallSendMsgSize(MaxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: backoff.Config{BaseDelay: 50 * time.Millisecond, Multiplier: 1.5, MaxDelay: time.Second}, MinConnectTimeout: 2 * time.Second}))
}

// Each calls do with a connection to each coordinator in turn, the leader first if a standby names
// it, until one of them answers. It gives up when ctx is done or patience has passed.
func (c *Client) Each(ctx context.Context, do func(*grpc.ClientConn) error) error {
	patience := c.Patience
	if patience == 0 {
		patience = 5 * time.Second
	}
	limit, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var last error
	told := ""
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		queue := slices.Clone(c.Addresses)
		for i := 0; i < len(queue) && i < 2*len(c.Addresses)+2; i++ {
			err := c.once(queue[i], do)
			at, hint := leader(err)
			switch {
			case err == nil:
				return nil
			case hint && at != "" && !slices.Contains(queue[i+1:], at):
				queue = slices.Insert(queue, i+1, at)
			case !hint && !passing(err):
				return said(err)
			}
			last = err
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		why := c.silent(last)
		if c.Waiting != nil && why.Error() != told && ctx.Err() == nil {
			told = why.Error()
			c.Waiting(why)
		}
		select {
		case <-limit.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return Away{fmt.Errorf("%w (tried for %v)", why, patience)}
		case <-time.After(pause):
		}
	}
}

func (c *Client) once(address string, do func(*grpc.ClientConn) error) error {
	conn, err := c.dial(address)
	if err != nil {
		return err
	}
	defer conn.Close()
	return do(conn)
}

// Away is the error of a coordinator that did not come back in time.
type Away struct{ error }

// passing reports whether an error may be another one soon.
func passing(err error) bool {
	_, ok := refused(err)
	return !ok && !errors.Is(err, context.Canceled) && !errors.As(err, new(Final))
}

// Final is an error that trying again does not help against.
type Final struct{ Err error }

// Error returns the error's own text.
func (f Final) Error() string { return f.Err.Error() }

// Unwrap returns the error itself.
func (f Final) Unwrap() error { return f.Err }

func invoke[A any](ctx context.Context, c *Client, method string, q any) (*A, error) {
	var answer *A
	err := c.Each(ctx, func(conn *grpc.ClientConn) error {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		answer = new(A)
		return conn.Invoke(ctx, "/"+service+"/"+method, q, answer)
	})
	return answer, err
}

// Submit asks for a run.
func (c *Client) Submit(ctx context.Context, name, config string) error {
	return c.SubmitWith(ctx, name, config, nil)
}

// SubmitWith asks for a run that brings programs, which were staged before.
func (c *Client) SubmitWith(ctx context.Context, name, config string, programs []part.Program) error {
	_, err := invoke[OK](ctx, c, "Submit", &Submit{Version: Version, Name: name, ID: rand.Text(), Config: config, Programs: programs})
	return err
}

// Again says how a run that is over goes on.
type Again struct {
	Split bool // the parts that its environments are split into may be others
	Lost  bool // it goes on although lines of its record are lost
	Begin bool // it begins again, instead of being refused, if no checkpoint of it was committed
	// Programs are the programs that it goes on with; without any, those that it brought before.
	Programs []part.Program
}

// Resume asks for a run that is over to go on, with a configuration that may have changed.
func (c *Client) Resume(ctx context.Context, name, config string, how Again) error {
	_, err := invoke[OK](ctx, c, "Submit", &Submit{
		Version: Version, Name: name, ID: rand.Text(), Config: config, Resume: true, Split: how.Split, Lost: how.Lost, Begin: how.Begin, Programs: how.Programs,
	})
	return err
}

// Delete makes the coordinator forget a run that is over, and removes its folder. It returns what
// is left for the user to remove.
func (c *Client) Delete(ctx context.Context, run string) (left string, err error) {
	ok, err := invoke[OK](ctx, c, "Delete", &Named{Version: Version, Run: run})
	if err != nil {
		return "", err
	}
	return ok.Text, nil
}

// Compact has the coordinator's embedded etcd give disk space back.
func (c *Client) Compact(ctx context.Context) (*Compacted, error) {
	return invoke[Compacted](ctx, c, "Compact", &Named{Version: Version})
}

// Audit returns the audit log of a run, or of all runs, the oldest entry first.
func (c *Client) Audit(ctx context.Context, run string) ([]Deed, error) {
	d, err := invoke[Deeds](ctx, c, "Audit", &Named{Version: Version, Run: run})
	if err != nil {
		return nil, err
	}
	return d.All, nil
}

// Status returns what the coordinator knows of a run, or of all.
func (c *Client) Status(ctx context.Context, run string) (*Status, error) {
	return invoke[Status](ctx, c, "Status", &Named{Version: Version, Run: run})
}

// Gather waits until so many workers have joined the coordinator.
func (c *Client) Gather(ctx context.Context, workers int) error {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		s, err := c.Status(ctx, "")
		if err != nil || len(s.Workers) >= workers {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Stop ends a run at its next consistent point, or now. It does not wait for that.
func (c *Client) Stop(ctx context.Context, run string, now bool) error {
	_, err := invoke[OK](ctx, c, "Stop", &Named{Version: Version, Run: run, Now: now})
	return err
}

// Drain drains workers, which leave once their runs can go on without them. It does not wait for
// that.
func (c *Client) Drain(ctx context.Context, workers ...string) error {
	_, err := invoke[OK](ctx, c, "Drain", &Named{Version: Version, Workers: workers})
	return err
}

// Watch tells of a run whenever it has changed, until it is over, and returns it as
// it ended. It goes on with another coordinator where one takes over.
func (c *Client) Watch(ctx context.Context, run string, tell func(core.Run)) (last core.Run, err error) {
	err = c.follow(ctx, watchStream, Named{Version: Version, Run: run}, func(s grpc.ClientStream) error {
		var r core.Run
		if err := s.RecvMsg(&r); err != nil {
			return err
		}
		last = r
		tell(r)
		return nil
	}, func() bool { return last.Phase.Over() })
	return last, err
}

// Logs writes what a run told; with follow, until it is over. Where the coordinator is replaced
// meanwhile it goes on with what was not written yet.
func (c *Client) Logs(ctx context.Context, run string, follow bool, w io.Writer) error {
	var m Chunk
	written := 0
	shown := plain.Writer(w)
	for over := false; !over; {
		err := c.Each(ctx, func(conn *grpc.ClientConn) error {
			before, known := written, written
			err := stream(ctx, conn, logsStream, Named{Version: Version, Run: run, Follow: follow}, func(s grpc.ClientStream) error {
				if err := s.RecvMsg(&m); err != nil {
					return err
				}
				text := m.Tail[min(known, len(m.Tail)):]
				known -= len(m.Tail) - len(text)
				n, err := shown.Write(text)
				if written += n; err != nil {
					return Final{err}
				}
				return nil
			})
			if over = err == nil; written > before && passing(err) { // patience begins anew
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// Record returns the lines of a run's record, metrics.jsonl of its folder, as far as they are
// written. Where the coordinator is replaced meanwhile it begins again.
func (c *Client) Record(ctx context.Context, run string) ([]byte, error) {
	var all []byte
	err := c.Each(ctx, func(conn *grpc.ClientConn) error {
		all = nil
		var m Chunk
		return stream(ctx, conn, recordStream, Named{Version: Version, Run: run}, func(s grpc.ClientStream) error {
			err := s.RecvMsg(&m)
			if err == nil {
				all = append(all, m.Tail...)
			}
			return err
		})
	})
	return all, err
}

// follow receives a stream to its end, and anew where it breaks off before that.
func (c *Client) follow(ctx context.Context, of grpc.StreamDesc, q Named, recv func(grpc.ClientStream) error, over func() bool) error {
	for {
		got := false
		err := c.Each(ctx, func(conn *grpc.ClientConn) error {
			err := stream(ctx, conn, of, q, func(s grpc.ClientStream) error {
				err := recv(s)
				got = got || err == nil
				return err
			})
			if got { // patience begins anew
				return nil
			}
			return err
		})
		if err != nil || over() {
			return err
		}
	}
}

func stream(ctx context.Context, conn *grpc.ClientConn, of grpc.StreamDesc, q Named, recv func(grpc.ClientStream) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s, err := conn.NewStream(ctx, &of, "/"+service+"/"+of.StreamName)
	if err == nil {
		err = errors.Join(s.SendMsg(&q), s.CloseSend())
	}
	if errors.Is(err, io.EOF) { // what it is about is said to who receives
		err = nil
	}
	for err == nil {
		err = recv(s)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// Link is a worker's end of its connection.
type Link struct{ stream grpc.ClientStream }

// Join opens a worker's connection; it lasts as long as ctx and conn do.
func Join(ctx context.Context, conn *grpc.ClientConn) (Link, error) {
	s, err := conn.NewStream(ctx, &joinStream, "/"+service+"/"+joinStream.StreamName)
	return Link{s}, err
}

// Send sends a message. One goroutine may send while another receives.
func (l Link) Send(u *Up) error { return l.stream.SendMsg(u) }

// Recv waits for a message.
func (l Link) Recv() (*Down, error) {
	m := new(Down)
	return m, l.stream.RecvMsg(m)
}
