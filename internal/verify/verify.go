// Package verify checks distributed runs of a training loop against the plain loop,
// by running both for a few iterations with the same seed. The plain loop is the
// reference: it is an ordinary Go program, and it gives the same bits every time.
//
// What is compared is what a run leaves (weights, the state of every component, what
// was logged) and what every operation was given and made. Operations are recorded
// through rl.Observer as digests. A digest of a batch is a sum over its global rows,
// so that the digests of a batch's shards add up to that of the batch.
package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Config selects the check, and its length.
type Config struct {
	// Job is a run of the loop. Its plan is not used, nor what it keeps on disk.
	Job   runner.Job
	Graph *fdg.Graph
	// Iterations of every run. 0 leaves it to the plain loop: at least 2, and on until
	// weights that were written have been used.
	Iterations int64
	// Limit is how long the plain loop may take: no iteration is begun after it, and
	// one that takes twice as long makes New fail with ErrLong. 0 is no limit.
	Limit time.Duration
	// Patience is how long a distributed run may take before it counts as one whose
	// programs wait for each other; at least 20 times as long as the plain loop.
	Patience time.Duration
	// Texts are generated files by base name, whose comments say where their lines
	// come from. Files that are not among them are read from where they were compiled.
	Texts map[string][]byte
}

// Check compares runs with the plain loop.
type Check struct {
	Config
	src        *sources
	plain      *ran
	took       time.Duration
	references map[int]*ran // k plain loops that sum their gradients, by k
	repeats    error        // difference of the plain loop from itself, once that was looked at
	repeated   bool
}

// ErrLong is why a loop is not checked whose iterations take too long.
var ErrLong error = errLong{}

// Verdict is the result of a comparison.
type Verdict struct {
	// Against says what the run was compared with.
	Against string
	// Unfit is why the policy cannot run the loop. Nothing was compared then.
	Unfit error
	// Difference is nil if the run is equal to its reference.
	Difference *Difference

	graphs []string // graphs that the run called in the place of statements, up to the difference
}

// New runs the plain loop.
func New(ctx context.Context, c Config) (*Check, error) {
	k := &Check{Config: c, src: &sources{texts: c.Texts}, references: map[int]*ran{}}
	begun := time.Now()
	var err error
	k.plain, err = k.runPlain(ctx, c.Limit)
	k.took = time.Since(begun)
	return k, err
}

// Iterated returns the number of iterations that are compared.
func (k *Check) Iterated() int64 { return k.plain.iterations }

// Under runs the loop as p says and compares it. sums is true if p adds up the
// gradients of several shards. The error is of the check itself: the plain loop does
// not repeat itself, or ctx is done.
func (k *Check) Under(ctx context.Context, p plan.Plan, sums bool) (Verdict, error) {
	if p.Async {
		return Verdict{}, errors.New("an asynchronous run is not repeatable, so there is nothing to compare it with")
	}
	by, err := k.reference(ctx, p, sums && p.Shards > 1)
	if err != nil {
		return Verdict{}, err
	}
	v := k.compare(ctx, p, by)
	if v.Difference == nil || v.Unfit != nil {
		return v, ctx.Err()
	}
	if err := errors.Join(ctx.Err(), k.repeatable(ctx)); err != nil {
		return v, err
	}
	if p.Graphs || p.Turns > 0 { // operations inside of graphs are not seen
		k.locate(ctx, p, by, &v)
	}
	return v, ctx.Err()
}

// locate looks for the first difference of v once more, with statements in the place
// of graphs and without turns.
func (k *Check) locate(ctx context.Context, p plan.Plan, by *standard, v *Verdict) {
	p.Graphs, p.Turns = false, 0
	switch again := k.compare(ctx, p, by); {
	case again.Unfit != nil:
	case again.Difference == nil:
		v.Difference.What += "; statement by statement (--no-fuse graphs, without --pipeline) the programs are right"
		if len(v.graphs) > 0 {
			v.Difference.What += ", so it is one of the graphs " + strings.Join(v.graphs, ", ")
		}
	default:
		v.Difference = again.Difference
	}
}

// repeatable runs the plain loop once more, and returns an error if it does something
// else.
func (k *Check) repeatable(ctx context.Context) error {
	if k.repeated {
		return k.repeats
	}
	again, err := k.runPlain(ctx, 0)
	if err != nil {
		return err
	}
	k.repeated = true
	by := &standard{ran: k.plain, name: "its first run"}
	if d := k.difference(by, again); d != nil {
		k.repeats = fmt.Errorf("the plain loop does not repeat itself, so nothing can be compared with it: its environment or its own code is not deterministic: %v", d)
	}
	return k.repeats
}

