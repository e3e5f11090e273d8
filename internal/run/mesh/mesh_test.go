package mesh

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/rl"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(device.Tests{M: m}) }

// process is a node with one replica, as another process would have it.
type process struct {
	*Session
	node   *Node
	link   edge.Link
	scope  *rl.Scope
	failed chan error
}

// listen makes a node. Unless a test is about silence, nobody is taken for lost because this
// machine is busy.
func listen(t *testing.T, o Options) *Node {
	t.Helper()
	if o.Silence == 0 {
		o.Silence = time.Hour
	}
	n, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// group describes nodes that have a replica each.
func group(nodes []*Node, host string) (g Group) {
	g = Group{Run: "run", Epoch: 3}
	for i, n := range nodes {
		g.Workers = append(g.Workers, part.Worker{Name: fmt.Sprint("w", i), Data: n.Address(), Host: host})
		g.Homes = append(g.Homes, i)
	}
	return g
}

// join brings processes together, with queues between their replicas.
func join(t *testing.T, n int, o Options, host string, queues ...int) []*process {
	t.Helper()
	var nodes []*Node
	for range n {
		nodes = append(nodes, listen(t, o))
	}
	return joinAll(t, nodes, host, queues...)
}

func joinAll(t *testing.T, nodes []*Node, host string, queues ...int) []*process {
	t.Helper()
	g := group(nodes, host)
	out := make([]*process, len(nodes))
	var all sync.WaitGroup
	for i := range out {
		all.Go(func() {
			p, err := nodes[i].enter(t, g, i, queues)
			if err != nil {
				t.Error(err)
			}
			out[i] = p
		})
	}
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	return out
}

func (n *Node) enter(t *testing.T, g Group, me int, queues []int) (*process, error) {
	d, err := device.Open(device.Default)
	if err != nil {
		return nil, err
	}
	p := &process{node: n, scope: rl.NewScope(d, 1), failed: make(chan error, 1)}
	g.Me, g.Links, g.Device = me, edge.NewLocal(len(g.Homes), queues), d
	g.Failed = func(err error) { p.failed <- err }
	p.link = g.Links.Link(me)
	p.Session, err = n.Join(t.Context(), g)
	return p, err
}

func (p *process) send(t *testing.T, to int, m edge.Message) {
	t.Helper()
	if err := p.link.Send(t.Context(), to, m); err != nil {
		t.Fatal(err)
	}
}

func (p *process) next(t *testing.T) edge.Message {
	t.Helper()
	m, err := p.link.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// leave closes all in peace, which must be without an error.
func leave(t *testing.T, all []*process) {
	t.Helper()
	var wait sync.WaitGroup
	for _, p := range all {
		wait.Go(func() {
			if err := p.Session.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

// ways lists the transports of messages.
var ways = []string{"tcp", "memory", "socket"}

// options returns those that let processes of host meet on a way.
func options(way string) (o Options, host string) {
	if way == "tcp" {
		return o, ""
	}
	return Options{NoMemory: way == "socket"}, "here"
}

// TestCarry: messages of all sizes arrive as they were sent, in order.
func TestCarry(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			o, host := options(way)
			o.Secret = "s"
			p := join(t, 3, o, host, 4)
			var tensors []rl.Tensor
			for _, n := range []int{0, 1, 1000, 100_000, mostBody/4 + 1, 3 * mostBody / 4} {
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(i)
				}
				tensors = append(tensors, rl.FromFlat(p[0].scope, x, n))
			}
			go func() {
				for i, x := range tensors {
					p[0].send(t, 2, edge.Message{Value: x, Iter: int64(i)})
				}
			}()
			for i, x := range tensors {
				m := p[2].next(t)
				if m.From != 0 || m.Iter != int64(i) || !slices.Equal(rl.System.Bytes(edge.As[rl.Tensor](m.Value)), rl.System.Bytes(x)) {
					t.Errorf("message %d from %d is another", m.Iter, m.From)
				}
				p[2].link.Took(m)
			}
			leave(t, p)
		})
	}
}

// TestRoom: a sender waits while the queue is full, and with a queue of 0 until its
// message was taken.
func TestRoom(t *testing.T) {
	for i, c := range []struct{ queue, free int }{{2, 2}, {1, 1}, {0, 0}, {2, 2}, {1, 1}, {0, 0}} {
		o, host := options(ways[i%len(ways)])
		p := join(t, 2, o, host, c.queue)
		sent := make(chan int, 10)
		go func() {
			for i := range 5 {
				p[0].send(t, 1, edge.Message{Value: i})
				sent <- i
			}
			close(sent)
		}()
		for range c.free {
			<-sent
		}
		for i := range 5 {
			m := p[1].next(t)
			if got := edge.As[int](m.Value); got != i {
				t.Fatalf("got %d, want %d", got, i)
			}
			if done := len(sent); i+c.free < 5 && done > 0 {
				t.Errorf("queue %d: %d more were sent than there is room for", c.queue, done)
			}
			p[1].link.Took(m)
			if i+c.free < 5 {
				<-sent
			}
		}
		leave(t, p)
	}
}

// TestPost: of what is posted only the newest matters, and nobody waits.
func TestPost(t *testing.T) {
	p := join(t, 2, Options{}, "here", 1)
	for i := range 1000 {
		p[0].link.Post(1, edge.Message{Value: i})
	}
	last := -1
	for last < 999 {
		m := p[1].next(t)
		got := edge.As[int](m.Value)
		if got <= last {
			t.Fatalf("%d came after %d", got, last)
		}
		last = got
		p[1].link.Took(m)
	}
	leave(t, p)
}

// TestBeside: processes that share memory know of each other who computes.
func TestBeside(t *testing.T) {
	p := join(t, 3, Options{}, "here", 1)
	until := func(n int) {
		for p[0].Beside() != n {
			if t.Context().Err() != nil {
				t.Fatalf("%d compute beside it", p[0].Beside())
			}
			runtime.Gosched()
		}
	}
	until(2)
	var waits sync.WaitGroup
	waits.Go(func() { p[1].link.Took(p[1].next(t)) })
	until(1)
	p[0].send(t, 1, edge.Message{Value: 5})
	waits.Wait()
	until(2)
	leave(t, p)
	if n := p[0].Beside(); n != 0 {
		t.Errorf("%d compute beside it when all have left", n)
	}
	other := join(t, 2, Options{}, "", 1)
	if n := other[0].Beside(); n != 0 {
		t.Errorf("%d of other hosts compute beside it", n)
	}
	leave(t, other)
}

// TestLate: what was sent arrives though the sender leaves at once.
func TestLate(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) { late(t, way) })
	}
}

