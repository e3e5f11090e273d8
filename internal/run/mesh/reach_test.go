package mesh

import (
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// TestHole: a process that takes connections and says nothing cannot be reached.
func TestHole(t *testing.T) {
	s := lone(t, 1, Options{Connect: 50 * time.Millisecond})
	s.joining = t.Context()
	conn, err := grpc.NewClient("passthrough:///"+hole(t), clientOptions(nil)...)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := s.open(conn, hello{to: 1}); status.Code(err) != codes.Unavailable {
		t.Error(err)
	}
}

// answer is a peer's answer for a while.
type answer struct {
	code  codes.Code
	lasts time.Duration
}

// meeting has a session meet others that answer in the given ways, and then let it in. Time passes
// as fast as nobody needs it.
func meeting(t *testing.T, others ...[]answer) (err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s, began := lone(t, len(others), Options{}), time.Now()
		s.ways = func(p *peer) ([]way, func(), error) {
			return []way{func(hello) (carrier, error) {
				passed := time.Since(began)
				for _, x := range others[p.number-1] {
					if passed -= x.lasts; passed < 0 {
						return nil, status.Error(x.code, "not now")
					}
				}
				return newTape(), nil
			}}, func() {}, nil
		}
		err = s.meet(t.Context())
	})
	return err
}

// TestCutLink: who cannot reach a peer, whatever the others can, says so, says which, and that it
// is not the algorithm's failure. Nobody who can be reached is named.
func TestCutLink(t *testing.T) {
	cut, builds, there := []answer{{codes.Unavailable, time.Hour}}, []answer{{notYet, time.Hour}}, []answer(nil)
	for name, c := range map[string]struct {
		others [][]answer
		want   []string
	}{
		"one":     {[][]answer{there, cut, builds}, []string{"w2"}},
		"last":    {[][]answer{builds, there, cut}, []string{"w3"}},
		"several": {[][]answer{cut, there, cut}, []string{"w1", "w3"}},
		"later":   {[][]answer{there, {{notYet, 3 * time.Minute}, {codes.Unavailable, time.Hour}}}, []string{"w2"}},
	} {
		err := meeting(t, c.others...)
		var e interface {
			Peer() bool
			Unreached() []string
		}
		if !errors.As(err, &e) || !e.Peer() || !slices.Equal(e.Unreached(), c.want) {
			t.Errorf("%s: %v, want %v named", name, err, c.want)
		}
	}
}

// TestSlowPeer: a peer that answers and has not built its part yet is waited for longer than one
// that cannot be reached, and one that cannot be reached for a moment is tried again.
func TestSlowPeer(t *testing.T) {
	for _, minutes := range []time.Duration{2, 6} {
		err := meeting(t, nil, []answer{
			{codes.Unavailable, 50 * time.Second}, {notYet, minutes * time.Minute}, {codes.Unavailable, 50 * time.Second},
		})
		if err != nil {
			t.Errorf("after %d minutes: %v", minutes, err)
		}
	}
	var late *Late
	if err := meeting(t, nil, []answer{{notYet, time.Hour}}); !errors.As(err, &late) || !slices.Equal(late.Workers, []string{"w2"}) {
		t.Error(err)
	}
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
