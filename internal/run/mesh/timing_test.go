package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/part"
)

// lone returns the session of worker 0 with others that do not exist: what comes from them and goes
// to them is their carriers' affair.
func lone(t *testing.T, others int, o Options) *Session {
	t.Helper()
	d, err := device.Open(device.Default)
	if err != nil {
		t.Fatal(err)
	}
	n := others + 1
	s := &Session{node: &Node{o: o.withDefaults(), sessions: map[key]*Session{}}, told: make(chan struct{}), peers: make([]atomic.Pointer[peer], n)}
	s.g = Group{Device: d, Links: edge.NewLocal(n, []int{2})}
	s.ctx, s.end = context.WithCancelCause(t.Context())
	away := make([]bool, n)
	for i := range n {
		w := part.Worker{Name: fmt.Sprint("w", i)}
		s.g.Homes, s.g.Workers = append(s.g.Homes, i), append(s.g.Workers, w)
		if away[i] = i > 0; away[i] {
			s.peers[i].Store(newPeer(i, w, ""))
		}
	}
	s.g.Links.Join(away, s)
	s.met.Store(true)
	t.Cleanup(s.Leave)
	return s
}

// tape is a carrier on which something has come already, and nothing else does.
type tape struct {
	deaf
	in     *bytes.Reader
	wrote  chan struct{} // has something when anything was put
	closed chan struct{}
	once   sync.Once
}

func newTape(frames ...sent) *tape {
	var all []byte
	for i := range frames {
		all = append(all, frames[i].bytes()...)
	}
	return &tape{in: bytes.NewReader(all), wrote: make(chan struct{}, 1), closed: make(chan struct{})}
}

func (c *tape) Read(b []byte) (int, error) {
	if c.in.Len() > 0 {
		return c.in.Read(b)
	}
	<-c.closed
	return 0, errEnded
}

func (c *tape) put([]byte, any) error {
	select {
	case c.wrote <- struct{}{}:
	default:
	}
	return nil
}

func (c *tape) close() { c.once.Do(func() { close(c.closed) }) }

// TestAnsweredAtOnce: what a peer sent before its stream was begun here is answered.
func TestAnsweredAtOnce(t *testing.T) {
	var all sync.WaitGroup
	for range 8 { // so that goroutines are kept from running between any two statements
		all.Go(func() {
			for range 600 {
				s := lone(t, 1, Options{})
				p := s.peer(1)
				p.add(room{edge: 0, by: 0, to: 1}, 8)
				c := newTape(sent{frame: frame{kind: want, from: 1}})
				if !s.begin(p, c) {
					t.Error("it was not let in")
				}
				select {
				case <-c.wrote:
				case <-s.ctx.Done():
					t.Error(context.Cause(s.ctx))
				}
				s.Leave()
			}
		})
	}
	all.Wait()
}

// TestPostedToWhoLeft: what is posted to a peer that has done its part and left is not needed any
// more, and not missed; what it was to take is.
func TestPostedToWhoLeft(t *testing.T) {
	s := lone(t, 1, Options{})
	p := s.peer(1)
	if !s.begin(p, newTape()) {
		t.Fatal("it was not let in")
	}
	p.left.Store(true)
	s.Newest(1, edge.Message{Value: 1})
	if err := s.flush(p); err != nil || s.ctx.Err() != nil {
		t.Errorf("%v, %v", err, context.Cause(s.ctx))
	}
	if err := s.Carry(1, edge.Message{Value: 2}); err == nil {
		t.Error("it was sent something")
	}
}

// snag is a carrier that takes nothing, and says so when it is let.
type snag struct {
	*tape
	let chan struct{}
}

func (c snag) put(b []byte, owner any) error {
	_ = c.tape.put(b, owner)
	<-c.let
	return errEnded
}

