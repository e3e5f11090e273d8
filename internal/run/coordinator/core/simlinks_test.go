package core

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// In some simulations two workers never reach each other, though the coordinator reaches both, and
// in some one worker can keep no checkpoint. Runs must end all the same.

// impair decides what a seed's workers cannot do. It draws by itself, so that other faults stay
// what they are.
func (s *sim) impair(seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 2))
	if rng.IntN(3) == 0 {
		s.severed = []string{s.workers[0].name, s.workers[1].name}
	}
	if rng.IntN(3) == 0 {
		s.readOnly = s.workers[1].name
	}
	s.upgrades = rng.IntN(3) == 0
}

// away returns the worker that another cannot reach and is to connect to; empty if there is none.
// In a star that is the one that decides; else each connects to those after it, and who comes later
// waits.
func (s *sim) away(w *simWorker) (peer string, waits bool) {
	if !slices.Contains(s.severed, w.name) {
		return "", false
	}
	for i, o := range w.job.Workers {
		if o.Name == w.name || !slices.Contains(s.severed, o.Name) {
			continue
		}
		if w.job.Plan.Sparing() {
			decides := w.job.Assignment
			if decides.Me = i; !decides.Owner() {
				return "", false
			}
			return o.Name, false
		}
		return o.Name, i < w.job.Me
	}
	return "", false
}

// connects reports whether a part has all connections that it needs. If it cannot have them it
// fails after a while.
func (s *sim) connects(w *simWorker) bool {
	peer, waits := s.away(w)
	if peer == "" {
		return true
	}
	if w.job.alone++; waits || w.job.alone <= 5 {
		return false
	}
	s.fails(w, PartFailed{Error: "no answer", Peer: true, Fault: Fault{Unreached: []string{peer}}})
	return false
}

// fails has a part fail.
func (s *sim) fails(w *simWorker, e PartFailed) {
	e.From = s.from(w)
	w.job.failed, w.job.peer, w.job.fault = e.Error, e.Peer, e.Fault
	w.conn.up = append(w.conn.up, e)
}

// keeps reports whether a worker can keep a checkpoint; if not, its part fails.
func (s *sim) keeps(w *simWorker) bool {
	if w.name != s.readOnly {
		return true
	}
	s.trouble[w.job.Run] = s.round
	s.fails(w, PartFailed{Error: fmt.Sprint("read-only in round ", s.round), Fault: Fault{Node: true}})
	return false
}

// avoids reports whether a coordinator leaves anything out.
func avoids(c *Core) bool {
	return slices.ContainsFunc(c.Links, func(l Link) bool { return l.now() }) || slices.ContainsFunc(c.Unfit, func(u Unfit) bool { return u.now() })
}

// blameless takes every failure to reach others for one without a reason.
func blameless(_ *Core, e Event) Event {
	switch x := e.(type) {
	case PartFailed:
		x.Fault = Fault{}
		return x
	case Joined:
		if x.Doing != nil {
			d := *x.Doing
			d.Fault = Fault{}
			x.Doing = &d
		}
		return x
	}
	return e
}
