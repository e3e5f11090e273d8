// Package process carries out a process's part of a run: it builds the replicas that
// the plan gives it, connects them with those of the other processes, and runs them.
// The process that has the replica which decides also keeps the run's checkpoints and
// tells the coordinator how it gets on.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/phase"
	"github.com/weft-rl/weft/internal/run/replicas"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Config gives a Runner the resources of its process.
type Config struct {
	// Job makes the job of a configuration, the text of a run's config.yaml. How it is
	// distributed, where it is kept and what it goes on from is the assignment's affair.
	Job func(config string) (runner.Job, error)
	// Node is the process's end of the data plane.
	Node *mesh.Node
	// Store is where a run's checkpoints are kept; all processes see the same.
	Store func(run string) (store.Store, error)
	Place string // address of the store, for resuming the run on another machine
	// Files returns the folder of a run, in which its recorders write; nil is that there are none.
	Files func(run string) (string, error)
	// Trace begins the span of a part of a run, which belongs to the trace of parent; nil is that
	// parts are not traced.
	Trace func(parent string, a part.Assignment) phase.Span
	// Patience is how long the store may take over anything small; 1 min.
	Patience time.Duration
}

// Runner is a part.Runner.
type Runner struct{ c Config }

// New returns a runner for this process.
func New(c Config) *Runner { return &Runner{c} }

var _ part.Runner = (*Runner)(nil)

// Run implements part.Runner.
func (r *Runner) Run(ctx context.Context, a part.Assignment, to part.Reporter) (err error) {
	if err := check(a); err != nil {
		return err
	}
	j, err := r.c.Job(a.Config)
	if err != nil {
		return err
	}
	if r.c.Trace != nil {
		span := r.c.Trace(j.TraceParent, a)
		j.Trace = span
		defer func() { span.End(err) }()
	}
	if recorders := len(j.Wrap.Recorders()) > 0; (recorders || j.Profile) && r.c.Files != nil {
		if j.Files, err = r.c.Files(a.Run); err != nil && recorders { // a profile goes without a file
			return err
		}
	}
	kept, err := r.c.Store(a.Run)
	if err != nil {
		return unable{err}
	}
	x := &run{Runner: r, a: a, to: to, outer: ctx, job: j}
	x.ctx, x.stop = context.WithCancelCause(ctx)
	defer x.stop(nil)
	x.vault = &vault{ctx: x.ctx, store: kept, place: r.c.Place, a: a, keep: max(1, j.Keep), patience: cmp.Or(r.c.Patience, time.Minute), to: to}
	return x.run()
}

