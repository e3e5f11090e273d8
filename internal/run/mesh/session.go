package mesh

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/run/mesh/wire"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/rl"
)

// Group is an epoch of a run as one of its processes sees it.
type Group struct {
	Run     string
	Epoch   int64
	Workers []part.Worker
	Me      int   // number among them
	Homes   []int // worker of each replica
	// Links are the replicas' of this process: what comes from others is delivered
	// there.
	Links  *edge.Local
	Device *rl.Device // device that tensors arrive on
	// Failed is called once, when the epoch cannot go on.
	Failed func(error)
	// Quiet, if not nil, is called with the names of the workers that have been silent for half the
	// time after which they count as lost, whenever that list changes.
	Quiet func(workers []string)
	// Star says that replicas exchange messages with replica Hub alone. Then a process
	// that has not this one may be lost, and another come in its place: see star.go.
	Star bool
	Hub  int
	Life int64 // how many had this process's part before
	// Secret proves that a peer belongs to this epoch: no other process knows it.
	Secret string
}

// Session is an epoch in which this process takes part.
type Session struct {
	node    *Node
	g       Group
	ctx     context.Context // context of all streams
	end     context.CancelCauseFunc
	joining context.Context
	ways    func(*peer) ([]way, func(), error) // streams to peers, as reached; tests have others
	peers   []atomic.Pointer[peer]             // peers, by worker; nil for this worker and for those that are sent nothing
	tasks   sync.WaitGroup
	mu      sync.Mutex // between beginning tasks and waiting for them
	leaving bool       // no peer is admitted any more
	over    bool
	told    chan struct{} // closed when the others know of a failure
	failing sync.Once
	met     atomic.Bool  // all have come
	swap    sync.RWMutex // guards peers when one comes in another's place
}

var errEnded = errors.New("the session has ended")

// Join connects to all processes that have replicas, and returns when every stream
// is open. Until it is closed the session answers heartbeats and delivers.
func (n *Node) Join(ctx context.Context, g Group) (*Session, error) {
	s := &Session{node: n, g: g, peers: make([]atomic.Pointer[peer], len(g.Workers)), told: make(chan struct{})}
	s.ctx, s.end = context.WithCancelCause(ctx)
	s.ways = s.reached
	away := make([]bool, len(g.Homes))
	for i, at := range g.Homes {
		if at < 0 || at >= len(g.Workers) {
			s.end(errEnded)
			return nil, fmt.Errorf("replica %d is on worker %d of %d", i, at, len(g.Workers))
		}
		if away[i] = at != g.Me; away[i] && s.peer(at) == nil && s.meets(at) {
			s.peers[at].Store(newPeer(at, g.Workers[at], g.Workers[g.Me].Host))
		}
	}
	g.Links.Join(away, s)
	if err := n.register(s); err != nil {
		s.end(errEnded)
		return nil, err
	}
	if err := s.meet(ctx); err != nil {
		err = s.unmet(err)
		s.Abort(err)
		return nil, err
	}
	s.met.Store(true)
	s.busy(true)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over { // the node may be closed by now
		s.tasks.Go(s.watch)
	}
	return s, nil
}

// others returns the processes that this one has streams to.
func (s *Session) others() (out []*peer) {
	for i := range s.peers {
		if p := s.peer(i); p != nil {
			out = append(out, p)
		}
	}
	return out
}

func (s *Session) peer(worker int) *peer { return s.peers[worker].Load() }

// admit returns the peer that a connecting process claims to be. Each may connect once.
func (s *Session) admit(h hello) (*peer, error) {
	if h.to != s.g.Me || h.from < 0 || h.from >= len(s.peers) || s.peer(h.from) == nil || s.dials(s.peer(h.from)) {
		return nil, fmt.Errorf("worker %d has nothing to say to worker %d, which is %d", h.from, h.to, s.g.Me)
	}
	p, err := s.living(h)
	if err != nil {
		return nil, err
	}
	if !p.admitted.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("worker %s is connected already", p.name)
	}
	return p, nil
}

// host serves a stream that a peer opened, until the session or the stream ends.
func (s *Session) host(p *peer, c carrier) {
	if !s.begin(p, c) {
		return
	}
	select {
	case <-s.ctx.Done():
	case <-p.ended:
	case <-p.gone:
	}
}

// begin makes a carrier the one to its peer. Its tasks are the session's, which waits
// for them; one that is over has none.
func (s *Session) begin(p *peer, c carrier) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving || s.over || p.isGone() {
		c.close()
		return false
	}
	p.stream = newStream(c)
	close(p.open) // before anything is read: what came already may have to be answered
	s.tasks.Go(func() {
		defer close(p.ended)
		s.read(p)
		s.departed(p)
	})
	s.tasks.Go(func() {
		defer close(p.tended)
		s.tend(p)
	})
	s.tasks.Go(func() { // whoever waits for the peer is woken when the session ends, or it is given up
		select {
		case <-s.ctx.Done():
		case <-p.gone:
		}
		c.close()
	})
	return true
}

// sign is the last sign of life of a peer.
type sign struct {
	who   *peer
	heard uint64 // frames
	when  time.Time
}

