package core

import (
	"cmp"
	"fmt"
	"slices"
)

// Workers of several programs may be members side by side, as while they are upgraded one after
// another. A run is planned on workers of one program alone. It stays with the program that it had
// for as long as there are workers of it, since another one may compute something else.

// programs returns the programs that a run may be planned on, in the order in which they are tried:
// the one that it had, then those of most workers that are fit for it. A run that lost its workers
// waits for others of its program for a while before it moves.
func (c *Core) programs(r *Run, free []Worker, grow bool) (out []string) {
	if grow {
		return []string{r.Program}
	}
	count, newest := map[string]int{}, map[string]int64{}
	for _, w := range free {
		if count[w.Binary] += 0; c.unfit(w.Name, r.Name) == nil {
			count[w.Binary]++
		}
		newest[w.Binary] = max(newest[w.Binary], w.Session)
	}
	for p := range count {
		if p == r.Program || r.Program == "" || c.Now >= r.Moves && !slices.Contains(r.Refused, p) {
			out = append(out, p)
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		switch {
		case a == r.Program && count[a] > 0:
			return -1
		case b == r.Program && count[b] > 0:
			return 1
		}
		return cmp.Or(count[b]-count[a], cmp.Compare(newest[b], newest[a]))
	})
	return out
}

// untried returns the programs on which planning has not failed since workers last changed; all, if
// it failed on each.
func (c *Core) untried(r *Run, programs []string) []string {
	if r.VainAt != c.Members {
		r.Vain = nil
	}
	left := slices.DeleteFunc(slices.Clone(programs), func(p string) bool { return slices.Contains(r.Vain, p) })
	if len(left) == 0 {
		r.Vain = nil
		return programs
	}
	return left
}

// other notes that a run cannot be planned on the workers of a program, and reports whether those
// of another are to be tried.
func (c *Core) other(r *Run, program string) bool {
	if r.VainAt != c.Members {
		r.Vain, r.VainAt = nil, c.Members
	}
	r.Vain = append(slices.Clip(r.Vain), program)
	return slices.ContainsFunc(c.programs(r, c.available(r, false), false), func(p string) bool { return !slices.Contains(r.Vain, p) })
}

// move notes the program of a run's new epoch, and tells if it is another one.
func (c *Core) move(r *Run, program string) {
	r.Before = ""
	if r.Program != "" && r.Program != program {
		r.Before = r.Program
		c.tell(r, fmt.Sprintf("it moves from program %.12s to program %.12s", r.Program, program))
	}
	r.Program = program
}

// refused is the most programs that are remembered to have refused a run.
const refused = 8

// moveBack has a run that was moved to a program which cannot build it wait for the one that it had
// before; false if it was not.
func (c *Core) moveBack(r *Run, e PartFailed) bool {
	if r.Phase != Starting || r.Before == "" || e.Peer || e.Node {
		return false
	}
	bad := r.Program
	r.Refused = append(slices.Clip(r.Refused), bad)
	r.Refused = r.Refused[max(0, len(r.Refused)-refused):]
	r.Program, r.Before = r.Before, ""
	c.restart(r, fmt.Sprintf("program %.12s cannot run it (%s)", bad, e))
	return true
}
