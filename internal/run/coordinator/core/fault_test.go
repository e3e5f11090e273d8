package core

import (
	"flag"
	"slices"
	"testing"
)

var schedules = flag.Int("schedules", 2000, "fault schedules to run")

// TestFaults: whatever happens, no assignment is doubled or forgotten, no two coordinators act,
// nothing of an old epoch counts, no step is recorded twice or lost, asynchronous runs go on
// without those that they can spare, runs that grow do, and every run ends, also where two workers
// cannot reach each other and where one can keep no checkpoint. Workers that are to leave do, and
// nothing is done again because of it.
func TestFaults(t *testing.T) {
	n := *schedules
	if testing.Short() {
		n = 200
	}
	for seed := range n {
		s := newSim(uint64(seed), fault{})
		s.play()
		if len(s.wrong) > 0 {
			t.Fatalf("seed %d: %q\n%s\n%s", seed, s.wrong, s.tail(), printed(s.acting().core))
		}
	}
}

// TestPower: coordinators with a fault are found out.
func TestPower(t *testing.T) {
	without := func(drop func(Decision) bool) func([]Decision) []Decision {
		return func(all []Decision) []Decision { return slices.DeleteFunc(all, drop) }
	}
	for name, f := range map[string]fault{
		"nothing is kept":  {decide: without(func(d Decision) bool { _, ok := d.(Persist); return ok })},
		"no abort":         {decide: without(func(d Decision) bool { _, ok := d.(Abort); return ok })},
		"no halt":          {decide: without(func(d Decision) bool { _, ok := d.(Halt); return ok })},
		"no dismissal":     {decide: without(func(d Decision) bool { _, ok := d.(Dismiss); return ok })},
		"no handing over":  {event: clinging},
		"no start":         {decide: without(func(d Decision) bool { _, ok := d.(Start); return ok })},
		"no rewind":        {decide: without(func(d Decision) bool { _, ok := d.(Rewind); return ok })},
		"assigned twice":   {decide: twice},
		"kept too late":    {decide: late},
		"no loss":          {event: deaf},
		"no fence":         {event: unfenced},
		"forgets at start": {event: forgetful},
		"no time":          {event: timeless},
		"spares nobody":    {event: merciless},
		"one life":         {decide: reborn},
		"no growth":        {event: stunted},
		"split anew":       {event: split},
		"blames nobody":    {event: blameless},
		"no gap":           {event: complacent},
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range 2000 {
				s := newSim(uint64(seed), f)
				s.play()
				if len(s.wrong) > 0 {
					return
				}
			}
			t.Error("nobody noticed")
		})
	}
}

func twice(all []Decision) (out []Decision) {
	for _, d := range all {
		out = append(out, d)
		if _, ok := d.(Assign); ok {
			out = append(out, d)
		}
	}
	return out
}

// late keeps runs after what was to be done once they are kept.
func late(all []Decision) []Decision {
	slices.SortStableFunc(all, func(a, b Decision) int {
		_, x := a.(Persist)
		_, y := b.(Persist)
		switch {
		case x && !y:
			return 1
		case y && !x:
			return -1
		}
		return 0
	})
	return all
}

func deaf(_ *Core, e Event) Event {
	switch e.(type) {
	case Lost, Silent:
		return nil
	}
	return e
}

// complacent takes every record for complete.
func complacent(_ *Core, e Event) Event {
	if _, ok := e.(RecordGap); ok {
		return nil
	}
	return e
}

func timeless(_ *Core, e Event) Event {
	if _, ok := e.(Tick); ok {
		return nil
	}
	return e
}

// unfenced takes everything for a word of the present epoch.
func unfenced(c *Core, e Event) Event {
	if x, ok := e.(Committing); ok {
		if r := c.Run(x.Run); r != nil {
			if r.Phase.Active() {
				o := r.Members[r.owner()]
				x.Worker, x.Session = o.Name, o.Session
			}
			x.Epoch, x.Manifest.Epoch = r.Epoch, r.Epoch
		}
		return x
	}
	return e
}

// merciless takes all plans for synchronous ones.
func merciless(_ *Core, e Event) Event {
	if x, ok := e.(PlanMade); ok {
		x.Plan.Async = false
		return x
	}
	return e
}

// reborn hands parts out as if nobody had had them before.
func reborn(all []Decision) []Decision {
	for i, d := range all {
		if x, ok := d.(Assign); ok {
			x.Assignment.Life = 0
			all[i] = x
		}
	}
	return all
}

func forgetful(_ *Core, e Event) Event {
	if x, ok := e.(Loaded); ok {
		x.Runs = slices.Clone(x.Runs)
		for i := range x.Runs {
			x.Runs[i].Epoch = max(0, x.Runs[i].Epoch-1)
		}
		return x
	}
	return e
}
