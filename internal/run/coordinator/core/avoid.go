package core

import (
	"fmt"
	"slices"
	"strings"
)

// Two workers may be unable to reach each other though the coordinator reaches both, and one
// machine may be unable to do what others can. Neither is the algorithm's failure. Runs are planned
// without such a connection or worker for a while, and try it again later.

// Link records the breaks of the connection between two workers, and until when no plan uses it.
type Link struct {
	A      string    `json:"a"` // the names, in order
	B      string    `json:"b"`
	Breaks int       `json:"breaks,omitempty"` // without a new checkpoint in between
	Of     [2]string `json:"of"`               // the processes that had the names
	Avoided
}

// Unfit records why a worker is left out of plans, and until when.
type Unfit struct {
	Worker string `json:"worker"`
	Of     string `json:"of"`            // the process that had the name
	Run    string `json:"run,omitempty"` // the run that it is unfit for; empty is any
	Why    string `json:"why"`
	Avoided
}

// Avoided says until when something is not used.
type Avoided struct {
	Until int64 `json:"until,omitempty"` // tick at which it may be tried again; 0: it may be used
	Times int   `json:"times,omitempty"` // how often it was found to be bad
}

// avoidFor has something not used for some ticks: longer each time that it is bad again.
func (c *Core) avoidFor(a *Avoided, ticks int64) {
	a.Until = c.Now + ticks<<min(a.Times, 4)
	a.Times++
	c.Members++ // whoever could be planned on it can not any more
}

func (a Avoided) now() bool { return a.Until > 0 }

// link returns what is known of the connection between two workers; nil if nothing is.
func (c *Core) link(a, b string) *Link {
	if a > b {
		a, b = b, a
	}
	for i := range c.Links {
		if l := &c.Links[i]; l.A == a && l.B == b {
			return l
		}
	}
	return nil
}

// against returns the record of failures between two workers, and makes one if there is none.
func (c *Core) against(a, b string) *Link {
	if l := c.link(a, b); l != nil {
		return l
	}
	a, b = min(a, b), max(a, b)
	c.Links = append(c.Links, Link{A: a, B: b, Of: [2]string{c.instance(a), c.instance(b)}})
	return &c.Links[len(c.Links)-1]
}

// accuse notes what a part says of its connections, and reports whether one of them is found to be
// cut. That a worker cannot be reached was tried for long enough; a connection that broke may be a
// lost worker, or a moment's trouble.
func (c *Core) accuse(r *Run, e PartFailed) (cut bool) {
	e.Fault = e.Fault.within(r)
	c.behind(r, e)
	cut = c.cut(r, e)
	for _, name := range e.Broken {
		if c.Worker(name) == nil { // which is why
			continue
		}
		if l := c.against(e.Worker, name); !l.now() {
			if l.Breaks++; l.Breaks >= c.Breaks {
				c.suspend(r, l, c.Avoid, fmt.Sprintf("their connection broke %d times without a new checkpoint", l.Breaks))
			}
		}
	}
	for _, name := range e.Unreached {
		if c.Worker(name) == nil {
			continue
		}
		if l := c.against(e.Worker, name); !l.now() {
			c.suspend(r, l, c.Avoid, "worker "+e.Worker+" could not reach "+name)
		}
	}
	return cut
}

func (e Quiet) happen(c *Core) {
	if r, m := c.part(e.From); r != nil {
		m.Quiet = Fault{Broken: e.Workers}.within(r).Broken
	}
}

// cut suspends the connections over which two members hear nothing of each other, when a part fails
// because of another, and reports whether there are any. The coordinator hears both, so neither is
// lost, and to connect them again would be to wait until that fails. Where one of the two hears the
// other, it may be the other that stood still.
func (c *Core) cut(r *Run, e PartFailed) (found bool) {
	if !e.Peer {
		return false
	}
	misses := func(a, b Member) bool {
		return a.Session != 0 && (slices.Contains(a.Quiet, b.Name) || a.Name == e.Worker && slices.Contains(e.Broken, b.Name))
	}
	for i, a := range r.Members {
		for _, b := range r.Members[i+1:] {
			if !misses(a, b) || !misses(b, a) {
				continue
			}
			if l := c.against(a.Name, b.Name); !l.now() {
				c.suspend(r, l, c.Doubt, "neither hears anything of the other")
			}
			found = true
		}
	}
	return found
}

