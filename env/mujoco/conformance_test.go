package mujoco

import (
	"cmp"
	"testing"

	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/env/wrap"
)

// TestConformance: rollouts are long enough for a random policy to end episodes,
// but for the tasks that it never ends: these are given a shorter limit, as their
// own would take minutes.
func TestConformance(t *testing.T) {
	needLibrary(t)
	steps := map[string]int{"HalfCheetah-v5": 30, "Swimmer-v5": 30, "Ant-v5": 30, "Humanoid-v5": 35, "Pusher-v5": 110}
	for _, e := range All {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			n := cmp.Or(steps[e.ID], 60)
			if n == 30 {
				e = wrap.Entry(e, wrap.List{wrap.TimeLimit(12)}, "")
			}
			envtest.Run(t, e, envtest.Steps(n))
		})
	}
}
