package core

import (
	"fmt"
	"slices"

	"github.com/weft-rl/weft/internal/run/part"
)

// part returns the run and the part that something comes from; nil if the epoch is
// over, which the worker is then told.
func (c *Core) part(from From) (*Run, *Member) {
	w := c.here(from.Worker, from.Session)
	if w == nil {
		return nil, nil // its connection is over: it hears nothing
	}
	r := c.Run(from.Run)
	if r != nil && r.Phase.Active() && r.Epoch == from.Epoch {
		if m := r.member(from.Worker); m != nil && m.Session == from.Session && m.Life == from.Life {
			return r, m
		}
	}
	c.decide(Abort{from, "it is over"})
	return nil, nil
}

func (e PartReady) happen(c *Core) {
	r, m := c.part(e.From)
	if r == nil {
		return
	}
	if !m.Ready {
		m.Begun = c.Now
	}
	m.Ready, m.Until = true, 0
	if r.Phase == Running { // it had not heard, or has taken the part over
		c.decide(Start(e))
		return
	}
	for _, m := range r.Members {
		if !m.Ready || m.Session == 0 {
			return
		}
	}
	r.Phase, r.Until, r.Before = Running, c.Now+c.Stall, ""
	c.changed(r)
	for _, m := range r.Members {
		c.decide(Start{r.to(m)})
	}
}

// to returns a member's part.
func (r *Run) to(m Member) From { return From{m.Name, m.Session, r.Name, r.Epoch, m.Life} }

func (e Progressed) happen(c *Core) {
	r, m := c.part(e.From)
	if r == nil || r.Phase != Running || m != &r.Members[r.owner()] {
		return
	}
	if e.Progress.Iter != r.Progress.Iter || e.Progress.Steps != r.Progress.Steps {
		r.Until = c.Now + c.Stall // else it is said again
	}
	r.Progress = e.Progress
}

func (e Committing) happen(c *Core) {
	r, m := c.part(e.From)
	refuse := func(why string) { c.decide(Answer{e.Worker, e.Session, e.Ticket, why, e.Run}) }
	switch {
	case r == nil:
		if c.here(e.Worker, e.Session) != nil {
			refuse(fmt.Sprintf("epoch %d of run %s is over", e.Epoch, e.From.Run))
		}
		return
	case m != &r.Members[r.owner()]:
		refuse("only the part that decides commits checkpoints")
		return
	case r.Last != nil && *r.Last == e.Manifest: // it had not heard
		refuse("")
		return
	case e.Manifest.Epoch != r.Epoch:
		refuse(fmt.Sprintf("the checkpoint is of epoch %d, and this is epoch %d", e.Manifest.Epoch, r.Epoch))
		return
	case r.Last != nil && e.Manifest.Step < r.Last.Step: // the last step may be saved anew, with its evaluation
		refuse(fmt.Sprintf("the checkpoint of step %d is older than that of step %d", e.Manifest.Step, r.Last.Step))
		return
	}
	last := e.Manifest
	c.forgive(r)
	r.Last, r.Fault, r.Restarts, r.Vacated, r.Until = &last, "", 0, 0, c.Now+c.Stall
	c.changed(r)
	refuse("")
	if !r.Halting && !r.Handing {
		c.shrink(r)
		c.grow(r)
	}
}

// grow changes to a better plan, now that nothing is lost by it.
func (c *Core) grow(r *Run) {
	next := r.Next
	if next == nil || r.Phase != Running {
		return
	}
	r.Next = nil
	var members []Member
	for _, name := range next.Workers {
		w := c.Worker(name)
		if w == nil {
			return // it is planned again, since somebody has left
		}
		members = append(members, Member{Name: name, Session: w.Session})
	}
	if !c.free(r, members) {
		return
	}
	fresh := r.Tried == c.Members
	c.release(r, "it goes on with more workers")
	if fresh { // who is free was asked about, but for those that it has taken back itself
		r.Tried = c.Members
	}
	c.assign(r, next.Plan, members)
}

func (e PartDone) happen(c *Core) {
	r, m := c.part(e.From)
	if r == nil || r.Phase != Running {
		return
	}
	m.Done = true
	if m != &r.Members[r.owner()] {
		return
	}
	// Who decides is done when all have done what there was to do.
	r.Progress = e.Progress
	switch {
	case e.Progress.Halted && r.Handing && !r.Halting:
		c.replan(r, "since a worker leaves")
		return
	case e.Progress.Halted:
		c.end(r, Stopped, asked+"; "+r.rest())
		return
	}
	c.end(r, Done, fmt.Sprintf("done after %d steps", r.Progress.Steps))
}

