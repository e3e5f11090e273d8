package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gomlx/compute/dtypes"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/verify/reference"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// ran records what was seen of a run.
type ran struct {
	left
	traces            []*trace
	iterations, steps int64
	earlyAt           int64 // iterations at which early was taken; 0 if nothing was applied
	graphs            bool  // statements were called as graphs, whose operations are not seen
	ended             bool  // the run ended by itself
}

// observe adds a trace.
func (r *ran) observe(group string, rank int) rl.Observer {
	t := &trace{group: group, rank: rank}
	r.traces = append(r.traces, t)
	return t
}

// cut keeps what an iteration logged.
func (r *ran) cut(c rl.Cut) {
	if c.Iter > r.iterations {
		r.logs = append(r.logs, c.Logs)
		r.iterations, r.steps = c.Iter, c.Steps
	}
}

// job returns the run to be observed, without evaluations and files.
func (k *Check) job(p *runner.Probe) runner.Job {
	j := k.Job
	j.Dir, j.Resume, j.From, j.Part, j.Watch = "", false, "", nil, nil
	j.EvalEvery, j.EvalEpisodes, j.Plan, j.Probe = 0, 0, nil, p
	return j
}

// runPlain runs the plain loop: for as many iterations as before, once it has run.
func (k *Check) runPlain(ctx context.Context, limit time.Duration) (*ran, error) {
	r := &ran{}
	begun := time.Now()
	var watch *trace
	p := &runner.Probe{State: func(s []checkpoint.Array) { r.arrays = s }}
	p.Observe = func(group string, rank int) rl.Observer {
		watch = r.observe(group, rank).(*trace)
		if limit > 0 {
			watch.deadline = begun.Add(2 * limit)
		}
		return watch
	}
	r.ended = true
	p.Cut = func(c rl.Cut) error {
		switch used := watch.applied + 1; {
		case c.Iter == 0:
			r.initial = parameters(c.Run.Scope())
		case watch.applied > 0 && c.Iter <= used:
			r.early, r.earlyAt = parameters(c.Run.Scope()), c.Iter
		}
		r.cut(c)
		late := limit > 0 && c.Iter > 0 && time.Since(begun) > limit
		if ctx.Err() != nil || late || k.enough(c.Iter, watch) {
			r.ended = c.Last
			return rl.ErrStop
		}
		return nil
	}
	s, err := runner.Prepare(k.job(p))
	if err != nil {
		return r, err
	}
	if _, err := s.Train(ctx); err != nil {
		if errors.Is(err, ErrLong) {
			return r, ErrLong
		}
		return r, fmt.Errorf("the plain loop: %w", err)
	}
	return r, ctx.Err()
}

// parameters returns a copy of the scope's parameters.
func parameters(s *rl.Scope) (out []checkpoint.Array) {
	st := rl.NewState(s)
	for _, p := range s.Params() {
		p.Save(st.At(p.Name()))
	}
	for _, a := range st.Arrays() {
		out = append(out, array(a))
	}
	return out
}

// array returns a copy of an array of a state as a checkpoint has it.
func array(a rl.Array) checkpoint.Array {
	return checkpoint.Array{
		Name: a.Name, DType: runner.DType(a.Shape.DType), Shape: slices.Clone(a.Shape.Dimensions),
		Data: slices.Clone(dtypes.UnsafeByteSliceFromAny(a.Flat)),
	}
}

// enough reports whether the plain loop has run for long enough.
func (k *Check) enough(iter int64, seen *trace) bool {
	switch {
	case k.plain != nil:
		return k.over(iter)
	case k.Iterations > 0:
		return iter >= k.Iterations
	}
	return iter >= 2 && seen.applied > 0 && iter > seen.applied
}

// over reports whether a run has gone as far as the plain loop. Where that ended by
// itself, by its budget or in the midst of an iteration, others have to as well.
func (k *Check) over(iter int64) bool { return !k.plain.ended && iter >= k.plain.iterations }

