package chaos

import (
	"context"
	"fmt"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// drain drains a worker. A run that it has a part in, one that could spare it too, goes on in a new
// epoch from where it stands.
func (t *trial) drain(ctx context.Context, r core.Run, s *slot) (mark, error) {
	m := going(r)
	m.anew = m.anew || member(r, s)
	t.cluster.leaves(s.name)
	if err := t.cluster.client.Drain(ctx, s.name); err != nil {
		return m, fmt.Errorf("worker %s cannot be drained: %w", s.name, err)
	}
	return m, nil
}

// leaves notes that a worker is about to end by itself.
func (c *cluster) leaves(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leaving[name] = true
}

// left reports whether a worker was about to end by itself, and has.
func (c *cluster) left(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.leaving[name]
	delete(c.leaving, name)
	return was
}
