package core

import (
	"fmt"
	"slices"
)

func (e Joined) happen(c *Core) {
	w, unheard := e.Worker, false
	if r := c.anothers(w); r != nil {
		c.decide(Refuse{w.Name, w.Session, fmt.Sprintf("worker %s has a part of run %s, and another certificate: give this one another name with --name", w.Name, r.Name)})
		return
	}
	if old := c.Worker(w.Name); old != nil {
		if old.Instance != w.Instance && !old.Silent || old.Holder != w.Holder {
			c.decide(Refuse{w.Name, w.Session, fmt.Sprintf("there is a worker %s already, on %s: give this one another name with --name", w.Name, old.Host)})
			return
		}
		if m := c.at(e.Doing, w); m != nil && old.Run == e.Doing.Run {
			m.Session = 0 // it is the same part, by another connection
		} else {
			c.leave(old, "connected anew")
		}
		if old.Draining && old.Instance == w.Instance && !w.Draining {
			w.Draining, unheard = true, true
		}
		i, _ := c.find(w.Name)
		c.Workers = slices.Delete(c.Workers, i, i+1)
	}
	c.anew(w)
	i, _ := c.find(w.Name)
	w.Run, w.Silent, w.Dismissed = "", false, false
	c.Workers = slices.Insert(c.Workers, i, w)
	c.Members++
	c.decide(Welcome{w.Name, w.Session})
	if unheard {
		c.decide(Drain{w.Name, w.Session})
	}
	c.takeUp(&c.Workers[i], e.Doing)
	c.arrived(w.Name)
}

// arrived ends the time that a new coordinator gives workers to come, when all that
// are known to be alive are there.
func (c *Core) arrived(name string) {
	i := slices.Index(c.Awaited, name)
	if i < 0 {
		return
	}
	c.Awaited = slices.Delete(slices.Clone(c.Awaited), i, i+1)
	for i := range c.Runs {
		if r := &c.Runs[i]; len(c.Awaited) == 0 && r.Phase == Waiting && len(r.Former) == 0 {
			r.After = min(r.After, c.Now)
		}
	}
}

// anothers returns the run of which somebody else's worker of the same name has a part, and may
// come back for it.
func (c *Core) anothers(w Worker) *Run {
	for i := range c.Runs {
		r := &c.Runs[i]
		if m := r.member(w.Name); m != nil && r.Phase.Active() && !m.Done && !m.Vacant && m.Holder != w.Holder {
			return r
		}
	}
	return nil
}

// at returns the part that a worker says it is at, if there is one and it is its own.
func (c *Core) at(d *Doing, w Worker) *Member {
	if d == nil {
		return nil
	}
	r := c.Run(d.Run)
	if r == nil || !r.Phase.Active() || r.Epoch != d.Epoch {
		return nil
	}
	if m := r.member(w.Name); m != nil && m.Life == d.Life && m.Holder == w.Holder {
		return m
	}
	return nil
}

// missing returns a part whose worker may still return, nil if there is none; only the one
// that decides, if that is what is asked for.
func (r *Run) missing(owner bool) *Member {
	for i := range r.Members {
		if m := &r.Members[i]; m.Session == 0 && !m.Done && !m.Vacant && (!owner || i == r.owner()) {
			return m
		}
	}
	return nil
}

// takeUp lets a worker go on with a part that is still its own.
func (c *Core) takeUp(w *Worker, d *Doing) {
	if m := c.at(d, *w); m != nil && m.Session == 0 {
		m.Session, m.Until, m.Quiet, w.Run = w.Session, 0, nil, d.Run
		if p, ok := c.Run(d.Run).program(*w); ok {
			c.Run(d.Run).Program = p // an older coordinator may not have kept it
		}
		c.complete(c.Run(d.Run))
		c.reported(From{w.Name, w.Session, d.Run, d.Epoch, d.Life}, *d)
		c.remind(c.Run(d.Run))
		return
	}
	if d != nil {
		c.decide(Abort{From{w.Name, w.Session, d.Run, d.Epoch, d.Life}, "it is over"})
	}
	// A member that came back without its part has lost it.
	for i := range c.Runs {
		r := &c.Runs[i]
		if m := r.member(w.Name); m != nil && r.Phase.Active() && m.Session == 0 && !m.Done && !m.Vacant {
			c.without(r, m, fmt.Sprintf("worker %s came back without its part", w.Name))
		}
	}
}

// complete ends the wait for workers of an epoch that is under way, when all are back.
func (c *Core) complete(r *Run) {
	if r.missing(false) == nil {
		c.goOn(r)
	}
}

// goOn gives an epoch that is under way new patience.
func (c *Core) goOn(r *Run) {
	r.Until = c.Now + c.Start
	if r.Phase == Running {
		r.Until = c.Now + c.Stall
	}
}

// reported does what a worker's own account of its part asks for.
func (c *Core) reported(from From, d Doing) {
	switch {
	case d.Done:
		PartDone{from, d.Progress}.happen(c)
	case d.Error != "":
		PartFailed{from, d.Error, d.User, d.Peer, d.Fault}.happen(c)
	case d.Ready:
		PartReady{from}.happen(c)
	}
}

func (e Lost) happen(c *Core) {
	w := c.here(e.Name, e.Session)
	if w == nil {
		return
	}
	if !c.mayReturn(w) {
		c.leave(w, "lost")
	}
	i, _ := c.find(e.Name)
	c.Workers = slices.Delete(c.Workers, i, i+1)
}

// mayReturn gives a worker whose connection broke a moment to come back, if it has a
// part: that goes on meanwhile, unless it is the worker that is gone. Then its peers say
// so, or it comes back without its part, or not at all.
func (c *Core) mayReturn(w *Worker) bool {
	r := c.Run(w.Run)
	if r == nil || w.Silent {
		return false
	}
	m := r.member(w.Name)
	if m.Done {
		return false
	}
	m.Session, m.Until = 0, c.Now+c.Return
	c.Members++
	return true
}

func (e Silent) happen(c *Core) {
	if w := c.here(e.Name, e.Session); w != nil && !w.Silent {
		w.Silent = true
		c.leave(w, "silent")
	}
}

func (e Heard) happen(c *Core) {
	if w := c.here(e.Name, e.Session); w != nil && w.Silent {
		w.Silent = false
		c.Members++
	}
}

// leave does what the loss of a worker means for its run.
func (c *Core) leave(w *Worker, why string) {
	c.Members++
	c.blame(w.Name)
	c.excuse(w.Name)
	r := c.Run(w.Run)
	if r == nil {
		return
	}
	m := r.member(w.Name)
	if m.Done && r.Phase.Active() {
		w.Run = ""
		return // it has nothing more to do
	}
	c.without(r, m, fmt.Sprintf("worker %s is %s", w.Name, why))
}

// blame lets the loss of a worker explain the failure of its peers, which may have
// been heard of before it.
func (c *Core) blame(name string) {
	for i := range c.Runs {
		r := &c.Runs[i]
		if r.Phase == Waiting && slices.Contains(r.Former, name) {
			r.Fault, r.After, r.Former = "", c.Now, nil
			c.tell(r, fmt.Sprintf("it was because worker %s is lost", name))
		}
	}
}
