package mujoco

import (
	"cmp"
	"testing"

	"github.com/weft-rl/weft/env/envtest"
	"github.com/weft-rl/weft/env/mujoco/internal/mj"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

// TestConformance: rollouts are long enough for a random policy to end episodes,
// but for the tasks that it never ends: these are given a shorter limit, as their
// own would take minutes.
func TestConformance(t *testing.T) {
	needLibrary(t)
	conform(t)
}

func conform(t *testing.T, set ...string) {
	steps := map[string]int{"HalfCheetah-v5": 30, "Swimmer-v5": 30, "Ant-v5": 30, "Humanoid-v5": 35, "Pusher-v5": 110}
	for _, e := range All {
		t.Run(e.ID, func(t *testing.T) {
			t.Parallel()
			e.Options = optionsWith(e.Options, set)
			n := cmp.Or(steps[e.ID], 60)
			if n == 30 {
				e = wrap.Entry(e, wrap.List{wrap.TimeLimit(12)}, "")
			}
			envtest.Run(t, e, envtest.Steps(n))
		})
	}
}

// optionsWith returns options set as texts say.
func optionsWith(make func() any, set []string) func() any {
	return func() any {
		o := make()
		if err := setAll(o, set); err != nil {
			rl.Fail(err)
		}
		return o
	}
}

// TestSystem: a library that the system has, such as Debian's, is as good as that
// of the Python package. Only its absence is no failure: CI installs no packages of
// the system.
func TestSystem(t *testing.T) {
	path := mj.System()
	if path == "" {
		t.Skip("the system has no libmujoco: apt-get install libmujoco2.2.2")
	}
	if _, err := mj.Models("", ""); err != nil {
		t.Skip(err)
	}
	lib, err := mj.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("MuJoCo %s, %s", lib.Version, lib.Path)
	t.Run("Conformance", func(t *testing.T) { conform(t, "library="+path) })
	t.Run("Recorded", func(t *testing.T) { compare(t, recorded(t, lib.Version), elsewhere, "library="+path) })
}
