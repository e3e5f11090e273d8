package replay_test

import (
	"fmt"
	"slices"

	"github.com/gomlx/compute/gobackend"

	"github.com/weft-rl/weft/replay"
	"github.com/weft-rl/weft/rl"
)

// A rollout turns steps of all environments into one batch, from which a learner
// takes minibatches.
func Example() {
	type step struct{ Reward rl.Tensor }
	backend, err := gobackend.New("ops_sequential")
	if err != nil {
		panic(err)
	}
	s := rl.NewScope(rl.NewDevice(backend), 1)
	rollout := replay.NewRollout[step](s, "rollout")
	for t := range 3 {
		rollout.Insert(step{rl.FromFlat(s, []float32{float32(t), float32(10 + t)}, 2)})
	}
	batch := rollout.Drain()
	fmt.Println(batch.Reward.Shape(), rl.Read[float32](batch.Reward))

	var all []float32
	for m := range 2 {
		mini := replay.Take(batch, s.Key("shuffle"), replay.ByStep, m, 2)
		fmt.Println(mini.Reward.Shape())
		all = append(all, rl.Read[float32](mini.Reward)...)
	}
	slices.Sort(all)
	fmt.Println(all)
	// Output:
	// (Float32)[2, 3] [0 1 2 10 11 12]
	// (Float32)[3]
	// (Float32)[3]
	// [0 1 2 10 11 12]
}