func late(t *testing.T, way string) {
	o, host := options(way)
	p := join(t, 2, o, host, 1)
	x := rl.FromFlat(p[0].scope, make([]float32, 3<<20), 3<<20)
	p[0].send(t, 1, edge.Message{Value: x})
	if err := p[0].Session.Close(); err != nil {
		t.Fatal(err)
	}
	if got := edge.As[rl.Tensor](p[1].next(t).Value); got.Rows() != 3<<20 {
		t.Errorf("%v arrived", got)
	}
	leave(t, p[1:])
}

// TestLeave: however the processes leave, none takes another for lost.
func TestLeave(t *testing.T) {
	for range 30 {
		p := join(t, 3, Options{}, "here", 1)
		leave(t, p)
		for i, x := range p {
			select {
			case err := <-x.failed:
				t.Errorf("process %d: %v", i, err)
			default:
			}
		}
	}
}

func await(t *testing.T, p *process) error {
	t.Helper()
	select {
	case err := <-p.failed:
		return err
	case <-t.Context().Done():
		return t.Context().Err()
	}
}

// TestGiveUp: who gives up tells the others why.
func TestGiveUp(t *testing.T) {
	for _, way := range ways {
		t.Run(way, func(t *testing.T) { giveUp(t, way) })
	}
}

func giveUp(t *testing.T, way string) {
	o, host := options(way)
	p := join(t, 3, o, host, 1)
	p[1].Abort(errors.New("the loss is not a number"))
	for _, i := range []int{0, 2} {
		var g *GaveUp
		if err := await(t, p[i]); !errors.As(err, &g) || g.Worker != "w1" || !strings.Contains(err.Error(), "the loss is not a number") {
			t.Errorf("process %d: %v", i, err)
		}
	}
	p[0].Abort(errEnded)
	p[2].Abort(errEnded)
}

// TestKilled: a process whose connections break is lost.
func TestKilled(t *testing.T) {
	for i, dead := range []int{0, 1, 0, 1, 0, 1} {
		o, host := options(ways[i/2])
		p := join(t, 2, o, host, 1)
		p[dead].node.server.Stop()
		for _, o := range p[dead].others() {
			o.close()
		}
		var l *Lost
		if err := await(t, p[1-dead]); !errors.As(err, &l) || l.Worker != fmt.Sprint("w", dead) {
			t.Errorf("%v", err)
		}
		p[0].Abort(errEnded)
		p[1].Abort(errEnded)
	}
}

