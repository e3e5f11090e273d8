package core

import (
	"fmt"
	"slices"
)

// spares reports whether the others go on without a member: the plan is made for that,
// and it is not the one that decides.
func (c *Core) spares(r *Run, m *Member) bool {
	return r.Phase == Running && !m.Done && r.Plan.Sparing() && m != &r.Members[r.owner()]
}

// without does what it means for a run that a member has lost its part.
func (c *Core) without(r *Run, m *Member, why string) {
	if c.spares(r, m) {
		c.vacate(r, m, why)
		return
	}
	c.restart(r, why)
}

// vacate takes a part back while the others go on. Who has it next is another life of
// it: what the one before still says does not count.
func (c *Core) vacate(r *Run, m *Member, why string) {
	if r.Vacated++; r.Vacated > c.Restarts {
		c.restart(r, fmt.Sprintf("%s, and %d parts were lost without a new checkpoint", why, r.Vacated))
		return
	}
	if w := c.Worker(m.Name); w != nil && w.Run == r.Name {
		w.Run = ""
		c.decide(Abort{r.to(*m), why})
	}
	*m = Member{Name: m.Name, Life: m.Life + 1, Vacant: true, Until: c.Now + c.Vacancy, Fault: m.Fault, Faults: m.Faults}
	r.Next = nil // it was made for other workers
	c.Members++
	c.tell(r, why+": the others go on, and its part waits for a worker")
}

// fill gives vacant parts to workers that are free, once it is known where the part is
// that decides.
func (c *Core) fill(r *Run) {
	if r.Phase != Running || r.Handing || !r.vacant() || r.Members[r.owner()].Session == 0 {
		return
	}
	for i := range r.Members {
		if m := &r.Members[i]; m.Vacant && c.Now >= m.After {
			if w := c.heir(r, m); w != nil {
				c.give(r, i, w)
			}
		}
	}
}

// heir returns the worker that takes a vacant part over: the one that had it, if it is back,
// or any that is free and has the devices that the plan names.
func (c *Core) heir(r *Run, m *Member) (best *Worker) {
	for i := range c.Workers {
		w := &c.Workers[i]
		mine := w.Name == m.Name
		if w.Silent || w.Draining || !r.hasProgram(*w) || w.Run != "" || !mine && (best != nil || r.member(w.Name) != nil) || !c.suits(r, m, w) || c.shuns(r, w) {
			continue
		}
		if best = w; mine {
			break
		}
	}
	return best
}

// suits reports whether a worker has the devices of a part.
func (c *Core) suits(r *Run, m *Member, w *Worker) bool {
	me := slices.IndexFunc(r.Members, func(o Member) bool { return o.Name == m.Name })
	for _, x := range r.Plan.Replicas {
		if x.Worker == me && x.Device != "" && !slices.Contains(w.Devices, x.Device) {
			return false
		}
	}
	return true
}

// give hands a vacant part to a worker. It begins with what is newest where it is
// decided; the checkpoint is for what does not change.
func (c *Core) give(r *Run, number int, w *Worker) {
	m := &r.Members[number]
	before := m.Name
	m.Name, m.Session, m.Holder, m.Vacant, m.After, m.Until = w.Name, w.Session, w.Holder, false, 0, c.Now+c.Start
	w.Run = r.Name
	a := c.assignment(r)
	a.Me, a.Life = number, m.Life
	c.decide(Assign{w.Session, a})
	text := fmt.Sprintf("worker %s takes part %d over", w.Name, number)
	if before != w.Name {
		text += " from " + before
	}
	c.tell(r, text)
}

// impatient does without a member that was waited for in vain.
func (c *Core) impatient(r *Run, m *Member) {
	switch {
	case m.Vacant && c.Now >= m.Until+c.Vacancy: // and there was no checkpoint meanwhile
		c.restart(r, unclaimed(m))
	case m.Vacant:
	case m.Session == 0:
		c.without(r, m, fmt.Sprintf("worker %s did not come back", m.Name))
	default:
		c.without(r, m, fmt.Sprintf("worker %s was not ready in time", m.Name))
	}
}

func unclaimed(m *Member) string {
	return fmt.Sprintf("nobody took the part over that worker %s had", m.Name)
}

// shrink replans the run on the remaining workers if a part has been vacant for too long. It is
// called where a checkpoint makes that free of loss.
func (c *Core) shrink(r *Run) {
	for i := range r.Members {
		if m := &r.Members[i]; m.Vacant && c.Now >= m.Until {
			c.restart(r, unclaimed(m))
			return
		}
	}
}
