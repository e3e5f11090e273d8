package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/run/part"
)

func (e Submitted) happen(c *Core) {
	old := c.Run(e.Name)
	if e.Again == nil && old != nil && old.ID != e.ID && old.Blank() { // epochs go on counting: old workers may come back
		e.Again, e.Split, e.Anew = &part.Committed{}, true, true
	}
	if e.Again != nil && (old == nil || old.ID != e.ID) {
		e.again(c, old)
		return
	}
	if old != nil {
		why := ""
		if old.ID != e.ID { // else the answer was not heard
			why = fmt.Sprintf("there is a run %s already, which is %s: choose another name with --out", e.Name, old.Phase)
		}
		c.decide(Reply{e.Ticket, why})
		return
	}
	c.forget()
	c.Runs = append(c.Runs, Run{Name: e.Name, ID: e.ID, Config: e.Config, Programs: e.Programs, Secret: e.Secret, Phase: Waiting, Why: "waits for a plan", Until: c.Now + c.Patience})
	r := c.Run(e.Name)
	c.tell(r, "submitted"+r.bringing())
	c.decide(Reply{e.Ticket, ""})
}

func (e DeleteAsked) happen(c *Core) {
	r := c.Run(e.Run)
	switch {
	case r == nil: // only its folder is there
	case !r.Phase.Over():
		c.decide(Reply{e.Ticket, fmt.Sprintf("run %s is %s: weft stop %s ends it first", e.Run, r.Phase, e.Run)})
		return
	default:
		c.decide(Forget{e.Run})
		c.Runs = slices.DeleteFunc(c.Runs, func(r Run) bool { return r.Name == e.Run })
	}
	c.decide(Reply{e.Ticket, ""})
}

// forget gives up the oldest runs that are over, where there are too many.
func (c *Core) forget() {
	over := 0
	for i := range c.Runs {
		if c.Runs[i].Phase.Over() {
			over++
		}
	}
	c.Runs = slices.DeleteFunc(c.Runs, func(r Run) bool {
		if !r.Phase.Over() || over <= c.Keep {
			return false
		}
		over--
		c.decide(Forget{r.Name})
		return true
	})
}

func (e RecordLost) happen(c *Core) {
	if r := c.Run(e.Run); r != nil && !r.Phase.Over() {
		c.fail(r, fmt.Sprintf("its record cannot be kept: %s; %s", e.Why, r.rest()))
	}
}

func (e RecordGap) happen(c *Core) {
	if r := c.Run(e.Run); r != nil && r.Phase.Active() && r.Epoch == e.Epoch {
		c.restart(r, "lines of its record are missing: "+e.Why)
	}
}

func (Tick) happen(c *Core) {
	c.Now++
	c.reconsider()
	for i := range c.Runs {
		if r := &c.Runs[i]; !r.Phase.Over() {
			c.overdue(r)
		}
	}
}

// abandoned begins the reason of a run that failed because it waited for workers in vain.
const abandoned = "given up after waiting: "

// Abandoned reports whether the run failed because it waited for workers in vain.
func (r *Run) Abandoned() bool { return r.Phase == Failed && strings.HasPrefix(r.Why, abandoned) }

// overdue ends the patience with a run.
func (c *Core) overdue(r *Run) {
	if r.Phase == Waiting && c.Now >= r.After {
		r.Former = nil
		if c.Retry > 0 && c.Now%c.Retry == 0 || c.Now == r.Moves {
			r.Tried = 0
		}
	}
	for i := 0; i < len(r.Members); i++ { // there are none once they are taken back
		if m := &r.Members[i]; m.Until > 0 && c.Now >= m.Until {
			c.impatient(r, m)
		}
	}
	if c.unpunctual(r); r.Until == 0 || c.Now < r.Until {
		return
	}
	if r.Phase == Waiting {
		c.fail(r, abandoned+r.Why)
		return
	}
	for _, m := range r.Members {
		switch {
		case r.Phase == Starting && !m.Ready:
			c.restart(r, fmt.Sprintf("worker %s was not ready in time", m.Name))
			return
		}
	}
	c.restart(r, "nothing was heard of its progress for too long")
}

func (e Loaded) happen(c *Core) {
	c.Runs, c.Awaited = slices.Clone(e.Runs), slices.Clone(e.Alive)
	for i := range c.Runs {
		r := &c.Runs[i]
		r.Until, r.After, r.Tried, r.Later, r.Former, r.Next, r.HaltBy, r.Moves, r.Vain = 0, 0, 0, false, nil, nil, 0, c.Now+c.Move, nil
		if r.Phase.Over() {
			continue
		}
		r.Progress = part.Progress{Steps: r.step()}
		c.await(r, e.Alive)
	}
}

// await gives workers time to come to this coordinator: those of an epoch that may
// still be under way, and those that a new one is to be planned on.
func (c *Core) await(r *Run, alive []string) {
	grace := c.Now + c.Grace
	if r.Phase == Waiting {
		r.After, r.Until = grace, c.Now+c.Patience
		return
	}
	r.Members = slices.Clone(r.Members)
	for i := range r.Members {
		m := &r.Members[i]
		m.Begun, m.Quiet = c.Now, nil
		switch m.Session = 0; {
		case m.Vacant:
			m.Until, m.After = c.Now+c.Vacancy, 0
		case !m.Done:
			m.Until = grace
		}
	}
	c.goOn(r)
	if r.Halting {
		r.HaltBy = grace + c.Halt
	}
	for i := 0; i < len(r.Members); i++ {
		m := &r.Members[i]
		if m.Done || m.Vacant || slices.Contains(alive, m.Name) {
			continue
		}
		c.without(r, m, fmt.Sprintf("worker %s was lost while no coordinator acted", m.Name))
		if r.Phase == Waiting {
			r.After = grace
		}
	}
}
