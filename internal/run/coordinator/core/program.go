package core

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/run/part"
)

// Workers of several programs may be members side by side, as while they are upgraded one after
// another. A run is planned on workers of one program alone. It stays with the program that it had
// for as long as there are workers of it, since another one may compute something else.

// A run may bring programs along, one for each platform. Then workers of that platform carry it
// out, whatever their own program is, and the rest is the same.

// program returns the program that a worker would carry a run out with; false if it cannot.
func (r *Run) program(w Worker) (hash string, ok bool) {
	if len(r.Programs) == 0 {
		return w.Binary, true
	}
	p := part.ProgramFor(r.Programs, w.Platform)
	if p == nil || w.Guest == "" {
		return "", false
	}
	return p.SHA256, true
}

// hasProgram reports whether a worker carries the run out with the program that the run has now.
func (r *Run) hasProgram(w Worker) bool {
	hash, ok := r.program(w)
	return ok && hash == r.Program
}

// brought returns the program of an epoch that the run brought; nil if it is the workers' own.
func (r *Run) brought() *part.Program {
	i := slices.IndexFunc(r.Programs, func(p part.Program) bool { return p.SHA256 == r.Program })
	if i < 0 {
		return nil
	}
	p := r.Programs[i]
	return &p
}

// programs returns the programs that a run may be planned on, in the order in which they are tried:
// the one that it had, then those of most workers that are fit for it. A run that lost its workers
// waits for others of its program for a while before it moves.
func (c *Core) programs(r *Run, free []Worker, grow bool) (out []string) {
	if grow {
		return []string{r.Program}
	}
	count, newest := map[string]int{}, map[string]int64{}
	for _, w := range free {
		p, ok := r.program(w)
		if !ok {
			continue
		}
		if count[p] += 0; c.unfit(w.Name, r.Name) == nil {
			count[p]++
		}
		newest[p] = max(newest[p], w.Session)
	}
	fit, there := count[r.Program]
	may := c.Now >= r.Moves || len(r.Programs) > 0 && there && fit == 0 // then it need not wait for them
	for p := range count {
		if p == r.Program || r.Program == "" || may && !slices.Contains(r.Refused, p) {
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

// platforms returns the platforms that a run brought programs for.
func (r *Run) platforms() string {
	var out []string
	for _, p := range r.Programs {
		out = append(out, p.Platform)
	}
	return strings.Join(out, ", ")
}

// bringing says which programs a run brings; empty if it brings none.
func (r *Run) bringing() string {
	var out []string
	for _, p := range r.Programs {
		out = append(out, p.String())
	}
	if len(out) == 0 {
		return ""
	}
	return ", with its own program " + strings.Join(out, ", ")
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
	if r.Phase != Starting || r.Before == "" || e.Peer || e.Node || e.Program {
		return false
	}
	bad := r.Program
	r.Refused = append(slices.Clip(r.Refused), bad)
	r.Refused = r.Refused[max(0, len(r.Refused)-refused):]
	r.Program, r.Before = r.Before, ""
	c.restart(r, fmt.Sprintf("program %.12s cannot run it (%s)", bad, e))
	return true
}