// runPlan runs the loop as a plan says. unfit is set if the plan cannot run the loop, err
// if the run failed.
func (k *Check) runPlan(ctx context.Context, p plan.Plan) (r *ran, unfit, err error) {
	r = &ran{graphs: p.Graphs}
	abort, stop := context.WithTimeoutCause(ctx, max(k.Patience, 20*k.took), errors.New("the programs wait for each other, or take much longer than the plain loop"))
	defer stop()
	probe := &runner.Probe{
		Abort: abort, Until: k.plain.steps,
		State: func(s []checkpoint.Array) { r.arrays = s },
		Cut: func(c rl.Cut) error {
			if c.Iter == k.plain.earlyAt && !c.Passed {
				r.early = parameters(c.Run.Scope())
			}
			r.cut(c)
			if k.over(c.Iter) && !c.Passed {
				return rl.ErrStop
			}
			return nil
		},
	}
	if p.Turns == 0 { // an observer asks for all rows at once
		probe.Observe = r.observe
	}
	j := k.job(probe)
	j.Plan = func(plan.Problem) (plan.Plan, error) { return p, nil }
	s, err := runner.Prepare(j)
	if err != nil {
		return r, err, nil
	}
	if err := s.Compile(); err != nil {
		return r, errors.Join(err, s.Close()), nil
	}
	_, err = s.Train(ctx)
	if p.Lowered {
		r.traces = nil // a device program is not seen into
	}
	return r, nil, err
}

// runSeveral runs n plain loops that sum their gradients.
func (k *Check) runSeveral(n int) (*ran, error) {
	j, r := k.Job, &ran{iterations: k.plain.iterations}
	entry, exact := wrap.Entry(j.Env, j.Wrap, ""), true
	saw := func(specs []env.Spec) { exact = exact && specs[0].Exact }
	scopes, err := reference.Train(reference.Config{
		Backend: j.Device.Backend(), Seed: j.Seed, Loops: n, Steps: j.Steps, Whole: k.whole(),
		Build: func(s *rl.Scope) (rl.Trainer, error) {
			return j.Algorithm.New(s, algo.On(s, entry, j.EnvOptions, saw), j.Config)
		},
		Observe: func(rank int) rl.Observer { return r.observe("", rank) },
		Cut: func(c rl.Cut) error {
			if k.over(c.Iter) {
				return rl.ErrStop
			}
			return nil
		},
	})
	if err == nil {
		err = rl.Catch(func() error { r.arrays = together(scopes, exact); return nil })
	}
	for _, s := range scopes {
		if s != nil {
			err = errors.Join(err, s.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%d plain loops that sum their gradients: %w", n, err)
	}
	return r, nil
}

// whole returns the names of the graph functions that need all rows: those that the
// plain loop called at nodes that the graph marks so.
func (k *Check) whole() (out []string) {
	at := map[string]bool{}
	for _, n := range k.Graph.Nodes {
		if n.Whole {
			at[n.Pos.String()] = true
		}
	}
	for _, r := range k.plain.traces[0].records {
		path := k.src.path(r)
		if strings.HasPrefix(r.kind, "rl.Func.") && len(path) > 0 && at[path[0]] && !slices.Contains(out, r.name) {
			out = append(out, r.name)
		}
	}
	return out
}

// together returns the state of several loops as one, with the rows of shards joined in
// order of rank. It leaves finished episodes out: single loops count only their own.
func together(scopes []*rl.Scope, exact bool) (out []checkpoint.Array) {
	at := map[string]int{}
	for _, s := range scopes {
		st := rl.NewState(s)
		if !exact {
			rl.System.Restarting(st)
		}
		s.Save(st)
		for _, a := range st.Arrays() {
			i, known := at[a.Name]
			switch {
			case strings.HasPrefix(a.Name, "episodes/") && !a.Rows:
			case !known:
				at[a.Name] = len(out)
				out = append(out, array(a))
			case a.Rows:
				out[i].Data = append(out[i].Data, dtypes.UnsafeByteSliceFromAny(a.Flat)...)
				out[i].Shape[0] += a.Shape.Dimensions[0]
			}
		}
	}
	return out
}