// standard is the run that others are compared with.
type standard struct {
	*ran
	name  string
	parts bool // it is several plain loops, whose state is only that of components
	// rounding is true where gradients are summed in another order than in the runs that
	// are compared. Weights are then compared within rounding, once they have been used
	// for an iteration, before rounding can turn an action. Operations are compared up to
	// the first gradient.
	rounding bool
}

// reference returns what a plan is to be compared with, and runs it if need be.
func (k *Check) reference(ctx context.Context, p plan.Plan, sums bool) (*standard, error) {
	switch {
	case !sums:
		return &standard{ran: k.plain, name: "the plain loop"}, nil
	case k.shared():
		return k.rounding(), nil
	}
	by, ok := k.references[p.Shards]
	if !ok {
		var err error
		if by, err = k.runSeveral(p.Shards); err != nil {
			return nil, err
		}
		k.references[p.Shards] = by
	}
	return &standard{ran: by, name: fmt.Sprintf("%d plain loops that sum their gradients", p.Shards), parts: true}, ctx.Err()
}

// rounding returns the plain loop as a standard for several learners, which round sums
// otherwise.
func (k *Check) rounding() *standard {
	return &standard{ran: k.plain, name: "the plain loop", rounding: true}
}

// shared reports whether learners share out what they draw from a memory or a data set, which
// plain loops of their own would not.
func (k *Check) shared() bool {
	for _, r := range k.Graph.Resources {
		if r.Kind == "table" || r.Kind == "data" {
			return true
		}
	}
	return false
}

// compare runs a plan and compares what it did.
func (k *Check) compare(ctx context.Context, p plan.Plan, by *standard) Verdict {
	v := Verdict{Against: by.name}
	if by.rounding {
		v.Against += ", within rounding"
	}
	got, unfit, err := k.runPlan(ctx, p)
	if unfit != nil {
		return Verdict{Unfit: unfit}
	}
	if err != nil {
		v.Difference = k.failed(by, got, err)
		return v
	}
	v.Difference = k.difference(by, got)
	if by.parts && v.Difference == nil {
		// What depends on how environments are split is so in plain loops of shards, too.
		v.Difference = k.operations(k.rounding(), got, false)
	} else if by.parts && k.difference(k.rounding(), got) == nil {
		// What plain loops cannot do as replicas do, functions of all rows for one, does
		// not make weights wrong.
		v.Difference, v.Against = nil, "the plain loop, within rounding"
	}
	v.graphs = k.graphs(got, v.Difference)
	return v
}

// graphs returns the names and places of the graphs that a run called, up to the
// iteration of its first difference.
func (k *Check) graphs(got *ran, d *Difference) (out []string) {
	for _, t := range got.traces {
		for _, r := range t.records {
			if r.kind != rl.System.FusedKind() || d != nil && d.Place != nil && r.iter >= d.Place.Iteration {
				continue
			}
			name := r.name
			if path := k.src.path(r); len(path) > 0 {
				name += " (" + path[0] + ")"
			}
			if !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

// failed returns the difference of a run that failed or stood still.
func (k *Check) failed(by *standard, got *ran, err error) *Difference {
	d := &Difference{What: err.Error()}
	var f *rl.Failure
	if errors.As(err, &f) {
		return d
	}
	if first := k.operations(by, got, true); first != nil {
		d.Place, d.Group = first.Place, first.Group
		d.What = first.What + "; then: " + d.What
	}
	return d
}

// difference returns how a run differs from its standard, or nil.
func (k *Check) difference(by *standard, got *ran) *Difference {
	var end *Difference
	switch {
	case by.rounding:
		end = compareArrays(by.early, got.early, k.Graph, by.name, rounded(k.plain.initial))
	case by.parts:
		end = compareArrays(by.arrays, got.arrays, k.Graph, by.name, equal)
	default:
		end = by.left.compare(got.left, k.Graph, by.name)
	}
	first := k.operations(by, got, end != nil)
	if first == nil {
		if end != nil && end.writer != "" {
			end.What += "; " + end.writer + " writes it"
		}
		return end
	}
	if names := reads(k.Graph, *first.Place); first.made && len(names) > 0 {
		first.What += ", with the same arguments; it reads " + strings.Join(names, ", ")
	}
	if end != nil {
		first.What += "; in the end " + end.What
	}
	return first
}

// operations returns the first operation that differs, or nil. With lost set, an
// operation that was not done counts too, unless graphs ran, which hide operations.
func (k *Check) operations(by *standard, got *ran, lost bool) *Difference {
	if len(got.traces) == 0 {
		return nil
	}
	cs := newCalls(by.traces, k.src)
	cs.bags = by.rounding
	for _, t := range got.traces {
		cs.add(t)
	}
	over := false
	first := cs.first(func(c *call) (in, out bool) {
		over = over || by.rounding && c.kind == gradKind
		return over, over
	}, by.name)
	if first != nil || !lost || got.graphs {
		return first
	}
	return cs.missing(by.name)
}
