package request

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/weft-rl/weft/internal/run/runner"
)

// Again says how a run goes on from which something is missing.
type Again struct {
	Begin bool  // begin at step 0 if there is no good checkpoint
	Lost  bool  // although lines of its record are lost
	Until int64 // save and stop at so many steps, as if interrupted; 0 is never
}

// Resumption is a run that is ready to go on.
type Resumption struct {
	*runner.Session
	Over string // why there is nothing to go on with; "" if there is
}

// Run goes on, if there is something to go on with.
func (s Resumption) Run(ctx context.Context) (runner.Result, error) {
	if s.Over != "" {
		return s.Finish()
	}
	return s.Train(ctx)
}

// GoOn prepares a run to go on, in a folder that is locked. The new configuration is kept.
func (r *Request) GoOn(ctx context.Context, before *Request, dir string, how Again, w runner.Watcher) (out Resumption, err error) {
	job, err := r.Job()
	if err != nil {
		return out, err
	}
	job.Dir, job.Resume, job.OrBegin, job.LostRecord, job.Watch, job.Reading = dir, true, how.Begin, how.Lost, w, ctx
	job.Pause = how.Until
	s, err := runner.Prepare(job)
	if err != nil {
		return out, err
	}
	out.Session = s
	// No budget changes what the algorithm ended.
	switch {
	case s.Ended() && s.Finished():
		out.Over = fmt.Sprintf("%s was ended by its algorithm at step %d: there is nothing to go on with", dir, s.Done())
		return out, nil
	case s.Ended(): // an evaluation is left to do
		return out, nil
	}
	if err = ChangeBudget(s.Done(), before, r, dir, s.Watch); err == nil && !reflect.DeepEqual(before.Settings, r.Settings) {
		err = r.Record(dir)
	}
	if err != nil {
		return Resumption{}, errors.Join(err, s.Close())
	}
	if how.Until > 0 && s.Done() >= how.Until {
		out.Over = fmt.Sprintf("%s has done %d steps already", dir, s.Done())
		return out, nil
	}
	if s.Finished() {
		out.Over = fmt.Sprintf("%s is finished: nothing was left to do; weft resume %s --steps N trains it further", dir, dir)
	}
	return out, nil
}

// ChangeBudget says what another number of steps means for a run.
func ChangeBudget(done int64, before, r *Request, dir string, w runner.Watcher) error {
	if r.Steps == before.Steps {
		return nil
	}
	if r.Steps < done {
		return fmt.Errorf("--steps: %d is less than the %d steps that %s has done", r.Steps, done, dir)
	}
	w.Note(budgetChange(before.Steps, r.Steps, done))
	return nil
}

// budgetChange says what another budget means for a run.
func budgetChange(from, to, done int64) string {
	return fmt.Sprintf("the budget changes from %d to %d steps: at step %d schedules that follow progress, such as an annealed "+
		"learning rate, go from %.0f %% to %.0f %% of their course; the run is no longer the one that %d steps from the start would have been",
		from, to, done, percent(done, from), percent(done, to), to)
}

func percent(done, of int64) float64 { return 100 * min(1, float64(done)/float64(max(1, of))) }
