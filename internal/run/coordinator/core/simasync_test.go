package core

import (
	"fmt"
	"strings"
)

// In an asynchronous run of a simulation the part that decides goes on whatever the
// others do. These are connected with it, each life of a part once; who is not heard of
// is cut off, and who is cut off fails.

// produce plays a round of a part that does not decide.
func (s *sim) produce(w *simWorker) {
	j := w.job
	fail := func(why string, peer bool) {
		j.failed, j.peer = why, peer
		w.conn.up = append(w.conn.up, PartFailed{From: s.from(w), Error: why, Peer: peer})
	}
	o := s.owner(j)
	switch {
	case s.calm > 0 && s.round < s.calm && s.rng.IntN(100) == 0:
		fail(fmt.Sprint("its environment failed in round ", s.round), false)
		if o != nil && o.spokes[j.Me] == j {
			gone := *j
			o.spokes[j.Me] = &gone
		}
	case o != nil && o.step == total && o.pending == nil:
		j.done = true
		w.conn.up = append(w.conn.up, PartDone{From: s.from(w)})
	case o == nil:
		if j.alone++; j.alone > 10 {
			fail("who decides is gone", true)
		}
	case j.joined && o.spokes[j.Me] != j:
		fail("cut off", true)
	case !j.joined && o.spokes[j.Me] != nil && o.spokes[j.Me].Life >= j.Life:
		fail("another has come in its place", true)
	case !j.joined:
		o.spokes[j.Me], j.joined = j, true
	}
}

// detach cuts off who is not heard of.
func (s *sim) detach(o *job) {
	for _, w := range s.workers {
		if j := w.job; j != nil && o.spokes[j.Me] == j && w.frozen > 3 {
			gone := *j
			o.spokes[j.Me] = &gone // that life has been
		}
	}
}

// troubles notes which runs lose what they cannot do without, when something befalls a
// worker or a coordinator.
func (s *sim) troubles(w *simWorker, n int) {
	for i := range s.acting().core.Runs {
		r := &s.acting().core.Runs[i]
		owner := r.Phase.Active() && r.Members[r.owner()].Name == w.name
		if n >= 12 && n < 15 || n < 12 && owner {
			s.trouble[r.Name] = s.round
		}
	}
}

// goesOn checks that an asynchronous run does not begin anew because of what it can spare.
func (s *sim) goesOn(before, now Run) {
	if !s.async[now.Name] || before.Phase != Running || now.Phase != Waiting || before.Handing {
		return
	}
	if told := now.History[max(0, len(now.History)-2):]; strings.Contains(strings.Join(told, " "), "nobody took") {
		return // it was waited for long enough
	}
	if at, ok := s.trouble[now.Name]; !ok || s.round-at > 60 {
		s.complain("%s begins anew, though nothing befell the part that decides: %s", now.Name, now.Why)
	}
}
