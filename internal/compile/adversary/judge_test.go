package adversary

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/compile/adversary/testdata/src/job"
)

// near is how far weights of several learners, whose gradients are summed in parts,
// may be from those of one.
const near = 1e-5

// result is a specimen with what its runs left.
type result struct {
	specimen
	trials  []trial
	got     []job.Outcome
	meeting map[int]job.Outcome // by trial: loops that meet at gradients
	still   bool                // its weights never move, so that it says little
}

// examined builds and runs the specimens that were accepted.
func examined(t testing.TB, list []specimen) (out []result) {
	var programs []program
	var jobs []job.Job
	for _, s := range list {
		r := result{specimen: s, meeting: map[int]job.Outcome{}}
		if s.verdict == accepted {
			programs = append(programs, s.program)
			r.trials = s.trials()
			for _, x := range r.trials {
				jobs = append(jobs, x.job)
			}
		}
		out = append(out, r)
	}
	if len(programs) == 0 {
		return out
	}
	began := time.Now()
	b := built(t, programs)
	t.Logf("%d loops built in %v", len(programs), time.Since(began).Round(time.Millisecond))
	began = time.Now()
	got := b.run(jobs)
	t.Logf("%d runs in %v", len(jobs), time.Since(began).Round(time.Millisecond))
	for i := range out {
		n := len(out[i].trials)
		out[i].got, got = got[:n], got[n:]
		if n > 0 {
			out[i].still = out[i].got[0].Err == "" && !out[i].got[0].Moved
		}
	}
	met(b, out)
	return out
}

// met runs, for every run of several learners, plain loops that meet at gradients.
func met(b *binary, list []result) {
	var jobs []job.Job
	each := func(f func(r *result, i int)) {
		for k := range list {
			for i, x := range list[k].trials {
				plain := list[k].got[x.plain]
				if !x.exact && plain.Err == "" && list[k].got[i].Err == "" && plain.Steps >= x.job.Budget && list[k].comparable() {
					f(&list[k], i)
				}
			}
		}
	}
	each(func(r *result, i int) {
		j := r.trials[i].job
		j.Learners, j.Legs = j.Legs[0].Workers, nil
		jobs = append(jobs, j)
	})
	got := b.run(jobs)
	each(func(r *result, i int) { r.meeting[i], got = got[0], got[1:] })
}

// comparable reports whether plain loops that meet at gradients can run the loop.
// They have no tables, and see the rows of environments, not of minibatches, when
// statistics are updated. Each sees its own rows alone where a loop asks for their
// number, draws with a key of its own or has a second environment, and all share
// the package's variables.
func (s *specimen) comparable() bool {
	for _, c := range []class{hidden, keys, replicas, second} {
		if slices.Contains(s.classes(), c) {
			return false
		}
	}
	has := func(text string) bool { return strings.Contains(string(s.source), text) }
	return !has("t.Replay") && !(has("replay.Take(") && has("t.Seen.Update(")) && !has("t.Tally") && !has("t.Memo") && !slices.Contains(s.classes(), undeclared)
}

// fault describes how a loop went wrong.
type fault struct {
	text  string
	twice bool // nothing but that two edges have one name
}

// wrong returns what is wrong with a loop's runs, or with its compilation.
func (r *result) wrong() (f fault) {
	if r.verdict == failed {
		return fault{text: "compiler: " + r.why}
	}
	for i, x := range r.trials {
		where := fmt.Sprintf("%v flag %v kind %d envs %d %s: ", x.job.Legs, x.job.Config.Flag, x.job.Config.Kind, x.job.Config.Envs, x.job.Env)
		if why := r.judge(i); why != "" {
			return fault{text: where + why}
		}
		if twice := r.got[i].Twice; twice != "" && f.text == "" {
			f = fault{where + fmt.Sprintf("value name %q occurs twice", twice), true}
		}
	}
	return f
}

// broken returns why the plain loop fails, which makes the generator wrong. A loop
// with a component aside may be refused when it begins.
func (r *result) broken() string {
	if slices.Contains(r.classes(), aside) {
		return ""
	}
	for i, x := range r.trials {
		if i == x.plain && r.got[i].Err != "" {
			return r.got[i].Err
		}
	}
	return ""
}

// judge returns what is wrong with one run, or "".
func (r *result) judge(i int) string {
	x, o := r.trials[i], r.got[i]
	plain := r.got[x.plain]
	switch {
	case plain.Err != "" || o.Unfit || crossed(o.Err):
		return ""
	case o.Err != "":
		return "fails: " + o.Err
	case i == x.plain && o.Kept != o.State:
		return "the plain loop ends in another state than that of its last cut, which is kept"
	case x.exact:
		return differs(plain, o)
	}
	if why := r.far(plain, o); why != "" {
		return why
	}
	if m, ok := r.meeting[i]; ok {
		switch {
		case m.Err != "":
			return "the reference fails: " + m.Err
		case m.Weights != o.Weights:
			return "other weights than those of the reference"
		}
	}
	return ""
}

// crossed reports whether a run ended because a graph function's rows look at each
// other, which is seen when it is first called on a part of them.
func crossed(err string) bool {
	return strings.Contains(err, "looks across rows") || strings.Contains(err, "was made of this replica's rows alone")
}

// differs compares bits.
func differs(plain, o job.Outcome) string {
	switch {
	case o.Weights != plain.Weights:
		return "other weights"
	case o.State != plain.State:
		return "another state"
	case !slices.Equal(o.Logs, plain.Logs):
		return "other logs: " + firstDifference(plain.Logs, o.Logs)
	case o.Steps != plain.Steps || o.Iter != plain.Iter:
		return fmt.Sprintf("%d steps and %d iterations, not %d and %d", o.Steps, o.Iter, plain.Steps, plain.Iter)
	}
	return ""
}

func firstDifference(want, got []string) string {
	for i := range min(len(want), len(got)) {
		if want[i] != got[i] {
			return fmt.Sprintf("%q, not %q", got[i], want[i])
		}
	}
	return fmt.Sprintf("%d lines, not %d", len(got), len(want))
}

// far compares weights within rounding, and counts. Rounding grows where a batch is
// standardised.
func (r *result) far(plain, o job.Outcome) string {
	if o.Steps != plain.Steps || o.Iter != plain.Iter || len(o.Values) != len(plain.Values) {
		return fmt.Sprintf("%d steps and %d iterations, not %d and %d", o.Steps, o.Iter, plain.Steps, plain.Iter)
	}
	if strings.Contains(string(r.source), "rl.Standardise(") {
		return ""
	}
	for i, x := range o.Values {
		if math.Abs(x-plain.Values[i]) > near {
			return fmt.Sprintf("weight %d is %g, not %g", i, x, plain.Values[i])
		}
	}
	return ""
}