// within returns the fault without workers that have nothing to do with the run: a part cannot
// blame them.
func (f Fault) within(r *Run) Fault {
	of := func(names []string) (out []string) {
		for _, name := range names {
			if r.member(name) != nil || slices.Contains(r.Former, name) {
				out = append(out, name)
			}
		}
		return out
	}
	f.Unreached, f.Broken, f.Late = of(f.Unreached), of(f.Broken), of(f.Late)
	return f
}

// behind excludes workers from a run that had not built their parts of it when others had.
func (c *Core) behind(r *Run, e PartFailed) {
	for _, name := range e.Late {
		if c.Worker(name) != nil && c.unfit(name, r.Name) == nil {
			c.shun(r, name, "its part was not built in time", r.Name)
		}
	}
}

// suspend has no run planned on both ends of a connection for some ticks.
func (c *Core) suspend(r *Run, l *Link, ticks int64, why string) {
	l.Breaks = 0
	c.avoidFor(&l.Avoided, ticks)
	c.tell(r, fmt.Sprintf("workers %s and %s are not planned together for now: %s", l.A, l.B, why))
}

// forgive forgets what was held against connections that a run has just made a checkpoint with.
func (c *Core) forgive(r *Run) {
	c.Links = slices.DeleteFunc(c.Links, func(l Link) bool {
		return !l.now() && r.member(l.A) != nil && r.member(l.B) != nil
	})
}

// excuse forgets that connections to a worker broke, which is lost.
func (c *Core) excuse(name string) {
	for i := range c.Links {
		if l := &c.Links[i]; l.A == name || l.B == name {
			l.Breaks = 0
		}
	}
}

// anew forgets what was held against a worker when another process comes in its name.
func (c *Core) anew(w Worker) {
	other := func(name, instance string) bool { return name == w.Name && instance != w.Instance }
	c.Links = slices.DeleteFunc(c.Links, func(l Link) bool { return other(l.A, l.Of[0]) || other(l.B, l.Of[1]) })
	// What it failed at in one run may be that run's fault, or what it was started again for.
	c.Unfit = slices.DeleteFunc(c.Unfit, func(u Unfit) bool { return u.Run == "" && other(u.Worker, u.Of) })
}

// instance returns the process that has a worker's name; empty if it is not connected.
func (c *Core) instance(name string) string {
	if w := c.Worker(name); w != nil {
		return w.Instance
	}
	return ""
}

// reconsider lets what was avoided for long enough be tried again.
func (c *Core) reconsider() {
	again := func(a *Avoided) {
		if a.now() && c.Now >= a.Until {
			a.Until = 0
			c.Members++
		}
	}
	for i := range c.Links {
		again(&c.Links[i].Avoided)
	}
	for i := range c.Unfit {
		again(&c.Unfit[i].Avoided)
	}
	gone := func(name string) bool { return c.Worker(name) == nil }
	c.Links = slices.DeleteFunc(c.Links, func(l Link) bool { return !l.now() && (gone(l.A) || gone(l.B)) })
	c.Unfit = slices.DeleteFunc(c.Unfit, func(u Unfit) bool { return !u.now() && gone(u.Worker) })
}

// shun excludes a worker from one run or from all, and reports whether there is another that may do
// better.
func (c *Core) shun(r *Run, name, why, run string) bool {
	if c.unfit(name, run) != nil || !slices.ContainsFunc(c.Workers, func(w Worker) bool {
		_, able := r.program(w)
		return w.Name != name && able && !w.Silent && !w.Draining && c.unfit(w.Name, r.Name) == nil
	}) {
		return false
	}
	i := slices.IndexFunc(c.Unfit, func(u Unfit) bool { return u.Worker == name && u.Run == run })
	if i < 0 {
		i = len(c.Unfit)
		c.Unfit = append(c.Unfit, Unfit{Worker: name, Of: c.instance(name), Run: run})
	}
	c.Unfit[i].Why = why
	c.avoidFor(&c.Unfit[i].Avoided, c.Avoid)
	return true
}

