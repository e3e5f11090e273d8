package project

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/compile/analyze"
)

var howFaulty = flag.Int("faults", 16, "faults with an effect that TestSeeded puts into the compiler, from -seed on")

// right holds the outcomes of a subject without a fault.
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
func measured(b *batch, list []*subject, in map[*subject]setting) map[*subject]right {
	var jobs, refs []job
	for _, s := range list {
		jobs = append(jobs, in[s].plain(s.program.name), in[s].apart(s.program.name, s))
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

// verdict says whether a fault was noticed, and by which check.
type verdict struct {
	how      string          // it was noticed
	deviates string          // it has an effect
	settings int             // in which there was something to compare with
	taken    map[string]bool // ways through the loop in those
}

// tried runs variants, each in the setting of its subject. In a test, what is wrong
// with a variant against the plain loop notices it.
func tried(b *batch, list []*variant, verdicts map[*variant]*verdict, in map[*subject]setting, test bool) {
	var jobs []job
	var from []*subject
	list = slices.DeleteFunc(slices.Clone(list), func(v *variant) bool { return in[v.subject].envs == 0 })
	for _, v := range list {
		jobs = append(jobs, in[v.subject].apart(v.program.name, v.subject))
		if !slices.Contains(from, v.subject) {
			from = append(from, v.subject)
		}
	}
	base := measured(b, from, in)
	for i, o := range b.run(jobs) {
		r, now := base[list[i].subject], verdicts[list[i]]
		if !r.sound() {
			continue
		}
		now.settings++
		for _, w := range r.plain.Taken {
			now.taken[w] = true
		}
		if why := r.wrong(1, r.plain, o, r.reference); why != "" && test {
			now.how = short(why)
		}
		if why := deviates(r.apart, o); why != "" {
			now.deviates = fmt.Sprintf("%+v: %s", in[list[i].subject], why)
		}
	}
}

// nth returns the n-th settings of subjects, of those that have so many.
func nth(all map[*subject][]setting, n int) map[*subject]setting {
	out := map[*subject]setting{}
	for s, list := range all {
		if n < len(list) {
			out[s] = list[n]
		}
	}
	return out
}

// deviates says how a run of programs with a fault differs from one without: in
// anything that it leaves or reports, or that an operation of any replica was
// given or made.
func deviates(right, o outcome) string {
	switch {
	case o.Err != "":
		return "failed: " + o.Err
	case o.Weights != right.Weights:
		return "other weights"
	case o.State != right.State:
		return "another state"
	case !slices.Equal(o.Logs, right.Logs):
		return "other logs"
	case o.Steps != right.Steps:
		return "other steps"
	case o.Fused+right.Fused == 0 && !slices.Equal(o.Traces, right.Traces):
		return "operations on other values"
	}
	return ""
}

// short returns the kind of a difference.
func short(why string) string {
	for _, x := range [][2]string{
		{"stands still", "hang"}, {"failed", "failure"}, {"weight", "other weights"}, {"record", "other logs"}, {"logs", "other logs"},
		{"array", "another state"}, {"state", "another state"}, {"operations on", "operations on other values"}, {"operations", "other operations"},
	} {
		if strings.Contains(why, x[0]) {
			return x[1]
		}
	}
	return why
}

// TestSeeded: faults that are put into the compiler's data between two passes are
// noticed: by a pass behind it, by Go's types, by ends of edges that do not meet,
// or by what the programs do.
//
// A fault has no effect if programs and graph are byte for byte the same, or if runs
// in all tests and proofs, which take many ways through branches, are the same in all
// that they leave and in all that their operations are given and make. No other rule
// excuses one.
func TestSeeded(t *testing.T) {
	f := randomFrame(t)
	r := rand.New(rand.NewPCG(*seed, 3))
	next, count := *seed*1_000_000, tally{}
	for count.effective() < *howFaulty {
		next = seeded(t, f, r, next, min(*howFaulty-count.effective(), perBuild), count)
		count.log(t)
	}
}

// perBuild limits the faults that are built into one command.
const perBuild = 170

// seeded puts n faults into the compiler, with random loops from next on.
func seeded(t *testing.T, f *analyze.Frame, r *rand.Rand, next uint64, n int, count tally) uint64 {
	var from []*subject
	for i, file := range byHand {
		s := fixture(t, f, file, i)
		s.program.steer = true
		from = append(from, subjects(s)...)
	}
	for range n / 4 {
		s, _, err := randomSpecimen(f, next)
		if next++; err == nil {
			s.program.steer = true
			from = append(from, subjects(s)...)
		}
	}
	var running []*variant
	for i := 0; i < n; {
		kind, s := r.IntN(len(faultKinds)), from[r.IntN(len(from))]
		v, how := drawn(t, f, s, kind, i, r)
		switch {
		case how == "nowhere":
			continue
		case how == "":
			running = append(running, v)
		default:
			count.add(kind, how)
		}
		if how == unnoticed {
			t.Errorf("%v: unnoticed", v)
		}
		if how != "no change" {
			i++
		}
	}
	if len(running) > 0 {
		judged(t, running, count)
	}
	return next
}

// judged runs variants until they are noticed, or known to have no effect.
func judged(t *testing.T, running []*variant, count tally) {
	var programs []program
	var from []*subject
	have, verdicts := map[string]bool{}, map[*variant]*verdict{}
	for _, v := range running {
		verdicts[v] = &verdict{taken: map[string]bool{}}
		if !slices.Contains(from, v.subject) {
			from = append(from, v.subject)
		}
		if programs = append(programs, v.program); !have[v.subject.program.name] {
			programs, have[v.subject.program.name] = append(programs, v.subject.program), true
		}
	}
	b := built(t, programs)
	tests, proofs := map[*subject][]setting{}, map[*subject][]setting{}
	known := courses(t, b, from)
	for _, s := range from {
		tests[s], proofs[s] = known[s.program.name].tests(), known[s.program.name].proofs()
	}
	for n := 0; len(nth(tests, n)) > 0; n++ {
		tried(b, running, verdicts, nth(tests, n), true)
		running = slices.DeleteFunc(running, func(v *variant) bool {
			if verdicts[v].how != "" {
				count.add(v.kind, verdicts[v].how)
			}
			return verdicts[v].how != ""
		})
	}
	for n := 0; len(nth(proofs, n)) > 0; n++ {
		tried(b, running, verdicts, nth(proofs, n), false)
	}
	for _, v := range running {
		switch now := verdicts[v]; {
		case now.deviates != "":
			count.add(v.kind, unnoticed)
			t.Errorf("%v: unnoticed (%s)\n%s", v, now.deviates, difference(v.subject.text, v.text))
		case now.settings < 4 || !known[v.subject.program.name].complete(now.taken):
			count.add(v.kind, "not judged")
		default:
			count.add(v.kind, "no effect")
			if testing.Verbose() {
				t.Logf("%v: no effect in %d settings\n%s", v, now.settings, difference(v.subject.text, v.text))
			}
		}
	}
}

const unnoticed = "UNNOTICED"

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

// effective counts the faults with an effect.
func (c tally) effective() int { n, missed, _ := c.sums("all"); return n + missed }

// sums returns how many faults of a kind were noticed, how many were not, and how
// many have no effect.
func (c tally) sums(kind string) (noticed, missed, none int) {
	for how, n := range c[kind] {
		switch how {
		case "no change", "no effect":
			none += n
		case unnoticed:
			missed += n
		case "not judged":
		default:
			noticed += n
		}
	}
	return noticed, missed, none
}

func (c tally) log(t *testing.T) {
	names := []string{}
	for _, k := range faultKinds {
		names = append(names, k.name)
	}
	for _, name := range append(names, "all") {
		noticed, missed, none := c.sums(name)
		t.Logf("%-30s %4d noticed %3d not %3d without effect  %v", name, noticed, missed, none, c[name])
	}
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
