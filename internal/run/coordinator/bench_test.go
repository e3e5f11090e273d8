//go:build unix

package coordinator_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/etcd"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// slowest remembers the longest decision of each kind.
type slowest struct {
	mu   sync.Mutex
	all  time.Duration
	what core.Event
}

func (s *slowest) took(e core.Event, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d > s.all {
		s.all, s.what = d, e
	}
}

// cpu returns the time that this process has computed for.
func cpu(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkWorkers has 1,000 workers join a coordinator with an embedded etcd, beat
// for a while, and carry out a run of a part each. The workers are no more than their
// connections; since both sides of these are in this process, CPU time and memory are
// those of coordinator and connections together.
func BenchmarkWorkers(b *testing.B) {
	const n, idle = 1000, 5 * time.Second
	for b.Loop() {
		store, err := etcd.Embed(b.Context(), filepath.Join(b.TempDir(), "etcd"))
		if err != nil {
			b.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		ctx, cancel := context.WithCancel(b.Context())
		var all sync.WaitGroup
		slow := &slowest{}
		all.Go(func() {
			if err := coordinator.Serve(ctx, coordinator.Options{Listener: l, Store: store, Planner: planner, Runs: b.TempDir(), Took: slow.took}); err != nil {
				b.Error(err)
			}
		})
		client := &protocol.Client{Addresses: []string{l.Addr().String()}}
		began := time.Now()
		for i := range n {
			all.Go(func() { simulate(ctx, b, client, fmt.Sprintf("w%04d", i)) })
		}
		until(b, client, func(s *protocol.Status) bool { return len(s.Workers) == n })
		b.ReportMetric(time.Since(began).Seconds(), "s-join")
		used := cpu(b)
		<-time.After(idle)
		b.ReportMetric(100*float64(cpu(b)-used)/float64(idle), "%cpu-beating")
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.HeapInuse+m.StackInuse)/(1<<20), "MB")
		began = time.Now()
		if err := client.Submit(ctx, "r", fmt.Sprintf(configuration, n, 20, "")); err != nil {
			b.Fatal(err)
		}
		until(b, client, func(s *protocol.Status) bool { return s.Runs[0].Phase == core.Running || s.Runs[0].Phase.Over() })
		b.ReportMetric(time.Since(began).Seconds(), "s-assign")
		r, err := client.Watch(ctx, "r", func(core.Run) {})
		if err != nil || r.Phase != core.Done || r.Epoch != 1 {
			b.Fatalf("it is %s after %d epochs: %s, %v", r.Phase, r.Epoch, r.Why, err)
		}
		b.ReportMetric(float64(slow.all)/float64(time.Millisecond), "ms-slowest")
		b.Logf("the slowest decision was about a %T", slow.what)
		cancel()
		all.Wait()
		if err := store.Close(); err != nil {
			b.Error(err)
		}
	}
}

// simulate plays a worker that is ready at once, and done when it may start.
func simulate(ctx context.Context, b *testing.B, c *protocol.Client, name string) {
	err := c.Each(ctx, func(conn *grpc.ClientConn) error {
		link, err := protocol.Join(ctx, conn)
		if err != nil {
			return err
		}
		var all sync.WaitGroup
		defer all.Wait()
		out := make(chan *protocol.Up, 8)
		out <- &protocol.Up{Kind: protocol.KindHello, Hello: &protocol.Hello{
			Version: protocol.Version, Binary: "b1", Name: name, Instance: name, Cores: 1, Devices: []string{"cpu"}}}
		beating, stop := context.WithCancel(ctx)
		defer stop()
		all.Go(func() {
			beat := time.NewTicker(250 * time.Millisecond)
			defer beat.Stop()
			for err := error(nil); err == nil; {
				select {
				case <-beating.Done():
					return
				case m := <-out:
					err = link.Send(m)
				case <-beat.C:
					err = link.Send(&protocol.Up{Kind: protocol.KindBeat})
				}
			}
		})
		for {
			m, err := link.Recv()
			if err != nil {
				return err
			}
			switch m.Kind {
			case protocol.KindAssign:
				out <- &protocol.Up{Kind: protocol.KindReady, Seq: 1, Run: m.Run, Epoch: m.Epoch}
			case protocol.KindStart:
				out <- &protocol.Up{Kind: protocol.KindDone, Seq: 2, Run: m.Run, Epoch: m.Epoch, Progress: &part.Progress{Steps: 20}}
			}
		}
	})
	if err != nil && ctx.Err() == nil {
		b.Error(err)
	}
}

func until(b *testing.B, c *protocol.Client, is func(*protocol.Status) bool) {
	b.Helper()
	for {
		s, err := c.Status(b.Context(), "")
		if err != nil {
			b.Fatal(err)
		}
		if is(s) {
			return
		}
		<-time.After(10 * time.Millisecond)
	}
}
