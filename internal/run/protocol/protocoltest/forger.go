// Package protocoltest speaks to coordinators as no worker of this program would, for the tests of
// what they must refuse.
package protocoltest

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// Forger is a worker's connection on which anything can be said.
type Forger struct {
	link protocol.Link
	seq  int64
	mu   sync.Mutex // of sending
}

// beat tells the coordinator that it is there, as workers do, until ctx is done.
func (f *Forger) beat(ctx context.Context) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if f.send(&protocol.Up{Kind: protocol.KindBeat}) != nil {
				return // who hears or says something is told
			}
		}
	}
}

func (f *Forger) send(m *protocol.Up) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.link.Send(m)
}

// Join joins a cluster as the worker that hello describes, calls do if the coordinator welcomes it,
// and leaves when do returns. It fills in what every hello has, and returns the coordinator's
// answer.
func Join(ctx context.Context, c *protocol.Client, hello protocol.Hello, do func(*Forger) error) (answer *protocol.Down, err error) {
	hello.Version, hello.Binary, hello.Instance, hello.Host, hello.Cores, hello.Devices = protocol.Version, "b1", "forged", "h", 1, []string{"cpu"}
	err = c.Each(ctx, func(conn *grpc.ClientConn) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		link, err := protocol.Join(ctx, conn)
		if err == nil {
			err = link.Send(&protocol.Up{Kind: protocol.KindHello, Hello: &hello})
		}
		if err == nil {
			answer, err = link.Recv()
		}
		if err != nil || answer.Kind != protocol.KindWelcome {
			return err
		}
		f, beats := &Forger{link: link}, sync.WaitGroup{}
		beats.Go(func() { f.beat(ctx) })
		defer beats.Wait()
		defer cancel()
		return do(f)
	})
	return answer, err
}

// Say sends messages, and blocks until the coordinator has acknowledged all of them.
func (f *Forger) Say(all ...*protocol.Up) error {
	for _, m := range all {
		f.seq++
		m.Seq = f.seq
		if err := f.send(m); err != nil {
			return err
		}
	}
	for heard := 0; heard < len(all); heard++ {
		if _, err := f.hear(protocol.KindAck); err != nil {
			return err
		}
	}
	return nil
}

// Assigned blocks until the coordinator assigns a part of a run, and returns the message.
func (f *Forger) Assigned() (*protocol.Down, error) { return f.hear(protocol.KindAssign) }

func (f *Forger) hear(kind protocol.Kind) (*protocol.Down, error) {
	for {
		if m, err := f.link.Recv(); err != nil || m.Kind == kind {
			return m, err
		}
	}
}

// Forgeries returns messages that only the members of a run's epoch may send. Their texts contain
// "forged"; the note contains an escape code of terminals.
func Forgeries(run string, epoch int64) (all []*protocol.Up) {
	for _, m := range []protocol.Up{
		{Kind: protocol.KindRecord, Tail: []byte("forged\n")},
		{Kind: protocol.KindRecord, Tail: []byte("forged\n"), Offset: 1 << 40}, // lines are missing, then
		{Kind: protocol.KindNote, Text: "\x1b[2Jforged"},
		{Kind: protocol.KindReady},
		{Kind: protocol.KindDone, Offset: 1, Progress: &part.Progress{Steps: 1}}, // what is beyond it is cut off
		{Kind: protocol.KindFailed, Text: "forged", User: true},
		{Kind: protocol.KindCommit, Manifest: &part.Manifest{Epoch: epoch, Step: 1 << 40, Object: "forged", Record: 1 << 40}},
	} {
		m.Run, m.Epoch = run, epoch
		all = append(all, &m)
	}
	return all
}
