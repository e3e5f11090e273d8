package replay_test

import (
	"testing"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

type step struct {
	Obs    rl.Tree
	Reward rl.Tensor
	Memory rl.Tensor // absent
	Done   rl.Tensor
}

// stepAt returns step t of two environments: observation 100 env + 10 t + feature.
func stepAt(s *rl.Scope, t int) step {
	x := []float32{float32(10 * t), float32(10*t + 1), float32(100 + 10*t), float32(100 + 10*t + 1)}
	return step{
		Obs:    rl.NewTree([]string{"x"}, []rl.Tensor{rl.FromFlat(s, x, 2, 2)}),
		Reward: rl.FromFlat(s, []float32{float32(t), float32(-t)}, 2),
		Done:   rl.FromFlat(s, []bool{t == 1, false}, 2),
	}
}

func TestDrain(t *testing.T) {
	s := scope(t)
	r := replay.NewRollout[step](s, "rollout")
	for round := range 2 { // a drained rollout begins anew
		for i := range 3 {
			r.Insert(stepAt(s, round+i))
		}
		if round == 1 {
			r.Insert(stepAt(s, 9)) // and may be of another length
		}
		got := r.Drain()
		if got.Memory.Ok() {
			t.Error("an absent leaf is there")
		}
		equal(t, "names", got.Obs.Names(), []string{"x"})
		if round == 1 {
			equal(t, "reward", rl.Read[float32](got.Reward), []float32{1, 2, 3, 9, -1, -2, -3, -9})
			continue
		}
		equal(t, "shape", got.Obs.Leaf("x").Shape().Dimensions, []int{2, 3, 2})
		equal(t, "observation", rl.Read[float32](got.Obs.Leaf("x")),
			[]float32{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121})
		equal(t, "reward", rl.Read[float32](got.Reward), []float32{0, 1, 2, 0, -1, -2})
		equal(t, "done", rl.Read[bool](got.Done), []bool{false, true, false, false, false, false})
	}
	if r.Axis() != rl.Envs {
		t.Errorf("axis %s", r.Axis())
	}
}

func TestDrainErrors(t *testing.T) {
	s := scope(t)
	r := replay.NewRollout[step](s, "rollout")
	fails(t, func() { r.Drain() }, "the rollout is drained before anything is inserted")
	appears := stepAt(s, 1)
	appears.Memory = iota32(s, 0, 2)
	vanishes := stepAt(s, 1)
	vanishes.Done = rl.Tensor{}
	longer := stepAt(s, 1)
	longer.Obs = rl.NewTree([]string{"x", "y"}, []rl.Tensor{longer.Reward, longer.Reward})
	for _, bad := range []step{appears, vanishes, longer} {
		r := replay.Rollout[step]{}
		r.Insert(stepAt(s, 0))
		r.Insert(bad)
		fails(t, func() { r.Drain() }, "step 1 of a rollout has other tensors")
	}
	wide := stepAt(s, 1)
	wide.Reward = iota32(s, 0, 3)
	r.Insert(stepAt(s, 0))
	r.Insert(wide)
	fails(t, func() { r.Drain() }, "stack: shape (Float32)[3] at step 1, (Float32)[2] before")
}

func TestRolloutSave(t *testing.T) {
	s := scope(t)
	r := replay.NewRollout[step](s, "rollout")
	st := rl.NewState(s)
	s.Save(st) // empty: nothing to put
	r.Insert(stepAt(s, 0))
	fails(t, func() { s.Save(rl.NewState(s)) },
		"a rollout holds 1 steps at the end of an iteration: drain it in the iteration that fills it")
	if err := s.Load(st); err != nil {
		t.Fatal(err)
	}
	fails(t, func() { r.Drain() }, "before anything is inserted") // a run continued has it empty
	fails(t, func() { replay.NewRollout[step](s, "rollout") }, `two components are called "rollout"`)
}
