package core

import (
	"fmt"

	"github.com/weft-rl/weft/internal/run/part"
)

// A worker that is to leave is drained: no run is planned on it any more, and the one that it has a
// part in ends its epoch at the next consistent point, of which it keeps a checkpoint, and goes on
// without it. Nothing is done again, unlike after a loss.

func (e DrainAsked) happen(c *Core) {
	for _, name := range e.Workers {
		if c.Worker(name) == nil {
			c.decide(Reply{e.Ticket, fmt.Sprintf("there is no worker %s: weft status shows them", name)})
			return
		}
	}
	for _, name := range e.Workers {
		w := c.Worker(name)
		c.drain(w)
		c.decide(Drain{w.Name, w.Session}) // also again: it may not have heard
	}
	c.decide(Reply{e.Ticket, ""})
}

func (e Leaving) happen(c *Core) {
	if w := c.here(e.Worker, e.Session); w != nil {
		c.drain(w)
	}
}

// drain has no run planned on a worker.
func (c *Core) drain(w *Worker) {
	if w.Draining {
		return
	}
	w.Draining = true
	c.Members++
}

// evacuate has runs go on without workers that are to leave, and lets those go that have no part.
func (c *Core) evacuate() {
	for i := range c.Runs {
		if r := &c.Runs[i]; r.Phase.Active() && !r.Halting && !r.Handing {
			if name := c.leaving(r); name != "" {
				c.handOver(r, name)
			}
		}
	}
	for i := range c.Workers {
		if w := &c.Workers[i]; w.Draining && !w.Dismissed && w.Run == "" {
			w.Dismissed = true
			c.decide(Dismiss{w.Name, w.Session})
		}
	}
}

// leaving returns a worker that is to leave and has a part of a run; empty if there is none.
func (c *Core) leaving(r *Run) string {
	for _, m := range r.Members {
		if w := c.Worker(m.Name); w != nil && w.Draining && w.Run == r.Name && !m.Done {
			return w.Name
		}
	}
	return ""
}

// handOver replans a run without a worker that is to leave: from its next consistent point on, or
// now if nothing was done since its checkpoint.
func (c *Core) handOver(r *Run, name string) {
	if r.Phase == Starting {
		c.replan(r, fmt.Sprintf("worker %s is to leave", name))
		return
	}
	r.Handing, r.Next = true, nil
	c.tell(r, fmt.Sprintf("worker %s is to leave: the run goes on without it from its next consistent point on", name))
	c.remind(r)
}

// replan ends an epoch after which nothing is done again, and has the run planned anew.
func (c *Core) replan(r *Run, why string) {
	c.release(r, why)
	r.Phase, r.Why, r.Until, r.After, r.Tried, r.Moves = Waiting, why, c.Now+c.Patience, c.Now, 0, c.Now
	r.Progress = part.Progress{Steps: r.step()}
	c.tell(r, fmt.Sprintf("epoch %d is over, %s: it goes on from step %d, and nothing is done again", r.Epoch, why, r.step()))
}
