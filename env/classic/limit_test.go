package classic

import (
	"testing"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// idle keeps a task from terminating: it balances the pole and otherwise does
// nothing.
func (k task) idle(s *rl.Scope, obs rl.Obs) rl.Tree {
	x := rl.Read[float32](obs.X.Leaf(""))
	n := obs.First.Rows()
	act := make([]float64, n)
	for i := range act {
		switch k.file {
		case "cartpole":
			if o := x[4*i:]; o[2]+.5*o[3]+.01*o[0]+.05*o[1] > 0 {
				act[i] = 1
			}
		case "acrobot", "mountaincar":
			act[i] = 1
		}
	}
	return k.actions(s, act)
}

// Without termination every episode is truncated at its limit, not earlier, and
// not reported as terminated; the next one then begins from a fresh state.
func TestLimit(t *testing.T) {
	for i, k := range tasks {
		t.Run(k.file, func(t *testing.T) {
			const n = 3
			s := newScope(t, 1)
			b, err := env.Open(s, All[i], n, nil)
			if err != nil {
				t.Fatal(err)
			}
			limit := b.Spec().Limit
			for step := 1; step <= 2*limit; step++ {
				out := b.Step(k.idle(s, b.Obs()))
				trunc, term, over := rl.Read[bool](out.Truncated), rl.Read[bool](out.Terminated), rl.Read[bool](out.Over)
				for j := range n {
					if end := step%limit == 0; trunc[j] != end || over[j] != end || term[j] {
						t.Fatalf("step %d: environment %d: truncated %v, terminated %v, over %v", step, j, trunc[j], term[j], over[j])
					}
				}
			}
			if _, length, count := s.Episodes().Mean(); count != 2*n || length != float64(limit) {
				t.Errorf("%d episodes of mean length %v, want %d of %d", count, length, 2*n, limit)
			}
		})
	}
}

// Terminated episodes end before the limit and are not reported as truncated.
func TestTerminated(t *testing.T) {
	const n = 4
	s := newScope(t, 1)
	b, err := env.Open(s, CartPole, n, nil)
	if err != nil {
		t.Fatal(err)
	}
	push := rl.One(rl.FromFlat(s, make([]int32, n), n))
	for range 40 {
		out := b.Step(push)
		final, next := rl.Read[float32](out.Final.X.Leaf("")), rl.Read[float32](out.Obs.X.Leaf(""))
		for j, over := range rl.Read[bool](out.Over) {
			if rl.Read[bool](out.Truncated)[j] || rl.Read[bool](out.Terminated)[j] != over {
				t.Fatalf("environment %d: terminated %v, truncated %v", j, rl.Read[bool](out.Terminated)[j], rl.Read[bool](out.Truncated)[j])
			}
			if over && (final[4*j+2] < cartTheta || next[4*j+2] > .05) {
				t.Errorf("environment %d ended at angle %v and begins at %v", j, final[4*j+2], next[4*j+2])
			}
		}
	}
	if ret, length, count := s.Episodes().Mean(); count < 2*n || ret != length || length < 7 || length > 12 {
		t.Errorf("%d episodes, return %v in %v steps: a constant push ends one in about ten", count, ret, length)
	}
}