// TestAbortWhileSending: a stream that breaks under somebody who sends keeps nobody from ending the
// session just then.
func TestAbortWhileSending(t *testing.T) {
	s := lone(t, 2, Options{})
	breaks, other := snag{newTape(), make(chan struct{})}, newTape()
	if !s.begin(s.peer(1), breaks) || !s.begin(s.peer(2), other) {
		t.Fatal("they were not let in")
	}
	var all sync.WaitGroup
	all.Go(func() {
		if err := s.Carry(1, edge.Message{Value: 1}); err == nil {
			t.Error("it was sent")
		}
	})
	<-breaks.wrote
	all.Go(func() { s.Abort(errors.New("it gives up")) })
	<-other.wrote // who aborts tells the others, and has the first to tell as well
	close(breaks.let)
	all.Wait()
}

// TestSilentInPeace: who leaves hears nothing more of peers that know it, and takes none of them
// for lost while it waits for the others to know.
func TestSilentInPeace(t *testing.T) {
	for _, knows := range []bool{true, false} {
		s := lone(t, 1, Options{})
		var frames []sent
		if knows {
			frames = append(frames, sent{frame: frame{kind: ack}})
		}
		p := s.peer(1)
		if !s.begin(p, newTape(frames...)) {
			t.Fatal("it was not let in")
		}
		if knows {
			<-p.acked
		}
		var lost error
		s.g.Failed = func(err error) { lost = err }
		now, last := time.Now(), make([]sign, 2)
		s.look(now, last)
		s.look(now.Add(2*s.node.o.Silence), last)
		if (lost == nil) != knows {
			t.Errorf("knows %t: %v", knows, lost)
		}
		s.Leave()
	}
}

// TestQuiet: a peer of which nothing is heard is named before it counts as lost, and no longer when
// it is heard again.
func TestQuiet(t *testing.T) {
	s := lone(t, 2, Options{})
	var lost error
	s.g.Failed = func(err error) { lost = err }
	for i := range 2 {
		if !s.begin(s.peer(i+1), newTape()) {
			t.Fatal("it was not let in")
		}
	}
	now, last, silence := time.Now(), make([]sign, 3), s.node.o.Silence
	for _, c := range []struct {
		after time.Duration
		hears int // peer that is heard before; 0 is none
		want  []string
	}{
		{0, 0, nil},
		{silence / 2, 0, nil},
		{silence * 5 / 8, 2, []string{"w1"}},
		{silence * 6 / 8, 1, nil},
		{silence * 10 / 8, 0, []string{"w2"}},
	} {
		if c.hears > 0 {
			s.peer(c.hears).heard.Add(1)
		}
		if got := s.look(now.Add(c.after), last); !slices.Equal(got, c.want) || lost != nil {
			t.Errorf("after %v: %q, want %q; %v", c.after, got, c.want, lost)
		}
	}
	if got := s.look(now.Add(silence*14/8), last); !slices.Equal(got, []string{"w1", "w2"}) || lost == nil {
		t.Errorf("%q, and nobody is lost", got)
	}
}

// TestQuietTold: the part is told of a peer that falls silent, and then that it is lost.
func TestQuietTold(t *testing.T) {
	s := lone(t, 1, Options{Silence: 80 * time.Millisecond})
	told := make(chan string, 8)
	s.g.Quiet = func(workers []string) { told <- strings.Join(workers, " ") }
	s.g.Failed = func(err error) { told <- err.Error() }
	if !s.begin(s.peer(1), newTape()) {
		t.Fatal("it was not let in")
	}
	s.tasks.Go(s.watch)
	if got := <-told; got != "w1" {
		t.Errorf("%q is said to be quiet", got)
	}
	if got := <-told; !strings.HasPrefix(got, "worker w1 was lost: it has been silent") {
		t.Error(got)
	}
}

// TestWakeful: time in which a process stood still is held against nobody.
func TestWakeful(t *testing.T) {
	now := time.Now()
	w := wakeful{now: now, most: 250 * time.Millisecond}
	passed := time.Duration(0)
	for _, c := range []struct{ after, want time.Duration }{ // since the last look
		{125, 0}, {125, 125}, {300, 375}, {4000, 625}, {1, 626},
	} {
		passed += c.after * time.Millisecond
		if got := w.at(now.Add(passed)).Sub(now); got != c.want*time.Millisecond {
			t.Errorf("%v are %v, want %v", passed, got, c.want*time.Millisecond)
		}
	}
}
