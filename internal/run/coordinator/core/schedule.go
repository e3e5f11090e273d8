package core

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/plan"
)

// schedule asks for a plan where one is wanted: for one run at a time, in the order
// of their submission, so that no two are given the same workers.
func (c *Core) schedule() {
	for i := range c.Runs {
		c.fill(&c.Runs[i])
	}
	for i := range c.Runs {
		r := &c.Runs[i]
		switch {
		case c.Asking != nil:
			return
		case r.Phase == Waiting && c.Now >= r.After && r.Tried != c.Members:
			c.ask(r, false)
		case r.Phase == Running && !r.Halting && !r.Handing && r.whole() && r.Tried != c.Members && c.waiting() == 0:
			c.ask(r, true)
		}
	}
}

// waiting counts the runs that would take free workers. A run whose plan is still being made does
// not count.
func (c *Core) waiting() (n int) {
	for i := range c.Runs {
		if c.Runs[i].Phase == Waiting && !c.Runs[i].Later {
			n++
		}
	}
	return n
}

// available returns the workers that a run could have: those that are free, and its own if it
// grows.
func (c *Core) available(r *Run, grow bool) (out []Worker) {
	for _, w := range c.Workers {
		if !w.Silent && !w.Draining && (w.Run == "" || grow && w.Run == r.Name) {
			out = append(out, w)
		}
	}
	return out
}

// ask asks the planner about a run on the workers of one program that it could have.
func (c *Core) ask(r *Run, grow bool) {
	r.Tried = c.Members
	free := c.available(r, grow)
	programs := c.untried(r, c.programs(r, free, grow))
	if len(programs) > 0 {
		free = slices.DeleteFunc(free, func(w Worker) bool { p, ok := r.program(w); return !ok || p != programs[0] })
	}
	free, without := c.avoid(r, free, grow)
	if grow && !slices.ContainsFunc(free, func(w Worker) bool { return w.Run == "" }) {
		r.Next = nil // who was to join it has gone
		return
	}
	if len(free) == 0 || len(programs) == 0 {
		c.wait(r, c.lack(r))
		return
	}
	c.Asked++
	c.Asking = &Asking{Number: c.Asked, Run: r.Name, Grow: grow, Without: without, Program: programs[0]}
	for _, w := range free {
		c.Asking.Workers = append(c.Asking.Workers, Member{Name: w.Name, Session: w.Session})
	}
	c.decide(MakePlan{c.Asked, r.Name, r.Config, r.Programs, free, r.Shards})
}

// lack says why no worker is free.
func (c *Core) lack(r *Run) string {
	busy, silent, leaving, other := 0, 0, 0, 0
	for _, w := range c.Workers {
		switch {
		case w.Silent:
			silent++
		case w.Draining:
			leaving++
		case w.Run != "":
			busy++
		default:
			other++
		}
	}
	switch {
	case other > 0 && len(r.Programs) > 0:
		return fmt.Sprintf("waits for a worker: the %d that are free cannot take its program, which is for %s", other, r.platforms())
	case other > 0:
		return fmt.Sprintf("waits for a worker: the %d that are free have another program than its %.12s", other, r.Program)
	case busy > 0:
		return fmt.Sprintf("waits for a worker: all %d are at other runs", busy)
	case silent > 0:
		return fmt.Sprintf("waits for a worker: of %d nothing is heard", silent)
	case leaving > 0:
		return fmt.Sprintf("waits for a worker: the %d that are there are to leave", leaving)
	}
	return "waits for a worker: there is none (weft worker --join starts one)"
}

// wait has a run wait for workers, and says why.
func (c *Core) wait(r *Run, why string) {
	if r.Until == 0 {
		r.Until = c.Now + c.Patience
	}
	if r.Why != why {
		r.Why = why
		c.tell(r, why)
	}
}

// answered returns the run that the planner was asked about; nil if that is no longer
// of interest.
func (c *Core) answered(number int64) (r *Run, q Asking) {
	if c.Asking == nil || c.Asking.Number != number {
		return nil, q
	}
	q, c.Asking = *c.Asking, nil
	if r = c.Run(q.Run); r != nil {
		r.Later = false
	}
	if r != nil && (q.Grow && r.Phase != Running || !q.Grow && r.Phase != Waiting) {
		r.Tried = 0 // it has changed meanwhile, and who is free is still to be asked about
		return nil, q
	}
	return r, q
}

func (e PlanFailed) happen(c *Core) {
	r, q := c.answered(e.Asked)
	switch {
	case r == nil || q.Grow:
	case e.Later:
		r.Later = true
		c.wait(r, "waits for its plan: "+e.Why)
	case (e.Short || r.Epoch > 0 && !r.Resumed) && c.other(r, q.Program):
		r.Tried = 0 // there are workers of another program
	case e.Short || r.Epoch > 0 && !r.Resumed:
		c.wait(r, strings.Join(append([]string{"waits for more workers: " + e.Why}, q.Without...), "; "))
	default:
		c.fail(r, e.Why)
	}
}

