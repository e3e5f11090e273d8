package mesh

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/weft-rl/weft/edge"
)

// star brings three processes together, of which the first has the hub.
func star(t *testing.T) (Group, []*process) {
	t.Helper()
	nodes := []*Node{listen(t, Options{}), listen(t, Options{}), listen(t, Options{})}
	g := group(nodes, "")
	g.Star = true
	out := make([]*process, len(nodes))
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			p, err := n.enter(t, g, i, []int{2, 2})
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
	return g, out
}

func (p *process) say(t *testing.T, to int, v int) { p.send(t, to, edge.Message{Value: v}) }

// hears takes the next message, which must be this one.
func (p *process) hears(t *testing.T, from, v int) {
	t.Helper()
	m := p.next(t)
	if m.Edge == edge.Departed || m.From != from || edge.As[int](m.Value) != v {
		t.Fatalf("message on edge %d of %d, want %d of %d", m.Edge, m.From, v, from)
	}
	p.link.Took(m)
}

// TestSpare: the hub goes on when one of the others is gone without a word; another
// comes in its place, with all the room there is and what was posted last, but not
// before the hub's replica has done with what the first had sent.
func TestSpare(t *testing.T) {
	g, all := star(t)
	hub, other := all[0], all[2]
	hub.link.Post(1, edge.Message{Edge: 1, Value: 41})
	hub.link.Post(1, edge.Message{Edge: 1, Value: 42})
	all[1].say(t, 0, 1) // fills its queue
	all[1].say(t, 0, 2)
	first := hub.next(t)
	second := hub.next(t)
	all[1].Leave()
	other.say(t, 0, 3)
	gone, left := hub.next(t), hub.next(t)
	if gone.Edge != edge.Departed {
		gone, left = left, gone
	}
	if gone.Edge != edge.Departed || gone.From != 1 || left.From != 2 {
		t.Fatalf("%+v and %+v", gone, left)
	}
	hub.link.Took(left)
	g.Life = 1
	came := make(chan *process)
	go func() {
		p, err := all[1].node.enter(t, g, 1, []int{2, 2})
		if err != nil {
			t.Error(err)
		}
		came <- p
	}()
	select {
	case <-came:
		t.Fatal("it was let in too early")
	case <-time.After(100 * time.Millisecond):
	}
	for _, m := range []edge.Message{first, second, gone} {
		hub.link.Took(m)
	}
	again := <-came
	again.hears(t, 0, 42)
	for i := range 6 { // three times the room
		again.say(t, 0, 10+i)
		hub.hears(t, 1, 10+i)
	}
	hub.link.Post(1, edge.Message{Edge: 1, Value: 43})
	again.hears(t, 0, 43)
	if _, err := all[1].node.dialAs(t, g, 0); err == nil || !strings.Contains(err.Error(), "too late") {
		t.Errorf("the first one was let in again: %v", err)
	}
	var closing sync.WaitGroup
	for _, p := range []*process{hub, other, again} {
		closing.Go(func() {
			if err := p.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	closing.Wait()
}

// TestOrphaned: a process whose hub leaves while it is still at it is told.
func TestOrphaned(t *testing.T) {
	_, all := star(t)
	left := make(chan error)
	go func() { left <- all[0].Close() }()
	for _, p := range all[1:] {
		if err := <-p.failed; !strings.Contains(err.Error(), "it has left") {
			t.Error(err)
		}
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := <-left; err != nil {
		t.Error(err)
	}
}

// dialAs tries to open a stream to the hub as the second process's life of that number.
func (n *Node) dialAs(t *testing.T, g Group, life int64) (any, error) {
	t.Helper()
	s := &Session{node: n, g: g, ctx: t.Context(), joining: t.Context()}
	s.g.Me, s.g.Life = 1, life
	p := newPeer(0, g.Workers[0], "")
	at, _ := reach(p.address)
	conn, err := grpc.NewClient("passthrough:///"+at, clientOptions(nil)...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	return s.open(conn, hello{run: g.Run, epoch: g.Epoch, from: 1, to: p.number, life: life, secret: s.secret()})
}

// TestHubLost: without the hub nothing goes on.
func TestHubLost(t *testing.T) {
	_, all := star(t)
	all[0].Leave()
	for _, p := range all[1:] {
		if err := <-p.failed; !strings.Contains(err.Error(), "worker w0 was lost") {
			t.Error(err)
		}
		p.Leave()
	}
}

// admitted has the hub let somebody in who comes in the second process's place, and is not there
// yet.
func admitted(t *testing.T) (hub, other *process, p *peer) {
	t.Helper()
	g, all := star(t)
	hub = all[0]
	all[1].Leave()
	hub.link.Took(hub.next(t)) // the news
	p, err := hub.admit(hello{run: g.Run, epoch: g.Epoch, from: 1, to: 0, life: 1})
	for errors.Is(err, errSoon) {
		time.Sleep(time.Millisecond)
		p, err = hub.admit(hello{run: g.Run, epoch: g.Epoch, from: 1, to: 0, life: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	return hub, all[2], p
}

// TestLeftBefore: a hub that leaves does not wait for who was let in and has not come yet, and who
// comes then is sent away.
func TestLeftBefore(t *testing.T) {
	hub, other, p := admitted(t)
	left := make(chan error)
	go func() { left <- other.Close() }()
	hub.Credit(1, 0, 0)
	hub.Want(1, 0, 0)
	if err := errors.Join(hub.Close(), <-left); err != nil {
		t.Error(err)
	}
	if hub.begin(p, deaf{}) {
		t.Error("it was let in after the end")
	}
}

// TestCarriedBefore: what is sent to who was let in waits until it is there, or will not come.
func TestCarriedBefore(t *testing.T) {
	for _, comes := range []bool{true, false} {
		hub, other, p := admitted(t)
		sent := make(chan error)
		go func() { sent <- hub.Carry(1, edge.Message{From: 0, Value: 1}) }()
		select {
		case err := <-sent:
			t.Fatalf("it was sent to nobody: %v", err)
		case <-time.After(10 * time.Millisecond):
		}
		if comes {
			if !hub.begin(p, newTape()) { // which stays
				t.Error("it was not let in")
			}
		} else {
			p.depart()
		}
		if err := <-sent; (err == nil) != comes {
			t.Errorf("comes %t: %v", comes, err)
		}
		hub.Leave()
		other.Leave()
	}
}
