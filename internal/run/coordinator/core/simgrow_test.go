package core

import "slices"

// grows checks that a run which grows with its cluster takes workers in that are free, and
// that the environments of any other stay split as they were.
func (s *sim) grows(c *coord, before, now Run) {
	most, ok := s.most[now.Name]
	if !ok {
		if before.Shards > 0 && now.Shards != before.Shards {
			s.complain("%s has %d shards, and had %d", now.Name, now.Shards, before.Shards)
		}
		return
	}
	if now.Phase.Active() && now.Shards != min(most, len(now.Members)) {
		s.complain("%s has %d shards on %d workers", now.Name, now.Shards, len(now.Members))
	}
	idle := slices.ContainsFunc(c.core.Workers, func(w Worker) bool { return w.Run == "" && !w.Silent && !w.Draining && w.Binary == now.Program })
	switch {
	case s.round < s.calm || !idle || now.Epoch != before.Epoch || now.Phase != Running || len(now.Members) >= most || !now.whole() || now.Halting || now.Handing || c.core.waiting() > 0 || avoids(c.core):
		s.small[now.Name] = 0
	case now.step() > before.step():
		if s.small[now.Name]++; s.small[now.Name] > 3 {
			s.complain("%s has %d workers of the %d that it may have, and others are free", now.Name, len(now.Members), most)
		}
	}
}

// stunted has no run grow.
func stunted(c *Core, e Event) Event {
	if x, ok := e.(PlanMade); ok && c.Asking != nil && c.Asking.Grow {
		return PlanFailed{Asked: x.Asked, Why: "no", Short: true}
	}
	return e
}

// split has every run's environments split anew.
func split(_ *Core, e Event) Event {
	if x, ok := e.(PlanMade); ok {
		x.Plan.Shards++
		return x
	}
	return e
}