func (e PartFailed) happen(c *Core) {
	e.Error = part.Brief(e.Error) // it is kept, several times
	if r := c.cause(e.From); r != nil {
		c.accuse(r, e)
		if !c.hopeless(r, nil, e) && !e.Peer {
			c.tell(r, "it was because of "+e.String())
		}
		if r.Phase == Waiting && c.blamed(r, e) {
			r.After = c.Now
		}
		return
	}
	r, m := c.part(e.From)
	if r == nil || m.Done {
		return
	}
	cut := c.accuse(r, e)
	if c.moveBack(r, e) || c.hopeless(r, m, e) {
		return
	}
	gone := r.missing(c.spares(r, m))
	switch {
	case e.Peer && gone != nil: // which is why it will not return
		c.restart(r, fmt.Sprintf("worker %s is lost", gone.Name))
		return
	case c.spares(r, m):
		c.vacate(r, m, e.String())
		if r.Phase == Running && !cut {
			m.After = c.Now + c.Settle // it may turn out to be the loss of the one that decides
		}
		return
	}
	var former []string
	for _, m := range r.Members {
		former = append(former, m.Name)
	}
	c.restart(r, e.String())
	if r.Phase == Waiting && !cut && !c.blamed(r, e) { // it may turn out to be somebody's loss, or another's failure
		r.After, r.Former = c.Now+c.Settle, former
	}
}

// String returns the failure, with the worker that failed.
func (e PartFailed) String() string { return fmt.Sprintf("worker %s: %s", e.Worker, e.Error) }

// cause returns the run whose epoch has just ended, if this may be the reason: peers of a
// part that fails may be heard of before it.
func (c *Core) cause(from From) *Run {
	r := c.Run(from.Run)
	if r != nil && r.Phase == Waiting && r.Epoch == from.Epoch && slices.Contains(r.Former, from.Worker) && c.here(from.Worker, from.Session) != nil {
		return r
	}
	return nil
}

// hopeless ends a run if to try again would end the same way: it says so itself, or
// an earlier epoch, or whoever had the part before, has shown it. m is nil if the epoch
// is over. A failure that may be one worker's alone is tried without that worker first.
func (c *Core) hopeless(r *Run, m *Member, e PartFailed) bool {
	if e.Node && (c.shun(r, e.Worker, e.Error, "") || c.pardon(r, e.Worker) && c.shun(r, e.Worker, e.Error, "")) {
		return false
	}
	if e.Program && c.shun(r, e.Worker, e.Error, r.Name) {
		return false
	}
	again := !e.Peer && r.Fault == e.Error && r.Faulty < r.Epoch
	if again && !e.User && r.FaultBy == e.Worker && (m == nil || !c.spares(r, m)) && c.shun(r, e.Worker, e.Error, r.Name) {
		r.Faulty = r.Epoch
		c.changed(r)
		return false
	}
	if e.User || again || !e.Peer && c.repeats(m, e.Error) {
		c.fail(r, e.String())
		return true
	}
	if !e.Peer {
		r.Fault, r.Faulty, r.FaultBy = e.Error, r.Epoch, e.Worker
		c.changed(r)
	}
	return false
}

// repeats notes a failure of a part's own, and reports whether it has been the same
// before, or there were too many.
func (c *Core) repeats(m *Member, fault string) bool {
	if m == nil {
		return false
	}
	if m.Ready && c.Now >= m.Begun+c.Lived {
		m.Fault, m.Faults = "", 0
	}
	before := m.Fault
	m.Fault = fault
	m.Faults++
	return before == fault || m.Faults > c.Restarts
}

// restart ends an epoch: the run is to go on from its last checkpoint, unless that has
// been tried too often, or it is to stop: then it has.
func (c *Core) restart(r *Run, why string) {
	if r.Halting {
		c.end(r, Stopped, fmt.Sprintf("%s, when %s; %s", asked, why, r.rest()))
		return
	}
	r.Restarts++
	if r.Restarts > c.Restarts {
		c.fail(r, fmt.Sprintf("given up after %d attempts without a new checkpoint, the last of which ended because %s", r.Restarts, why))
		return
	}
	switch {
	case r.Handing: // it was to go on elsewhere
		r.Moves = c.Now
	case r.Restarts == 1:
		r.Moves = c.Now + c.Move
	}
	c.release(r, why)
	r.Phase, r.Why, r.Until, r.After, r.Tried = Waiting, why, c.Now+c.Patience, c.Now, 0
	r.Progress = part.Progress{Steps: r.step()}
	c.tell(r, fmt.Sprintf("epoch %d is over, %s: it goes on from step %d", r.Epoch, why, r.step()))
}

// release takes a run's workers back.
func (c *Core) release(r *Run, why string) {
	for _, m := range r.Members {
		w := c.Worker(m.Name)
		if w == nil || w.Run != r.Name {
			continue
		}
		w.Run = ""
		if !m.Done && m.Session != 0 {
			c.decide(Abort{r.to(m), why})
		}
	}
	r.Members, r.Plan, r.Next, r.Former, r.Vacated, r.Handing = nil, nil, nil, nil, 0, false
	c.Members++
}

func (c *Core) fail(r *Run, why string) { c.end(r, Failed, why) }

// end ends a run.
func (c *Core) end(r *Run, as Phase, why string) {
	c.release(r, "the run is "+string(as))
	if c.Asking != nil && c.Asking.Run == r.Name {
		c.Asking = nil // others are asked about
	}
	r.Phase, r.Why = as, why
	r.Until, r.After, r.Tried, r.Later, r.Halting, r.HaltBy = 0, 0, 0, false, false, 0
	c.tell(r, fmt.Sprintf("%s: %s", as, why))
}