// pardon has workers that were left out tried again when the last other one fails as they did, and
// reports whether there are any. They may be able again: the run has made a checkpoint since. If
// all have failed without one in between, it is no machine's fault.
func (c *Core) pardon(r *Run, last string) bool {
	var names []string
	for _, w := range c.Workers {
		if u := c.unfit(w.Name, r.Name); w.Name != last && !w.Silent && !w.Draining && u != nil && u.Run == "" {
			names = append(names, w.Name)
		}
	}
	if len(names) == 0 || r.Restarts >= len(names) {
		return false
	}
	for _, name := range names {
		c.unfit(name, r.Name).Until = 0
	}
	c.Members++
	c.tell(r, fmt.Sprintf("nobody else is left, so that %s may be tried again", strings.Join(names, ", ")))
	return true
}

// blamed reports whether a failure is that of a worker's machine, and the worker is left out for
// it: then nobody's loss is its reason, and the run need not wait to see.
func (c *Core) blamed(r *Run, e PartFailed) bool {
	return (e.Node || e.Program) && c.unfit(e.Worker, r.Name) != nil
}

// unfit returns why a worker is not to have a part of a run now; nil if it may.
func (c *Core) unfit(name, run string) *Unfit {
	for i := range c.Unfit {
		if u := &c.Unfit[i]; u.Worker == name && (u.Run == "" || u.Run == run) && u.now() {
			return u
		}
	}
	return nil
}

// LeftOut returns what no run, or one run, is planned on for now, a sentence each.
func (s *State) LeftOut() (out []string) {
	for _, l := range s.Links {
		if l.now() {
			out = append(out, fmt.Sprintf("workers %s and %s are not planned together: they could not reach each other", l.A, l.B))
		}
	}
	for _, u := range s.Unfit {
		of := "all runs"
		if u.Run != "" {
			of = "run " + u.Run
		}
		if u.now() {
			out = append(out, fmt.Sprintf("worker %s is left out of %s: %s", u.Worker, of, u.Why))
		}
	}
	return out
}

// shuns reports whether a worker is not to take over a part of a run: it is unfit, or cannot reach
// the one that decides.
func (c *Core) shuns(r *Run, w *Worker) bool {
	l := c.link(w.Name, r.Members[r.owner()].Name)
	return c.unfit(w.Name, r.Name) != nil || l != nil && l.now()
}

// avoid leaves workers out that a run is not to be planned on, and says why. Those that a growing
// run has stay. If no worker would remain, none is left out.
func (c *Core) avoid(r *Run, free []Worker, grow bool) (out []Worker, without []string) {
	mine := func(w Worker) bool { return grow && w.Run == r.Name }
	for _, w := range free {
		if u := c.unfit(w.Name, r.Name); u != nil && !mine(w) {
			without = append(without, fmt.Sprintf("worker %s is left out: %s", w.Name, u.Why))
			continue
		}
		out = append(out, w)
	}
	if len(out) == 0 {
		return free, nil
	}
	for {
		worst, with := c.worst(out, mine)
		if worst < 0 {
			return out, without
		}
		without = append(without, fmt.Sprintf("worker %s is left out: it and worker %s cannot reach each other", out[worst].Name, with))
		out = slices.Delete(out, worst, worst+1)
	}
}

// worst returns the worker with the most bad connections among some, the last of them if there are
// several, and one of those that it cannot reach; -1 if there is none. Of those that are to stay
// there is none.
func (c *Core) worst(all []Worker, stays func(Worker) bool) (worst int, with string) {
	bad := map[int][]string{} // by worker: whom it cannot reach
	for _, l := range c.Links {
		a := slices.IndexFunc(all, func(w Worker) bool { return w.Name == l.A })
		b := slices.IndexFunc(all, func(w Worker) bool { return w.Name == l.B })
		if l.now() && a >= 0 && b >= 0 {
			bad[a], bad[b] = append(bad[a], l.B), append(bad[b], l.A)
		}
	}
	worst = -1
	for i, w := range all {
		if n := len(bad[i]); n > 0 && !stays(w) && (worst < 0 || n >= len(bad[worst])) {
			worst = i
		}
	}
	if worst >= 0 {
		with = slices.Max(bad[worst])
	}
	return worst, with
}
