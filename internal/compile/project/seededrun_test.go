package project

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

// setting is how programs are run.
type setting struct {
	env                      string
	envs, shards, iterations int
	fuse                     bool
}

// settings are those in which a fault is looked for: the first is that of all, the
// others of faults that were not seen there.
var settings = []setting{
	{"Identity", 4, 2, 4, false},
	{"Memory", 5, 3, 9, true}, {"Continuous", 5, 3, 12, false}, {"Endless", 6, 2, 12, true}, {"Identity", 5, 3, 12, false}, {"Memory", 4, 1, 12, false},
}

func (x setting) plain(loop string) job {
	return job{Loop: loop, Shards: 1, Procs: 1, Members: 3, Patience: 20, Env: x.env, Envs: x.envs, Iterations: x.iterations}
}

func (x setting) apart(loop string, s *subject) job {
	j := x.plain(loop)
	j.Grouping, j.Fuse, j.Shards, j.Patience = s.by.Name, x.fuse, x.shards, 5
	for i := range x.shards {
		j.Workers = append(j.Workers, i)
	}
	return j
}

// right is what a subject leaves without a fault.
type right struct {
	specimen
	plain, apart, reference outcome
}

// sound reports whether programs without a fault do what they should, so that
// something can be said of those with one.
func (x right) sound() bool {
	return x.plain.Err == "" && x.plain.Moved && x.wrong(1, x.plain, x.apart, x.reference) == ""
}

// measured runs subjects without a fault.
func measured(b *batch, list []*subject, x setting) map[*subject]right {
	var jobs, refs []job
	for _, s := range list {
		jobs = append(jobs, x.plain(s.program.name), x.apart(s.program.name, s))
	}
	got := b.run(jobs)
	out := map[*subject]right{}
	for i, s := range list {
		r := right{specimen{source: s.source, summed: []bool{s.summed}, jobs: jobs[2*i : 2*i+2]}, got[2*i], got[2*i+1], outcome{}}
		if out[s] = r; r.learners(1) {
			j := r.jobs[1]
			j.Reference = max(1, r.plain.Steps)
			refs = append(refs, j)
		}
	}
	met := b.run(refs)
	for _, s := range list {
		if r := out[s]; r.learners(1) {
			r.reference, met = met[0], met[1:]
			out[s] = r
		}
	}
	return out
}

// verdict is what became of a fault: how it was noticed, or that it changes nothing.
type verdict struct {
	how      string
	deviates string // how it differs from the programs without it, unnoticed
	replicas int    // the most with which there was something to compare with
}

// tried runs variants in a setting, and gives those a verdict that were noticed.
func tried(b *batch, list []*variant, verdicts map[*variant]verdict, x setting) {
	var jobs []job
	var subjects []*subject
	for _, v := range list {
		jobs = append(jobs, x.apart(v.program.name, v.subject))
		if !slices.Contains(subjects, v.subject) {
			subjects = append(subjects, v.subject)
		}
	}
	base := measured(b, subjects, x)
	for i, o := range b.run(jobs) {
		v := list[i]
		r, now := base[v.subject], verdicts[v]
		if !r.sound() {
			continue
		}
		now.replicas = max(now.replicas, x.shards)
		if why := r.wrong(1, r.plain, o, r.reference); why != "" {
			now.how = short(why)
		} else if why := differs(r.apart, o, true); why != "" {
			now.deviates = why
		}
		verdicts[v] = now
	}
}

// short is the kind of a difference.
func short(why string) string {
	switch {
	case strings.Contains(why, "stands still"):
		return "hang"
	case strings.HasPrefix(why, "failed"):
		return "failure"
	case strings.HasPrefix(why, "weight "):
		return "other weights"
	case strings.Contains(why, "record"):
		return "other logs"
	case strings.HasSuffix(why, "reference"):
		return "other weights"
	}
	return why
}

