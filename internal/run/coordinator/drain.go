package coordinator

import (
	"context"
	"fmt"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// mostDrained bounds the workers of one call.
const mostDrained = 1000

// Drain drains workers, which leave once their runs can go on without them.
func (c *coordinator) Drain(ctx context.Context, q *protocol.Named) (*protocol.OK, error) {
	if err := sameVersion(q.Version); err != nil {
		return nil, err
	}
	if len(q.Workers) == 0 || len(q.Workers) > mostDrained {
		return nil, protocol.Refusal(fmt.Sprintf("%d workers at once: 1 to %d can be drained", len(q.Workers), mostDrained))
	}
	for _, name := range q.Workers {
		if !names.MatchString(name) {
			return nil, protocol.Refusal(fmt.Sprintf("%.100q is not a name of a worker: weft status shows them", name))
		}
	}
	a, err := c.acting(ctx)
	if err != nil {
		return nil, err
	}
	return a.ask(ctx, func() core.Event { return core.DrainAsked{Workers: q.Workers} })
}
