package mesh

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/edge"
)

// TestOtherFolder: processes whose hosts have the same name, and that do not see each other's
// temporary folder, meet over TCP: containers on their host's network, and cloned machines.
func TestOtherFolder(t *testing.T) {
	nodes := []*Node{listen(t, Options{}), listen(t, Options{}), listen(t, Options{}), listen(t, Options{})}
	// The second one's socket is not there, at the third one's nobody answers, and at the fourth
	// one's somebody else does.
	if err := os.Remove(nodes[1].socket); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(nodes[2].socket); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", nodes[2].socket)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.(*net.UnixListener).Close(); err != nil {
		t.Fatal(err)
	}
	nodes[3].socket = nodes[0].socket
	p := joinAll(t, nodes, "here", 4)
	for i := range 3 {
		p[i].send(t, i+1, edge.Message{Value: 7})
		if got := edge.As[int](p[i+1].next(t).Value); got != 7 {
			t.Errorf("%d arrived", got)
		}
	}
	leave(t, p)
}

// hole returns an address at which connections are taken, and nothing is answered: what a cut looks
// like that drops packets.
func hole(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				_, _ = io.Copy(io.Discard, c) // until who connected gives up
				c.Close()
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// enterAll has all processes join at addresses that may differ from one process to the next, and
// returns their errors.
func enterAll(t *testing.T, nodes []*Node, g func(me int) Group) []error {
	t.Helper()
	errs := make([]error, len(nodes))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for i, n := range nodes {
		all.Go(func() {
			x := g(i)
			x.Me, x.Links = i, edge.NewLocal(len(x.Homes), []int{1})
			s, err := n.Join(ctx, x)
			if errs[i] = err; err != nil {
				cancel() // as a coordinator does, when it hears of the first failure
				return
			}
			<-ctx.Done()
			s.Leave()
		})
	}
	all.Wait()
	return errs
}

// TestCutLink: who cannot reach a peer, whatever the others can, says so, says which, and that it
// is not the algorithm's failure. Nobody who can be reached is named.
func TestCutLink(t *testing.T) {
	o := Options{Connect: 2 * time.Second} // in which a busy machine answers
	for name, away := range map[string][]int{"one": {2}, "last": {3}, "several": {1, 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			nodes := []*Node{listen(t, o), listen(t, o), listen(t, o), listen(t, o)}
			var want []string
			for _, i := range away {
				want = append(want, group(nodes, "").Workers[i].Name)
			}
			errs := enterAll(t, nodes, func(me int) Group {
				g := group(nodes, "")
				for _, i := range away {
					if me == 0 {
						g.Workers[i].Data = hole(t)
					}
				}
				return g
			})
			var e interface {
				Peer() bool
				Unreached() []string
			}
			if !errors.As(errs[0], &e) || !e.Peer() || !slices.Equal(e.Unreached(), want) {
				t.Fatalf("%v names no peers, want %v", errs[0], want)
			}
			for i, err := range errs[1:] {
				if errors.As(err, &e) && len(e.Unreached()) > 0 {
					t.Errorf("process %d blames %v: %v", i+1, e.Unreached(), err)
				}
			}
		})
	}
}

// TestSlowPeer: a peer that answers and has not built its part yet is waited for longer than one
// that cannot be reached.
func TestSlowPeer(t *testing.T) {
	o := Options{Connect: time.Second}
	nodes := []*Node{listen(t, o), listen(t, o), listen(t, o)}
	g := group(nodes, "")
	out := make([]*process, len(nodes))
	var all sync.WaitGroup
	enter := func(i int) {
		p, err := nodes[i].enter(t, g, i, []int{1})
		if err != nil {
			t.Error(err)
		}
		out[i] = p
	}
	all.Go(func() { enter(0) })
	all.Go(func() { enter(2) })
	time.Sleep(o.Connect * 3 / 2) // it is building
	all.Go(func() { enter(1) })
	all.Wait()
	if t.Failed() {
		t.FailNow()
	}
	leave(t, out)
}

// TestBrokenLink: a stream that breaks is told of by who saw it as a matter between the two, by
// others as hearsay.
func TestBrokenLink(t *testing.T) {
	p := join(t, 3, Options{}, "", 1)
	p[0].peer(1).close()
	seen := 0
	for i, x := range p {
		err := await(t, x)
		var l *Lost
		if !errors.As(err, &l) || !l.Peer() {
			t.Fatalf("process %d: %v", i, err)
		}
		switch named := len(l.Broken()) > 0; {
		case named && i == 2:
			t.Errorf("process %d names %v: %v", i, l.Broken(), err)
		case named: // of the two, one may hear of it before it sees it
			seen++
		}
		if l.Worker == "w2" || strings.Contains(err.Error(), "w2") {
			t.Errorf("process %d names another: %v", i, err)
		}
	}
	if seen == 0 {
		t.Error("neither of the two says that it saw the stream break")
	}
	for _, x := range p {
		x.Leave()
	}
}

// TestRefusedBy: a peer that refuses this process, or in whose place somebody else answers, is
// named too: it is no failure of the algorithm's.
func TestRefusedBy(t *testing.T) {
	for name, secrets := range map[string][]string{"secret": {"a", "b"}, "other": {"a", "a"}} {
		t.Run(name, func(t *testing.T) {
			nodes := []*Node{listen(t, Options{Secret: secrets[0]}), listen(t, Options{Secret: secrets[1]})}
			g := group(nodes, "")
			if name == "other" {
				g.Workers[1].Data = nodes[0].Address() // it is this process
			}
			g.Links = edge.NewLocal(2, []int{1})
			_, err := nodes[0].Join(t.Context(), g)
			var e interface {
				Peer() bool
				Broken() []string
			}
			if !errors.As(err, &e) || !e.Peer() || !slices.Equal(e.Broken(), []string{"w1"}) {
				t.Errorf("%v", err)
			}
		})
	}
}
