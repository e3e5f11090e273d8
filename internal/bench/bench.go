// Package bench holds the project's own benchmarks: the same work done by Weft and, where they are
// installed, by the libraries that a user would pick instead. Machines are noisy, so contenders
// take turns, round by round, and what counts is the ratio of what was measured side by side.
package bench

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// Benchmark lists cases and the contenders that run them.
type Benchmark struct {
	Name string
	Doc  string // one line

	names      []string // names of all contenders, present or not
	cases      func(quick bool) []Case
	contenders func(context.Context, Options) (field, error)
	turn       turn
	heading    string                // title of the summary, if the benchmark has one of its own
	summary    func([]Result) string // of a case
	tables     []Benchmark           // further tables, by name
	precisions bool                  // it has rows of them
}

// Table returns the benchmark's table of a name; the empty name is the benchmark itself.
func (b Benchmark) Table(name string) (Benchmark, error) {
	if name == "" {
		return b, nil
	}
	var names []string
	for _, t := range b.tables {
		if t.Name == name {
			t.Name = b.Name + " " + name
			return t, nil
		}
		names = append(names, t.Name)
	}
	if len(names) == 0 {
		return b, fmt.Errorf("--table: benchmark %s has one table", b.Name)
	}
	return b, fmt.Errorf("--table: %s has no table %q: there are %s", b.Name, name, strings.Join(names, ", "))
}

// turn is the length of a contender's turn, in full and with --quick.
type turn struct{ full, quick time.Duration }

func (t turn) of(o Options) time.Duration {
	if o.Quick {
		return t.quick
	}
	return t.full
}

// All lists the benchmarks, in the order in which users see them.
var All = []Benchmark{Engine, PPO, OffPolicy, Env, Policies, GPU, Edges, Checkpoint, Planner, Serve, Ray}

// Case is one piece of work.
type Case struct {
	ID    string  // short, for patterns and benchmark names
	Title string  // for people
	Work  float64 // work of one call, in Unit's numerator
	Unit  string  // of the rate: "GFLOP/s", "steps/s"
	Spec  any     // specification for the contenders; those in Python get it as JSON
}

// Options select the cases and contenders of a benchmark, and give it what it runs.
type Options struct {
	Python     string         // the interpreter whose packages are the peers
	Count      int            // rounds; 0 is as many as the benchmark needs
	Quick      bool           // smaller cases, shorter turns
	Match      *regexp.Regexp // cases by ID; nil is all
	Only       []string       // contenders by name; empty is all
	Limit      time.Duration  // time limit of a contender for a case of GPU's tables; 0 is none
	Train      TrainFunc      // trains with Weft; PPO needs it
	Env        EnvFunc        // makes environments of Weft; Env needs it
	Policy     PolicyFunc     // trains with Weft under a policy; Policies needs it
	Device     DeviceFunc     // trains with Weft as one device program; GPU needs it
	Loop       LoopFunc       // trains any loop with Weft; OffPolicy and GPU's tables need it
	On         string         // that device's name
	Precisions []string       // precisions of that device, one contender each; GPU knows which if there are none
	Whole      WholeFunc      // trains with Weft in processes of their own; Checkpoint and Policies need it
}

func (o Options) count() int {
	switch {
	case o.Count > 0:
		return o.Count
	case o.Quick:
		return 3
	}
	return 5
}

// wants reports whether a contender takes part.
func (o Options) wants(name string) bool {
	return len(o.Only) == 0 || slices.Contains(o.Only, name)
}

// Absence names a contender that is not installed, and says what to do about it.
type Absence struct {
	Name    string `json:"contender"`
	Why     string `json:"why"`
	Install string `json:"install"` // what to do about it
}

// field lists the contenders that take part.
type field struct {
	present []Contender
	absent  []Absence
	close   func() error
}

// Reporter receives the results of a benchmark as they are measured.
type Reporter interface {
	Begin(b Benchmark, present []Label, absent []Absence)
	Case(c Case, results []Result)
	End(all []CaseResults)
}

// CaseResults are the results of one case, in the contenders' order.
type CaseResults struct {
	Case    Case
	Results []Result
}

// Check returns an error if the options do not fit the benchmark. It starts nothing.
func (b Benchmark) Check(o Options) error {
	if b.Name == "" {
		return nil
	}
	var errs []error
	if len(b.chosen(o)) == 0 {
		errs = append(errs, fmt.Errorf("no case of %s matches %s: there are %s", b.Name, o.Match, strings.Join(b.IDs(o.Quick), ", ")))
	}
	for _, name := range o.Only {
		if !slices.Contains(b.names, name) {
			errs = append(errs, fmt.Errorf("%s has no contender %q: there are %s", b.Name, name, strings.Join(b.names, ", ")))
		}
	}
	if len(o.Precisions) > 0 && !b.precisions {
		errs = append(errs, fmt.Errorf("--precision: %s has no rows of precisions, gpu has; a device may come with one, as in --device cuda+tf32", b.Name))
	}
	if b.precisions {
		errs = append(errs, o.checkPrecisions())
	}
	return errors.Join(errs...)
}

func (b Benchmark) chosen(o Options) []Case {
	return slices.DeleteFunc(b.cases(o.Quick), func(c Case) bool { return o.Match != nil && !o.Match.MatchString(c.ID) })
}

// Chosen returns the cases that options select.
func (b Benchmark) Chosen(o Options) []Case { return b.chosen(o) }

// Run runs a benchmark.
func Run(ctx context.Context, b Benchmark, o Options, r Reporter) (err error) {
	if err := b.Check(o); err != nil {
		return err
	}
	f, err := b.contenders(ctx, o)
	if err != nil {
		return err
	}
	defer func() {
		if e := f.close(); err == nil {
			err = e
		}
	}()
	r.Begin(b, labels(f.present), f.absent)
	var all []CaseResults
	for _, c := range b.chosen(o) {
		results := measure(ctx, c, f.present, o.count(), b.turn.of(o))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		r.Case(c, results)
		all = append(all, CaseResults{c, results})
	}
	r.End(all)
	return nil
}

// IDs returns the cases' short names.
func (b Benchmark) IDs(quick bool) (out []string) {
	for _, c := range b.cases(quick) {
		out = append(out, c.ID)
	}
	return out
}

func labels(cs []Contender) (out []Label) {
	for _, c := range cs {
		out = append(out, c.Label())
	}
	return out
}
