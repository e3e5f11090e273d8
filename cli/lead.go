package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/weft-rl/weft/internal/launch"
	"github.com/weft-rl/weft/internal/request"
)

// errLimit is the cause of an interruption by the end of a job's time.
var errLimit = errors.New("the job's time is nearly over")

// requeued reports whether an engine has started this job before, and its run has begun.
func (f *trainFlags) requeued() bool {
	return f.allocation != nil && f.allocation.Restarts > 0 && f.out != "" && (request.Taken(f.out) || holdsPopulation(f.out))
}

// goOnJob goes on with the run of a job that its engine started again. A run that had no checkpoint
// begins again.
func (c *command) goOnJob(ctx context.Context, f *trainFlags) error {
	f.Begin = true
	return c.lead(ctx, f, f.out, func(ctx context.Context) error { return c.runResume(ctx, f.out, nil, f) })
}

// lead trains a run in this process's allocation, and tells in the run's folder where it stands.
// Shortly before the job's time is over the run is saved, and the job is started again.
func (c *command) lead(ctx context.Context, f *trainFlags, out string, train func(context.Context) error) error {
	a := f.allocation
	f.processes = len(a.Slots)
	f.Begin = f.Begin || a.Restarts > 0
	out, err := filepath.Abs(out)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(out, jobFolder), 0o755); err != nil {
		return err
	}
	_, far := f.distant()
	if c.set.Built() && !far { // into a folder that goes with the building command
		program, err := self()
		if err == nil {
			f.program, err = stage(program, filepath.Dir(out), new([]func() error))
		}
		if err != nil {
			return err
		}
	}
	if err := (job{Engine: f.on, ID: a.Job}).write(out); err != nil {
		return err
	}
	before, err := came(out)
	if err != nil {
		return err
	}
	t := &herald{dir: out, restarts: a.Restarts}
	if far {
		t.out = c.out
	}
	f.tell = t.tell
	timed, stop := untilLimit(ctx, a.Limit)
	defer stop()
	err = train(timed)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(timed), errLimit) {
		if err = c.requeue(ctx, a, before, out); err == nil {
			return nil
		}
	}
	return errors.Join(err, t.over(err, ctx.Err() != nil))
}

// untilLimit returns a context that is done when a signal says that the job's time is nearly over.
func untilLimit(ctx context.Context, limit os.Signal) (context.Context, func()) {
	if limit == nil {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	said := make(chan os.Signal, 1)
	signal.Notify(said, limit)
	go func() { // until stop
		select {
		case <-said:
			cancel(errLimit)
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(said)
		cancel(nil)
	}
}

// requeue has a job started again, unless it got nowhere in its time.
func (c *command) requeue(ctx context.Context, a *launch.Allocation, before int64, out string) error {
	now, err := came(out)
	if err != nil {
		return err
	}
	if now <= before {
		return errors.New("the job's time limit is shorter than the way to a checkpoint: no other was saved since it began; allow more time, or save more often (--checkpoint-steps)")
	}
	fmt.Fprintf(c.out, "job %s has saved what it came to before its time limit, and is started again to go on\n", a.Job)
	return a.Requeue(ctx)
}
