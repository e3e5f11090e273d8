package ppo

import (
	"testing"

	"github.com/weft-rl/weft/engine/ir"
	"github.com/weft-rl/weft/engine/ptx"
	"github.com/weft-rl/weft/engine/ptx/ptxtest"
	"github.com/weft-rl/weft/engine/rows"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/rl"
)

// programs returns the modules of a loop on an environment, as a GPU gets them.
func programs(t *testing.T, in env.Entry, horizon int) []*ir.Module {
	t.Helper()
	tap := ptxtest.NewTap(t)
	made, scope := trainerOn(t, rl.NewDevice(tap), in, horizon)
	run := rl.NewRun(scope, int64(8*horizon), func(rl.Cut) error { return nil })
	if err := lower(rl.Chunks{Most: 2, Sums: true})(made, run); err != nil {
		t.Fatal(err)
	}
	return tap.Modules
}

// A rollout of the device program is row by row, and as a kernel for a GPU it does what the CPU
// engine does.
func TestRolloutKernel(t *testing.T) {
	for _, e := range classic.All {
		t.Run(e.ID, func(t *testing.T) {
			kernels := 0
			for _, m := range programs(t, e, 16) {
				for _, n := range ptxtest.Whiles(m) {
					l, err := rows.Of(n)
					if err == nil {
						_, err = ptx.Of(l, "loop", ir.Exact)
					}
					if err != nil {
						t.Logf("%s: %v", m.Name, err)
						continue
					}
					kernels++
					for _, p := range []ir.Precision{ir.Exact, ir.BF16} {
						ptxtest.Check(t, n, ptxtest.Random, p, 1e-3)
					}
				}
			}
			if kernels != 1 {
				t.Errorf("%d loops are kernels, want the rollout", kernels)
			}
		})
	}
}

// A minibatch's gradients are sums over rows, and as kernels they are what the CPU engine computes.
func TestGradientKernel(t *testing.T) {
	for _, e := range []env.Entry{classic.CartPole, classic.Pendulum} {
		t.Run(e.ID, func(t *testing.T) {
			regions := 0
			for _, m := range programs(t, e, 50) {
				for _, f := range ptxtest.Bodies(m) {
					for _, r := range rows.Regions(f) {
						regions++
						for _, p := range []ir.Precision{ir.Exact, ir.BF16} {
							k := ptxtest.CheckRegion(t, f, r, ptxtest.Random, p, 1e-3)
							t.Logf("%s, %d rows, %d + %d sums, %d bytes of shared memory", p, r.Rows, k.Single, k.Double, k.Shared)
						}
					}
				}
			}
			if regions != 2 {
				t.Errorf("%d regions, want those of the policy and of the value", regions)
			}
		})
	}
}
