package ppo

import (
	"testing"

	"github.com/weft-rl/weft/engine/ptx/ptxtest"
	"github.com/weft-rl/weft/engine/rows"
	"github.com/weft-rl/weft/rl"
)

// A rollout of the device program is row by row, and as a kernel for a GPU it does what the CPU engine does.
func TestRolloutKernel(t *testing.T) {
	tap := ptxtest.NewTap(t)
	made, scope := trainerOn(t, rl.NewDevice(tap))
	run := rl.NewRun(scope, 8*16*2, func(rl.Cut) error { return nil })
	if err := lower(rl.Chunks{Most: 2, Far: true, Sums: true})(made, run); err != nil {
		t.Fatal(err)
	}
	kernels := 0
	for _, m := range tap.Modules {
		for _, n := range ptxtest.Whiles(m) {
			if _, err := rows.Of(n); err != nil {
				t.Logf("%s: %v", m.Name, err)
				continue
			}
			kernels++
			ptxtest.Check(t, n, ptxtest.Random, 1e-4)
		}
	}
	if kernels != 1 {
		t.Errorf("%d loops are kernels, want the rollout", kernels)
	}
}
