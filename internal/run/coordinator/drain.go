package coordinator

import (
	"context"
	"fmt"

	"github.com/weft-rl/weft/internal/run/control"
	"github.com/weft-rl/weft/internal/run/core"
)

// Drain has a worker leave once its run can go on without it.
func (c *coordinator) Drain(ctx context.Context, q *control.Named) (*control.OK, error) {
	if err := sameVersion(q.Version); err != nil {
		return nil, err
	}
	if !names.MatchString(q.Worker) {
		return nil, control.Refusal(fmt.Sprintf("%.100q is no name of a worker: weft status shows them", q.Worker))
	}
	a, err := c.acting(ctx)
	if err != nil {
		return nil, err
	}
	return a.ask(ctx, func() core.Event { return core.DrainAsked{Worker: q.Worker} })
}
