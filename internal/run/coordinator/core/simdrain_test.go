package core

import "strings"

// leave has a worker leave: it asks for that itself, or a client does.
func (s *sim) leave(w *simWorker) {
	c := s.acting()
	if w.dead || w.conn == nil || w.conn.broken || w.conn.to != c || c.dead || c.frozen > 0 {
		return
	}
	if s.chance(50) {
		w.draining = true
		w.conn.up = append(w.conn.up, Leaving{w.name, w.conn.session})
		return
	}
	s.tell(c, DrainAsked{[]string{w.name}, 0})
}

// dismissed ends a worker's process that has no part any more.
func (s *sim) dismissed(w *simWorker) {
	if !w.draining && s.fault.event == nil && s.fault.decide == nil {
		s.complain("worker %s is dismissed, and does not know why", w.name)
	}
	w.dead, w.job = true, nil
	s.cut(w)
}

// upgrade gives a process that is started the next program, sometimes.
func (s *sim) upgrade(w *simWorker) {
	w.draining = false
	if s.chance(10) && s.round < s.calm && s.upgrades {
		w.program = strings.Repeat("p", min(3, len(w.program)+1))
	}
}

// lossless checks that nothing is taken back of a run that goes on without a worker that leaves.
func (s *sim) lossless(d Rewind, r *record) {
	if !s.handed[d.Run] {
		return
	}
	delete(s.handed, d.Run)
	if n := len(r.steps); n > 0 && r.steps[n-1] > d.Step {
		s.complain("run %s was handed over, and goes back from step %d to %d", d.Run, r.steps[n-1], d.Step)
	}
}

// clinging has a run go back to its last checkpoint when a worker is to leave, before it has come
// to a consistent point.
func clinging(c *Core, e Event) Event {
	if x, ok := e.(Progressed); ok {
		if r := c.Run(x.Run); r != nil && r.Handing && r.Epoch == x.Epoch && x.Progress.Steps > r.step() {
			c.replan(r, "since a worker leaves")
		}
	}
	return e
}
