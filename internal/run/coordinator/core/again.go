package core

import (
	"fmt"

	"github.com/weft-rl/weft/internal/run/part"
)

// Blank reports whether a run is over and never committed a checkpoint. Another run may have its
// name.
func (r *Run) Blank() bool { return r.Phase.Over() && r.Phase != Done && r.Last == nil }

// again resumes a run that is over, or that only its folder knows of.
func (e Submitted) again(c *Core, old *Run) {
	switch {
	case old == nil:
		c.forget()
		c.Runs = append(c.Runs, Run{Name: e.Name, Epoch: e.Again.Epoch, Shards: e.Again.Shards, Last: e.Again.Last})
		old = c.Run(e.Name)
	case !old.Phase.Over():
		is := string(old.Phase)
		if old.Halting {
			is = "about to stop"
		}
		c.decide(Reply{e.Ticket, fmt.Sprintf("run %s is %s: there is nothing to resume (weft status %s shows it)", e.Name, is, e.Name)})
		return
	}
	if e.Again.Epoch > old.Epoch { // it was under way elsewhere
		old.Epoch, old.Shards, old.Last = e.Again.Epoch, e.Again.Shards, e.Again.Last
	}
	r := old
	if e.Lost && r.Last != nil { // what is left of the record is found by the steps
		last := *r.Last
		last.Record = 0
		r.Last = &last
	}
	if e.Split {
		r.Shards = 0
	}
	if r.Secret == "" {
		r.Secret = e.Secret
	}
	if len(e.Programs) > 0 || e.Anew { // else it goes on with what it brought
		r.Programs = e.Programs
	}
	r.ID, r.Config, r.Phase, r.Why = e.ID, e.Config, Waiting, "waits for a plan"
	r.Fault, r.Faulty, r.FaultBy, r.Restarts, r.Resumed = "", 0, "", 0, true
	r.Refused, r.Moves = nil, c.Now
	r.Until, r.After, r.Tried, r.Progress = c.Now+c.Patience, c.Now, 0, part.Progress{Steps: r.step()}
	if e.Anew {
		c.tell(r, "submitted, in the place of a run that never got to a checkpoint"+r.bringing())
	} else {
		c.tell(r, fmt.Sprintf("resumed, from step %d%s", r.step(), r.bringing()))
	}
	c.decide(Reply{e.Ticket, ""})
}