// watch notices peers that have fallen silent.
func (s *Session) watch() {
	tick := time.NewTicker(s.node.o.Silence / 8)
	defer tick.Stop()
	last := make([]sign, len(s.peers))
	awake := wakeful{now: time.Now(), most: s.node.o.Silence / 4}
	var quiet []string
	for {
		select {
		case <-s.ctx.Done():
			return
		case now := <-tick.C:
			told := quiet
			if quiet = s.look(awake.at(now), last); !slices.Equal(quiet, told) && s.g.Quiet != nil {
				s.g.Quiet(quiet)
			}
		}
	}
}

// wakeful is a clock that all but stands still while its process does. Peers are not blamed for
// what the process could not hear meanwhile.
type wakeful struct {
	now, last time.Time
	most      time.Duration // longest step of the clock between two looks
}

// at returns what the clock shows at a time.
func (w *wakeful) at(now time.Time) time.Time {
	if !w.last.IsZero() {
		w.now = w.now.Add(min(now.Sub(w.last), w.most))
	}
	w.last = now
	return w.now
}

// look compares how much was heard of peers with the last signs of them, and returns the names of
// those that have been quiet for half as long as may be. Nothing more is expected of one that has
// said bye, or knows that this process has.
func (s *Session) look(now time.Time, last []sign) (quiet []string) {
	for _, p := range s.others() {
		x := &last[p.number]
		if n := p.heard.Load(); n != x.heard || x.who != p || !p.isOpen() {
			*x = sign{p, n, now}
		}
		unheard := now.Sub(x.when)
		if unheard <= s.node.o.Silence/2 || p.left.Load() || isClosed(p.acked) {
			continue
		}
		if quiet = append(quiet, p.name); unheard > s.node.o.Silence {
			s.lose(p, fmt.Errorf("it has been silent for %v", unheard.Round(time.Millisecond)))
		}
	}
	return quiet
}

// lose ends the session because of a peer, unless that was to leave, or can be spared.
func (s *Session) lose(p *peer, err error) {
	if p.left.Load() || s.ctx.Err() != nil {
		return
	}
	if s.spares() {
		p.depart()
		return
	}
	s.fail(&Lost{Worker: p.name, Err: err, number: p.number, seen: true})
}

// fail ends the session, once the others were told why. The first cause counts.
func (s *Session) fail(err error) {
	s.failing.Do(func() {
		if s.g.Failed != nil {
			s.g.Failed(err)
		}
		s.announce(err)
	})
}

// announce tells the other processes of a failure, in a goroutine of its own. Readers must not wait
// for it: by reading they learn whether a peer has heard, or is gone.
func (s *Session) announce(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.tasks.Go(func() { s.tell(err) })
	}
}

// tell lets the others know whose fault the end is, as far as they can be reached at once: whoever
// hears of it from whomever gives the same reason. The worker that is said to be lost is told too,
// unless it is this process's stream to it that ended: it may be there, and would blame whoever
// ends the session next.
func (s *Session) tell(err error) {
	defer close(s.told)
	defer s.end(err)
	late := time.AfterFunc(s.node.o.Silence/4, func() { s.end(err) })
	defer late.Stop()
	word, why := s.blame(err)
	var all sync.WaitGroup
	for _, p := range s.others() {
		knows := word.kind == fail && p.number == word.from
		if p.isOpen() && !p.left.Load() && !p.isGone() && !knows && !saw(err, p) {
			all.Go(func() { s.warn(p, word, why) })
		}
	}
	all.Wait()
}

// warn tells one of the others, and waits until it has heard.
func (s *Session) warn(p *peer, word frame, why wire.Piece) {
	if p.send(&word, why) != nil || p.hurry() != nil {
		return // its stream has ended, which says enough
	}
	select {
	case <-p.acked:
	case <-p.ended:
	case <-s.ctx.Done():
	}
}

// Close ends the session in order: it announces the end to the other processes, and blocks until
// all have acknowledged. So no process sees a stream end without an announcement.
func (s *Session) Close() error {
	s.mu.Lock()
	s.leaving = true
	s.mu.Unlock()
	all := s.others()
	for _, p := range all {
		err := p.send(&frame{kind: bye})
		if err == nil {
			err = p.hurry()
		}
		if err != nil {
			s.lose(p, err) // unless it has left itself; who has not come yet is not waited for
		}
	}
	for _, p := range all {
		select {
		case <-p.acked:
		case <-p.ended:
		case <-p.gone: // or never came
		case <-s.ctx.Done():
		}
	}
	err := context.Cause(s.ctx)
	s.stop(errEnded)
	return err
}

// Abort gives the epoch up, and tells the others why.
func (s *Session) Abort(err error) {
	s.failing.Do(func() { s.announce(err) })
	<-s.told
	s.stop(errEnded)
}

// stop ends all streams and waits for the session's tasks.
func (s *Session) stop(why error) {
	s.failing.Do(func() { close(s.told) })
	s.end(why)
	s.node.forget(s)
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	for _, p := range s.others() {
		p.close()
	}
	s.tasks.Wait()
}