func (e PlanThere) happen(c *Core) {
	if r := c.Run(e.Run); r != nil {
		r.Tried, r.Later = 0, false
	}
}

func (e PlanMade) happen(c *Core) {
	r, q := c.answered(e.Asked)
	if r == nil {
		return
	}
	p, used := compact(e.Plan, q.Workers)
	if !c.free(r, used) {
		r.Tried = 0 // somebody has gone meanwhile
		return
	}
	if !q.Grow {
		for _, why := range q.Without {
			c.tell(r, why)
		}
		c.assign(r, p, used)
		return
	}
	c.prepare(r, p, used)
}

// prepare has a run change to a plan on more workers at its next checkpoint. Who joins
// until then is taken in at the same time.
func (c *Core) prepare(r *Run, p plan.Plan, used []Member) {
	before := len(r.Members)
	if r.Next != nil {
		before = len(r.Next.Workers)
	}
	r.Next = nil
	if len(used) <= len(r.Members) || !r.whole() || r.Halting {
		return
	}
	r.Next = &Next{Plan: p}
	for _, m := range used {
		r.Next.Workers = append(r.Next.Workers, m.Name)
	}
	if len(used) != before {
		c.tell(r, fmt.Sprintf("goes on with %d workers instead of %d from its next checkpoint on", len(used), len(r.Members)))
	}
}

// compact leaves the workers out that a plan does not use.
func compact(p plan.Plan, workers []Member) (plan.Plan, []Member) {
	var used []int
	for _, r := range p.Replicas {
		if !slices.Contains(used, r.Worker) && r.Worker >= 0 && r.Worker < len(workers) {
			used = append(used, r.Worker)
		}
	}
	if len(used) == 0 {
		used = []int{0} // the loop as it stands
	}
	slices.Sort(used)
	p.Replicas = slices.Clone(p.Replicas)
	for i := range p.Replicas {
		p.Replicas[i].Worker = max(0, slices.Index(used, p.Replicas[i].Worker))
	}
	var members []Member
	for _, i := range used {
		members = append(members, workers[i])
	}
	return p, members
}

// free reports whether a run can have these workers: no other run has them, and they are still the
// same.
func (c *Core) free(r *Run, all []Member) bool {
	for _, m := range all {
		w := c.Worker(m.Name)
		if w == nil || w.Silent || w.Draining || w.Run != "" && w.Run != r.Name || m.Session != 0 && w.Session != m.Session {
			return false
		}
	}
	return true
}

// assign begins an epoch.
func (c *Core) assign(r *Run, p plan.Plan, members []Member) {
	r.Epoch++
	r.Resumed = false
	r.Phase, r.Why, r.Plan, r.Members, r.Next, r.Former = Starting, "", &p, members, nil, nil
	r.Shards, r.Most = p.Shards, p.MaxWorkers
	r.Until = c.Now + c.Start
	for i, m := range members {
		w := c.Worker(m.Name)
		w.Run, members[i].Holder = r.Name, w.Holder
	}
	program, _ := r.program(*c.Worker(members[0].Name))
	c.move(r, program)
	a := c.assignment(r)
	back := Rewind{Run: r.Name, Epoch: r.Epoch, Step: -1}
	if l := r.Last; l != nil {
		back.Step, back.Evaluated, back.Size = l.Step, l.Evaluated, l.Record
	}
	c.decide(back)
	for i, m := range members {
		a.Me = i
		c.decide(Assign{m.Session, a})
	}
	c.tell(r, fmt.Sprintf("epoch %d begins at step %d on %s", r.Epoch, r.step(), names(members)))
}

// assignment returns what the parts of an epoch have in common.
func (c *Core) assignment(r *Run) part.Assignment {
	a := part.Assignment{Run: r.Name, Epoch: r.Epoch, Config: r.Config, Plan: *r.Plan, From: r.Last, Program: r.brought(), Secret: r.secret()}
	for _, m := range r.Members {
		x := part.Worker{Name: m.Name, Holder: m.Holder}
		if w := c.Worker(m.Name); w != nil { // or nobody needs to find it
			if x.Data, x.Host = w.Data, w.Host; a.Program != nil {
				x.Data = w.Guest
			}
		}
		a.Workers = append(a.Workers, x)
	}
	return a
}

// secret returns the secret that the processes of the epoch share. Processes of earlier epochs do
// not know it.
func (r *Run) secret() string {
	if r.Secret == "" {
		return ""
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%s/%d", r.Secret, r.Name, r.Epoch))
	return hex.EncodeToString(sum[:16])
}

// names returns the names of workers, shortened if there are many.
func names(all []Member) string {
	if len(all) > 8 {
		return fmt.Sprintf("%d workers", len(all))
	}
	text := ""
	for i, m := range all {
		if i > 0 {
			text += ", "
		}
		text += m.Name
	}
	return text
}
