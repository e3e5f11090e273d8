package project

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// setting says how programs are run.
type setting struct {
	env                      string
	envs, shards, iterations int
	fuse                     bool
	seed                     uint64
	turned                   []uint64 // lines of the source whose ifs are inverted
}

// usual are settings in which loops go as they were written.
var usual = []setting{
	{env: "Identity", envs: 4, shards: 2, iterations: 4}, {env: "Memory", envs: 5, shards: 3, iterations: 9, fuse: true},
	{env: "Continuous", envs: 5, shards: 3, iterations: 12}, {env: "Endless", envs: 6, shards: 2, iterations: 12},
	{env: "Identity", envs: 4, shards: 1, iterations: 7},
}

// drawnSettings draws settings that invert each of a loop's ifs with a chance of a
// third.
func drawnSettings(r *rand.Rand, lines []uint64, n int) (out []setting) {
	for range n {
		x := setting{[]string{"Identity", "Continuous", "Memory", "Endless"}[r.IntN(4)], 3 + r.IntN(4), 1 + r.IntN(3), 6 + r.IntN(8), r.IntN(6) == 0, r.Uint64(), nil}
		for _, l := range lines {
			if r.IntN(3) == 0 {
				x.turned = append(x.turned, l)
			}
		}
		out = append(out, x)
	}
	return out
}

// plain returns the job of a loop as it was written.
func (x setting) plain(loop string) job {
	return job{Loop: loop, Shards: 1, Procs: 1, Members: 3, Patience: 4, Env: x.env, Envs: x.envs, Iterations: x.iterations, Seed: x.seed, Turned: x.turned}
}

// apart returns the job of a subject's programs.
func (x setting) apart(name string, s *subject) job {
	j := x.plain(name)
	j.Grouping, j.Fuse, j.Shards, j.Patience = s.by.Name, x.fuse, x.shards, 5
	for i := range x.shards {
		j.Workers = append(j.Workers, i)
	}
	return j
}

// course holds the settings that are known of one loop, with the ways through its
// branches that its plain runs took in them.
type course struct {
	name  string
	forks forks
	went  []went
	taken map[string]bool
	tried map[string]int // how often a run was to take a way and did not, or was of no use
}

type went struct {
	setting
	taken []string
}

// chances is how many settings are tried for one way through a branch.
const chances = 4

// courses returns settings for loops such that each way through each of their
// branches is taken in one of them. It looks at the ways that runs take: where an if
// is reached and one of its ways was never seen, the next run is that one with the
// if inverted.
func courses(t testing.TB, b *batch, list []*subject) map[string]*course {
	out, order := map[string]*course{}, []*course{}
	for _, s := range list {
		if name := s.program.name; out[name] == nil {
			out[name] = &course{name: name, forks: branches(t, s.source), taken: map[string]bool{}, tried: map[string]int{}}
			order = append(order, out[name])
		}
	}
	next := map[*course][]setting{}
	for _, c := range order {
		next[c] = usual
	}
	for len(next) > 0 {
		var jobs []job
		for _, c := range order {
			for _, x := range next[c] {
				jobs = append(jobs, x.plain(c.name))
			}
		}
		got := b.run(jobs)
		for _, c := range order {
			for _, x := range next[c] {
				c.note(x, got[0])
				got = got[1:]
			}
			if next[c] = c.missing(); len(next[c]) == 0 {
				delete(next, c)
			}
		}
	}
	return out
}

// note keeps a setting if its run took a way that no other took.
func (c *course) note(x setting, o outcome) {
	if o.Err != "" || !o.Moved || len(c.untaken(o.Taken)) == 0 {
		return
	}
	c.went = append(c.went, went{x, o.Taken})
	for _, w := range o.Taken {
		c.taken[w] = true
	}
}

// untaken returns those of some ways that no run took.
func (c *course) untaken(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(w string) bool { return c.taken[w] })
}

// complete reports whether ways are all that there are.
func (c *course) complete(taken map[string]bool) bool {
	return !slices.ContainsFunc(c.forks.all(), func(w string) bool { return !taken[w] })
}

// missing returns settings that should take the ways which no run took.
func (c *course) missing() (out []setting) {
	opposite := map[string]string{"true": "false", "false": "true"}
	for _, w := range c.untaken(c.forks.all()) {
		at, which, _ := strings.Cut(w, " ")
		line, _ := strconv.ParseUint(at, 10, 64)
		var from []went
		for _, x := range c.went {
			if slices.Contains(x.taken, at+" "+opposite[which]) {
				from = append(from, x)
			}
		}
		n := c.tried[w]
		if len(from) == 0 || n >= chances {
			continue
		}
		c.tried[w]++
		x := from[n%len(from)].setting
		x.shards, x.fuse, x.seed = 2+n%2, false, x.seed+uint64(n)
		x.turned = toggled(x.turned, line)
		out = append(out, x)
	}
	return out
}

// toggled returns a set of lines with one more, or without it.
func toggled(set []uint64, line uint64) []uint64 {
	if i := slices.Index(set, line); i >= 0 {
		return slices.Delete(slices.Clone(set), i, i+1)
	}
	return append(slices.Clone(set), line)
}

// tests returns the settings in which the suite looks for a fault, one after the other
// until it is noticed: the usual ones, those that take every way through the loop, and
// some that invert several ifs.
func (c *course) tests() []setting {
	return append(c.covering(), drawnSettings(rand.New(rand.NewPCG(1, 4)), c.forks.lines(), 20)...)
}

// covering returns the usual settings and those that take every way.
func (c *course) covering() []setting {
	out := slices.Clone(usual)
	for _, x := range c.went {
		if len(x.turned) > 0 {
			out = append(out, x.setting)
		}
	}
	return out
}

// proofs returns the settings by which a fault that no test noticed is shown to have
// no effect. No test uses them.
func (c *course) proofs() []setting {
	r := rand.New(rand.NewPCG(*seed, 5))
	out := drawnSettings(r, c.forks.lines(), 18)
	for i, l := range c.forks.lines() {
		if i < 8 {
			out[i].turned = []uint64{l}
		}
	}
	return out
}

// TestWays: the settings of courses take every way through the loops that faults are
// put into, in runs that can be compared: programs without a fault do there what the
// plain loop does.
func TestWays(t *testing.T) {
	f := randomFrame(t)
	var from []*subject
	var programs []program
	add := func(s specimen) {
		s.program.steer = true
		from, programs = append(from, subjects(s)...), append(programs, s.program)
	}
	for i, file := range byHand {
		add(fixture(t, f, file, i))
	}
	for next := *seed * 1_000_000; len(programs) < len(byHand)+2; next++ {
		if s, _, err := randomSpecimen(f, next); err == nil {
			add(s)
		}
	}
	b := built(t, programs)
	known, taken := courses(t, b, from), map[*subject][]string{}
	all := map[*subject][]setting{}
	for _, s := range from {
		all[s] = known[s.program.name].covering()
	}
	for n := 0; len(nth(all, n)) > 0; n++ {
		in := nth(all, n)
		for s, r := range measured(b, slices.DeleteFunc(slices.Clone(from), func(s *subject) bool { return in[s].envs == 0 }), in) {
			if r.sound() {
				taken[s] = append(taken[s], r.plain.Taken...)
			}
		}
	}
	count := 0
	for _, s := range from {
		for _, w := range known[s.program.name].forks.all() {
			if count++; !slices.Contains(taken[s], w) {
				t.Errorf("%s under %s: no setting takes %s", s.program.name, s.by.Name, w)
			}
		}
	}
	t.Logf("%d ways through the branches of %d loops under %d groupings", count, len(programs), len(from))
}