// check checks that an assignment makes sense.
func check(a part.Assignment) error {
	var errs []error
	if a.Me < 0 || a.Me >= len(a.Workers) {
		errs = append(errs, fmt.Errorf("it is worker %d of %d", a.Me, len(a.Workers)))
	}
	for i, r := range a.Plan.Replicas {
		if r.Worker < 0 || r.Worker >= len(a.Workers) {
			errs = append(errs, fmt.Errorf("replica %d is on worker %d of %d", i, r.Worker, len(a.Workers)))
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("the assignment of run %s makes no sense: %w", a.Run, errors.Join(errs...))
	}
	return nil
}

// run is an assignment that is being carried out.
type run struct {
	*Runner
	a     part.Assignment
	to    part.Reporter
	outer context.Context // the coordinator's
	ctx   context.Context // ends with outer, or when the data plane fails
	stop  context.CancelCauseFunc
	job   runner.Job
	vault *vault
}

func (x *run) run() error {
	j := x.arrange()
	switch {
	case x.alone() && !x.a.Owner(), !x.alone() && !x.has():
		return x.to.Ready(x.ctx)
	case x.alone():
		return x.lead(j)
	case x.a.Owner():
		return x.lead(j)
	}
	return x.follow(j)
}

// alone reports whether one process has all there is to do: the loop is not split,
// or only its end is left.
func (x *run) alone() bool { return len(x.a.Plan.Groups) == 0 || x.finished() }

// finished reports whether the checkpoint to begin with is the last one.
func (x *run) finished() bool { return x.a.From != nil && x.a.From.Step >= x.job.Steps }

// has reports whether any replica is this process's.
func (x *run) has() bool {
	for _, r := range x.a.Plan.Replicas {
		if x.here(r) {
			return true
		}
	}
	return false
}

func (x *run) here(r plan.Replica) bool { return r.Worker == x.a.Me }

// arrange returns the job as the assignment has it.
func (x *run) arrange() runner.Job {
	j := x.job
	j.Resume, j.Dir = x.a.From != nil, ""
	j.Plan = func(plan.Problem) (plan.Plan, error) { return x.a.Plan, nil }
	if x.finished() || len(x.a.Plan.Groups) == 0 && !x.a.Plan.Lowered {
		j.Plan = nil
	}
	j.Part = &runner.Part{Here: x.here, Abort: x.ctx, Stop: x.ctx, Vault: x.vault, Life: x.a.Life}
	return j
}

// lead runs the part that decides. A store that is not to be had is told before the
// work is begun that would be kept there.
func (x *run) lead(j runner.Job) error {
	if err := x.vault.reach(); err != nil {
		return err
	}
	stop, heard := x.halted()
	defer heard()
	lines := newRecord(x.ctx, x.to)
	x.vault.lines, j.Part.Sink, j.Part.Stop = lines, lines, stop
	w := newWatch(x.to, x.vault.took)
	j.Watch = w
	s, err := runner.Prepare(j)
	if err != nil {
		return errors.Join(err, lines.Close())
	}
	w.knows(s.Edges())
	err = x.among(s.Links(), func() error {
		train := func() (runner.Result, error) { return s.Train(x.ctx) }
		if s.Finished() && x.alone() { // of one that its algorithm ended, other processes have their part
			train = s.Finish
		}
		result, err := train()
		if err == nil && result.Interrupted {
			err = context.Cause(x.ctx)
		}
		if err == nil {
			w.done(result)
		}
		return err
	})
	return errors.Join(err, s.Close(), lines.Close())
}

// halted returns a context that ends when the run is to end at its next consistent point, and
// what gives it back.
func (x *run) halted() (context.Context, func()) {
	ctx, cancel := context.WithCancel(x.ctx)
	var waits sync.WaitGroup
	waits.Go(func() {
		defer cancel()
		select {
		case <-x.to.Halted():
		case <-ctx.Done():
		}
	})
	return ctx, func() {
		cancel()
		waits.Wait()
	}
}

// follow runs a part that does not. What its replicas have to say they tell the one
// that does.
func (x *run) follow(j runner.Job) error {
	f, err := runner.Follow(j)
	if err != nil {
		return err
	}
	err = x.among(f.Links(), func() error {
		err := f.Train(x.ctx)
		if errors.Is(err, replicas.ErrEnded) { // who ended it tells why, or is lost
			ended := x.ctx
			if x.a.Plan.Sparing() { // it leaves in peace
				ended = x.outer
			}
			<-ended.Done()
			err = context.Cause(ended)
		}
		return err
	})
	return errors.Join(err, f.Close())
}

// among does something while this process's replicas are connected with the others'.
func (x *run) among(links *edge.Local, do func() error) error {
	if x.alone() {
		if err := x.to.Ready(x.ctx); err != nil {
			return err
		}
		return do()
	}
	g := mesh.Group{
		Run: x.a.Run, Epoch: x.a.Epoch, Workers: x.a.Workers, Me: x.a.Me, Links: links, Device: x.job.Device, Failed: x.stop, Quiet: x.to.Quiet,
		Star: x.a.Plan.Sparing(), Life: x.a.Life, Secret: x.a.Secret,
	}
	g.Homes, g.Hub = x.homes()
	s, err := x.c.Node.Join(x.outer, g)
	if err != nil {
		return err
	}
	rl.System.Beside(x.job.Device, s.Beside)
	defer rl.System.Beside(x.job.Device, nil)
	if err = x.to.Ready(x.ctx); err == nil {
		err = do()
	}
	switch {
	case err == nil:
		return s.Close()
	case g.Star && !x.a.Owner() && x.outer.Err() != nil: // others go on without this part
		s.Leave()
	default:
		s.Abort(err)
	}
	return err
}

// homes returns the workers of replicas, by the replicas' numbers, and the number of the one
// that decides.
func (x *run) homes() (out []int, owner int) {
	for _, g := range x.a.Plan.Groups {
		if g.Name == x.a.Plan.Owner {
			owner = len(out)
		}
		for _, r := range x.a.Plan.Of(g.Name) {
			out = append(out, r.Worker)
		}
	}
	return out, owner
}
