package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/cost"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/runner"
)

// review watches a run that --policy auto planned. When an iteration takes longer than predicted by
// more than a margin, the run is saved, all plans are predicted again, and it goes on under the one
// that is best now, to the same bits. A plan that was measured is never predicted again, so that a
// run changes its plan at most once for each.
type review struct {
	asked  request.Layers
	flags  autoFlags
	now    cost.Candidate // the plan of the run
	seen   []cost.Candidate
	cancel context.CancelCauseFunc
	from   runner.Report // where measuring began
}

// slower is the factor over the predicted time from which a prediction was wrong.
const slower = 1.3

// better is the part of the measured time that another plan has to be predicted below.
const better = .9

// reviewAfter is how long a run is measured before it is judged, and reviewIterations how many
// iterations at least.
var (
	reviewAfter      = 10 * time.Second
	reviewIterations = int64(20)
	misjudge         = 1. // what predictions are multiplied with, to try reviews
)

var errReview = errors.New("the plan is reviewed")

// legs trains, and while a review asks for it goes on under the plan it chooses. Train is the first
// leg.
func (c *command) legs(ctx context.Context, f *trainFlags, dir string, train func(context.Context) error) error {
	v := f.review
	if v == nil {
		return train(ctx)
	}
	leg := func(train func(context.Context) error) error {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		v.cancel, v.from = cancel, runner.Report{}
		return train(ctx)
	}
	err := leg(train)
	for errors.Is(err, errReview) {
		more, chosen := c.reviewed(ctx, v)
		if chosen != nil {
			return chosen
		}
		err = leg(func(ctx context.Context) error { return c.runResume(ctx, dir, more, f) })
	}
	return err
}

// reviewed chooses the plan under which a run goes on.
func (c *command) reviewed(ctx context.Context, v *review) ([]config.Assignment, error) {
	measured := v.seen[len(v.seen)-1]
	_, choice, err := c.choose(ctx, v.asked, v.flags, 0)
	if err != nil {
		return nil, err
	}
	next := v.next(choice.Candidates)
	fmt.Fprintf(c.err, "weft: an iteration takes %.3g ms, %.2g times as long as predicted; the run goes on under %v\n", measured.Seconds*1e3, measured.Seconds/v.now.Seconds, next)
	v.now = next
	return chosen(next), nil
}

// next returns the best plan: those that were measured count as they were, the others as they are
// predicted, if that is clearly better.
func (v *review) next(candidates []cost.Candidate) cost.Candidate {
	best := v.seen[0]
	for _, x := range v.seen {
		if x.Seconds < best.Seconds {
			best = x
		}
	}
	limit := best.Seconds * better
	for _, x := range candidates {
		if !v.measured(x) && x.Seconds < limit {
			best, limit = x, x.Seconds
		}
	}
	return best
}

func (v *review) measured(x cost.Candidate) bool {
	for _, y := range v.seen {
		if x.Policy == y.Policy && x.Workers == y.Workers && x.Pipeline == y.Pipeline {
			return true
		}
	}
	return false
}

// over returns a watcher that measures iterations for the review.
func (v *review) over(w watcher) watcher {
	if v == nil {
		return w
	}
	return &reviewer{w, v}
}

// reviewer tells a review how long iterations take.
type reviewer struct {
	watcher
	*review
}

// Iteration looks at the run once it has been measured for long enough.
func (r *reviewer) Iteration(x runner.Report) {
	r.watcher.Iteration(x)
	if r.measured(r.now) {
		return
	}
	if r.from.Iter == 0 {
		r.from = x
		return
	}
	took, n := x.Seconds-r.from.Seconds, x.Iter-r.from.Iter
	if took < reviewAfter.Seconds() || n < reviewIterations {
		return
	}
	seconds := took / float64(n)
	if seconds <= slower*misjudge*r.now.Seconds {
		r.from = x // what it does later may take longer
		return
	}
	seen := r.now
	seen.Seconds = seconds
	r.seen = append(r.seen, seen)
	r.cancel(errReview)
}

// Evaluated begins to measure anew: the time of an evaluation is not that of iterations.
func (r *reviewer) Evaluated(e runner.Evaluation) {
	r.from = runner.Report{}
	r.watcher.Evaluated(e)
}
