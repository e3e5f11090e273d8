package core

import "fmt"

func (e StopAsked) happen(c *Core) {
	r := c.Run(e.Run)
	switch {
	case r == nil:
		c.decide(Reply{e.Ticket, fmt.Sprintf("there is no run %s: weft status shows them", e.Run)})
		return
	case r.Phase.Over():
	case r.Phase == Running && !e.Now:
		c.halt(r)
	default: // nothing was done since its checkpoint, or that is to be given up
		c.end(r, Stopped, asked+"; "+r.rest())
	}
	c.decide(Reply{e.Ticket, ""})
}

const asked = "as was asked for"

// halt ends a run that is under way at its next consistent point, with a checkpoint.
func (c *Core) halt(r *Run) {
	if r.Halting {
		return // it was asked for before
	}
	r.Halting, r.Handing, r.HaltBy, r.Next = true, false, c.Now+c.Halt, nil
	r.Why = "stops at its next consistent point, " + asked
	c.tell(r, r.Why)
	c.remind(r)
}

// remind tells the part that decides to end at its next consistent point, if it is to; it may not
// have heard.
func (c *Core) remind(r *Run) {
	if r == nil || r.Phase != Running || !r.Halting && !r.Handing {
		return
	}
	if m := r.Members[r.owner()]; m.Session != 0 {
		c.decide(Halt{r.to(m)})
	}
}

// unpunctual ends a run that does not come to a consistent point in time.
func (c *Core) unpunctual(r *Run) {
	if r.Halting && c.Now >= r.HaltBy {
		c.end(r, Stopped, fmt.Sprintf("%s, though it did not come to a consistent point in time; %s", asked, r.rest()))
	}
}
