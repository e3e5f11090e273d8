package chaos

import (
	"context"
	"fmt"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// setClock sets the machine's clock forward or back, and right again when everything that beats has
// looked at it: no epoch may begin because of that.
func (t *trial) setClock(ctx context.Context, r core.Run, f Fault) (mark, error) {
	by := f.For
	if f.Pick%2 == 1 {
		by = -by
	}
	if err := stepClock(by); err != nil {
		return mark{}, fmt.Errorf("the clock cannot be set, which takes an administrator's rights: %w", err)
	}
	rest(ctx, 1500*time.Millisecond)
	if err := stepClock(-by); err != nil {
		return mark{}, fmt.Errorf("the clock is wrong by %v, and cannot be set right: %w", by, err)
	}
	now := t.status(ctx)
	if now.Epoch != r.Epoch && r.Phase == core.Running {
		t.bad(fmt.Errorf("epoch %d began when the clock was set by %v and right again", now.Epoch, by))
	}
	return going(now), nil
}
