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
	made, scope := trainerOn(t, rl.NewDevice(tap), 16)
	run := rl.NewRun(scope, 8*16*2, func(rl.Cut) error { return nil })
	if err := lower(rl.Chunks{Most: 2, Sums: true})(made, run); err != nil {
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

// A minibatch's gradients are sums over rows, and as a kernel they are what the CPU engine computes.
func TestGradientKernel(t *testing.T) {
	tap := ptxtest.NewTap(t)
	made, scope := trainerOn(t, rl.NewDevice(tap), 64)
	run := rl.NewRun(scope, 8*64*1, func(rl.Cut) error { return nil })
	if err := lower(rl.Chunks{Most: 2, Sums: true})(made, run); err != nil {
		t.Fatal(err)
	}
	regions := 0
	for _, m := range tap.Modules {
		for _, f := range ptxtest.Bodies(m) {
			for _, r := range rows.Regions(f) {
				regions++
				t.Logf("%s: %d rows, %d sums, %d inputs", m.Name, r.Rows, len(r.Sums), len(r.Inputs))
				k := ptxtest.CheckRegion(t, f, r, ptxtest.Random, true, 1e-4)
				t.Logf("%d bytes of shared memory, %d + %d sums", k.Shared, k.Single, k.Double)
			}
		}
	}
	if regions != 2 {
		t.Errorf("%d regions, want those of the policy and of the value", regions)
	}
}
