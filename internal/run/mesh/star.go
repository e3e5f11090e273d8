package mesh

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
)

// In a star all processes exchange messages with the hub alone: with the learner of an
// asynchronous run. The others open their streams to it, and it can do without any of
// them: who breaks off, falls silent or breaks the rules departs, and that is all. The
// hub's replica is told, behind all that had come; when it has done with that, another
// process may come in the same place, whose life is a later one. What was posted last to
// the one that is gone is posted to it as well, so that it begins with what is newest.

// spare describes a peer that may be lost.
type spare struct {
	life   int64
	gone   chan struct{} // closed when it has departed
	going  sync.Once
	tended chan struct{} // closed when nothing more is sent
	// held is how many of its replicas' departures are not known yet where they must be.
	held     atomic.Int64
	reported atomic.Bool // held counts
	kept     []posted    // the newest of what was posted, each of another edge and sender
}

func (p *peer) depart() { p.going.Do(func() { close(p.gone) }) }

func (p *peer) isGone() bool { return isClosed(p.gone) }

// keep remembers the newest of what was posted.
func (p *peer) keep(x posted) {
	for i := range p.kept {
		if q := &p.kept[i]; q.to == x.to && q.m.Edge == x.m.Edge && q.m.From == x.m.From {
			q.m = x.m
			return
		}
	}
	p.kept = append(p.kept, x)
}

// isHub reports whether the hub is this process's.
func (s *Session) isHub() bool { return s.g.Star && s.g.Homes[s.g.Hub] == s.g.Me }

// meets reports whether this process has a stream to another one.
func (s *Session) meets(worker int) bool {
	return !s.g.Star || s.isHub() || s.g.Homes[s.g.Hub] == worker
}

// dials reports whether it is this process that opens the stream.
func (s *Session) dials(p *peer) bool {
	if s.g.Star {
		return !s.isHub()
	}
	return p.number > s.g.Me
}

// spares reports whether the session goes on without a peer.
func (s *Session) spares() bool { return s.isHub() && s.met.Load() }

// unmet returns why the hub is not there: its loss, for a process that came in another's
// place, which is not waited for.
func (s *Session) unmet(err error) error {
	var away *Unreached
	if !s.g.Star || s.isHub() || s.g.Life == 0 || errors.As(err, &away) {
		return err
	}
	hub := s.g.Homes[s.g.Hub]
	return &Lost{Worker: s.g.Workers[hub].Name, Err: err, number: hub}
}

// orphaned ends what still waits for the hub when that has left in peace: it does not wait
// for a process that has come in another's place and was not heard of before. Of who
// has done its part nothing waits.
func (s *Session) orphaned(p *peer) {
	if s.g.Star && !s.isHub() && s.g.Failed != nil {
		s.g.Failed(&Lost{Worker: p.name, Err: errors.New("it has left"), number: p.number})
	}
}

// departed tells the hub's replica whose replicas are gone, if they are.
func (s *Session) departed(p *peer) {
	if !p.isGone() {
		return
	}
	<-p.tended
	var all []int
	for r, at := range s.g.Homes {
		if at == p.number {
			all = append(all, r)
		}
	}
	p.held.Store(int64(len(all)))
	p.reported.Store(true)
	for _, r := range all {
		s.g.Links.Depart(s.g.Hub, r)
	}
}

// Released implements edge.Beyond.
func (s *Session) Released(replica int) { s.peer(s.g.Homes[replica]).held.Add(-1) }

// errSoon is why a process that comes in another's place has to try again.
var errSoon = errors.New("the process before it has not left yet")

// living returns the peer for a process that says hello: the present one, or a new one that takes
// its place.
func (s *Session) living(h hello) (*peer, error) {
	s.swap.Lock()
	defer s.swap.Unlock()
	p := s.peer(h.from)
	switch {
	case h.life == p.life:
		return p, nil
	case h.life < p.life || !s.spares() || p.left.Load():
		return nil, fmt.Errorf("worker %s connects too late: its part is over or another process has it", p.name)
	}
	if s.dismiss(p) && (!p.reported.Load() || p.held.Load() > 0) {
		return nil, errSoon
	}
	next := &peer{number: p.number, name: p.name, address: p.address, sameHost: p.sameHost}
	next.make()
	next.life = h.life
	p.posting.Lock()
	next.kept = p.kept
	p.posting.Unlock()
	if next.posts = append([]posted(nil), next.kept...); len(next.posts) > 0 {
		next.wake <- struct{}{}
	}
	s.peers[p.number].Store(next)
	return next, nil
}

// dismiss gives a peer up, which knows it or will, and reports whether it was ever there.
func (s *Session) dismiss(p *peer) bool {
	s.mu.Lock() // so that it does not begin now
	defer s.mu.Unlock()
	p.depart()
	return p.isOpen()
}

// Leave ends the session without a word: the part was given up, and it is the
// coordinator that tells the others what they have to know.
func (s *Session) Leave() { s.stop(errEnded) }
