package mujoco

import (
	"testing"

	"github.com/weft-rl/weft/env/envtest"
)

// TestConformance: rollouts are long enough for a random policy to end episodes,
// but for the tasks that it never ends. The limit of these has a test of its
// own: rollouts as long as that would take minutes.
func TestConformance(t *testing.T) {
	needLibrary(t)
	opts := map[string][]envtest.Option{
		"HalfCheetah-v5": {envtest.Steps(30), envtest.Endless()},
		"Swimmer-v5":     {envtest.Steps(30), envtest.Endless()},
		"Ant-v5":         {envtest.Steps(30), envtest.Endless()},
		"Humanoid-v5":    {envtest.Steps(35)},
		"Pusher-v5":      {envtest.Steps(110)},
	}
	for _, e := range All {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			o := opts[e.ID]
			if o == nil {
				o = []envtest.Option{envtest.Steps(60)}
			}
			envtest.Run(t, e, o...)
		})
	}
}