// TestSeeded: faults that are put into the compiler's data between two passes are
// noticed: by a pass behind it, by Go's types, by ends of edges that do not meet,
// or by what the programs leave.
func TestSeeded(t *testing.T) {
	f := randomFrame(t)
	r := rand.New(rand.NewPCG(*seed, 3))
	next, count := *seed*1_000_000, tally{}
	for count.noticed() < *howFaulty && !t.Failed() {
		next = seeded(t, f, r, next, min(*howFaulty-count.noticed(), perBuild), count)
	}
	count.log(t)
}

// perBuild is how many faults are built into one command.
const perBuild = 150

// seeded puts n faults into the compiler, with random loops from next on.
func seeded(t *testing.T, f *analyze.Frame, r *rand.Rand, next uint64, n int, count tally) uint64 {
	var from []*subject
	for i, file := range byHand {
		from = append(from, subjects(fixture(t, f, file, i))...)
	}
	for range n / 4 {
		s, _, err := randomSpecimen(f, next)
		if next++; err == nil {
			from = append(from, subjects(s)...)
		}
	}
	var running []*variant
	for i := 0; i < n; {
		kind, s := r.IntN(len(faultKinds)), from[r.IntN(len(from))]
		v, how := drawn(t, f, s, kind, i, r)
		if how == "nowhere" || how == "no fault" {
			count.add(kind, how)
			continue
		}
		if i++; how != "" {
			count.add(kind, how)
			continue
		}
		running = append(running, v)
	}
	judged(t, f, running, count)
	return next
}

// judged runs variants until they are noticed.
func judged(t *testing.T, f *analyze.Frame, running []*variant, count tally) {
	var programs []program
	have := map[string]bool{}
	for _, v := range running {
		if programs = append(programs, v.program); !have[v.subject.program.name] {
			programs, have[v.subject.program.name] = append(programs, v.subject.program), true
		}
	}
	b, verdicts := built(t, programs), map[*variant]verdict{}
	for _, x := range settings {
		tried(b, running, verdicts, x)
		running = slices.DeleteFunc(running, func(v *variant) bool {
			if verdicts[v].how != "" {
				count.add(v.kind, verdicts[v].how)
			}
			return verdicts[v].how != ""
		})
	}
	rules := harmless(t, f, running)
	for _, v := range running {
		if verdicts[v].replicas < 2 {
			count.add(v.kind, "nothing to compare with")
			continue
		}
		if rule := rules[v]; rule != "" && verdicts[v].deviates == "" {
			count.add(v.kind, "no effect: "+rule)
			continue
		}
		count.add(v.kind, "unnoticed")
		t.Errorf("%v: unnoticed (%s)\n%s", v, verdicts[v].deviates, difference(v.subject.text, v.text))
	}
}

// tally counts verdicts by kind of fault.
type tally map[string]map[string]int

func (c tally) add(kind int, how string) {
	for _, name := range []string{faultKinds[kind].name, "all"} {
		if c[name] == nil {
			c[name] = map[string]int{}
		}
		c[name][how]++
	}
}

// noticed counts the faults that were, by whatever.
func (c tally) noticed() (n int) {
	for how, k := range c["all"] {
		if how != "nowhere" && how != "no fault" && how != "unnoticed" && how != "nothing to compare with" && !strings.HasPrefix(how, "no effect") {
			n += k
		}
	}
	return n
}

func (c tally) log(t *testing.T) {
	for _, k := range faultKinds {
		t.Logf("%-30s %v", k.name, c[k.name])
	}
	t.Logf("%-30s %v", "all", c["all"])
	t.Logf("%d faults were noticed, %d were not", c.noticed(), c["all"]["unnoticed"])
}

// difference shows the lines in which two texts differ.
func difference(a, b []byte) string {
	x, y := strings.Split(string(a), "\n"), strings.Split(string(b), "\n")
	for len(x) > 0 && len(y) > 0 && x[0] == y[0] {
		x, y = x[1:], y[1:]
	}
	for len(x) > 0 && len(y) > 0 && x[len(x)-1] == y[len(y)-1] {
		x, y = x[:len(x)-1], y[:len(y)-1]
	}
	return fmt.Sprintf("was\n%s\nis\n%s", strings.Join(x[:min(len(x), 12)], "\n"), strings.Join(y[:min(len(y), 12)], "\n"))
}