// TestSilent: a process that is there and says nothing is lost too, whoever
// connected to whom, also by one that is sending to it.
func TestSilent(t *testing.T) {
	for i, frozen := range []int{0, 1, 0, 1} {
		o, host := options(ways[i/2])
		o.Silence = time.Hour // it does not take the other for lost first, on a machine that is busy
		nodes := []*Node{listen(t, o), listen(t, o)}
		nodes[1-frozen].o.Silence = 80 * time.Millisecond
		p := joinAll(t, nodes, host, 1<<20)
		p[frozen].others()[0].sending.Lock() // nothing leaves it any more
		err := await(t, p[1-frozen])
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("worker w%d was lost: it has been silent", frozen)) {
			t.Errorf("%v", err)
		}
		p[frozen].others()[0].sending.Unlock()
		p[0].Abort(errEnded)
		p[1].Abort(errEnded)
	}
}

// TestUnencodable: a value that cannot cross ends the epoch with a reason.
func TestUnencodable(t *testing.T) {
	p := join(t, 2, Options{}, "", 1)
	if err := p[0].link.Send(t.Context(), 1, edge.Message{Value: map[int]int{}}); err == nil {
		t.Error("a map crossed")
	}
	if err := await(t, p[0]); !strings.Contains(err.Error(), "cannot cross processes") {
		t.Error(err)
	}
	p[0].Abort(errEnded)
	p[1].Abort(errEnded)
}

// TestRefused: who is not of the epoch is told so, and the run goes on.
func TestRefused(t *testing.T) {
	p := join(t, 2, Options{Secret: "right"}, "", 1)
	at := p[1].node.address
	by := &Session{node: p[0].node, ctx: t.Context(), joining: t.Context()}
	good := hello{run: "run", epoch: 3, from: 0, to: 1, secret: "right"}
	for name, c := range map[string]struct {
		change func(*hello)
		want   string
	}{
		"replay": {func(*hello) {}, "connected already"},
		"epoch":  {func(h *hello) { h.epoch = 2 }, "no epoch 2"},
		"run":    {func(h *hello) { h.run = "other" }, "no epoch 3"},
		"secret": {func(h *hello) { h.secret = "wrong" }, "secret is wrong"},
		"from":   {func(h *hello) { h.from = 7 }, "nothing to say"},
		"self":   {func(h *hello) { h.from = 1 }, "nothing to say"},
		"to":     {func(h *hello) { h.to = 0 }, "nothing to say"},
	} {
		h := good
		c.change(&h)
		if err := knock(t, at, h.metadata()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := by.knock(p[1].node.socket, h); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s at the socket: %v", name, err)
		}
	}
	for _, md := range []metadata.MD{{}, metadata.Pairs("weft-protocol", "0"), metadata.Pairs("weft-protocol", protocol, "weft-epoch", "x")} {
		if err := knock(t, at, md); err == nil {
			t.Errorf("%v was let in", md)
		}
	}
	works(t, p)
}

// works checks that a session still carries.
func works(t *testing.T, p []*process) {
	t.Helper()
	p[0].send(t, 1, edge.Message{Value: 5})
	if got := edge.As[int](p[1].next(t).Value); got != 5 {
		t.Errorf("%d arrived", got)
	}
	leave(t, p)
}

// knock tries to join as a stranger.
func knock(t *testing.T, at string, md metadata.MD) error {
	t.Helper()
	conn, err := grpc.NewClient("passthrough:///"+at, clientOptions(nil)...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancel(metadata.NewOutgoingContext(t.Context(), md))
	defer cancel()
	s, err := conn.NewStream(ctx, &service.Streams[0], method)
	if err != nil {
		return err
	}
	return s.RecvMsg(new(arrival))
}

// TestGarbage: bytes that mean nothing do no harm.
func TestGarbage(t *testing.T) {
	p := join(t, 2, Options{}, "", 1)
	for _, text := range []string{"", "GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff", strings.Repeat("\x00", 1<<16)} {
		c, err := net.Dial("tcp", p[1].node.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_, _ = c.Write([]byte(text)) // it may be cut off meanwhile
	}
	works(t, p)
}

// TestLoopback: without certificates nobody else is let near.
func TestLoopback(t *testing.T) {
	if n, err := Listen("0.0.0.0:0", Options{}); err == nil || !strings.Contains(err.Error(), "certificates") {
		t.Error(err, n.Close())
	}
}

// TestAbsent: a peer that never comes is named.
func TestAbsent(t *testing.T) {
	for _, me := range []int{0, 1} {
		nodes := []*Node{listen(t, Options{Wait: 50 * time.Millisecond}), listen(t, Options{Wait: 50 * time.Millisecond})}
		var late *Late
		if _, err := nodes[me].enter(t, group(nodes, ""), me, []int{1}); !errors.As(err, &late) || !slices.Equal(late.Late(), []string{fmt.Sprint("w", 1-me)}) {
			t.Errorf("process %d: %v", me, err)
		}
	}
}
