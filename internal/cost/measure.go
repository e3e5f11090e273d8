package cost

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
)

// Measure runs a job under a plan as it would run, and returns the seconds of an iteration: what
// Predict predicts.
func Measure(ctx context.Context, job runner.Job, p plan.Plan, how Patience) (float64, error) {
	c := newCutter(p, how)
	c.stop() // nobody takes turns
	if err := c.run(ctx, job); err != nil {
		return 0, err
	}
	if c.last <= c.first || c.first < 0 {
		return 0, fmt.Errorf("policy %s: the run ended before an iteration could be measured", p.Policy)
	}
	return c.took.Seconds() / float64(c.last-c.first), nil
}

// Longer returns how a plan is measured for so long.
func Longer(d time.Duration) Patience {
	return Patience{Warm: Brief.Warm, Least: d, Most: 4 * d}
}
