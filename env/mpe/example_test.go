package mpe_test

import (
	"fmt"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/mpe"
	"github.com/weft-rl/weft/rl"
)

// An episode of random actions in four games of tag.
func Example() {
	backend, _ := gobackend.New("ops_sequential")
	scope := rl.NewScope(rl.NewDevice(backend), 1)
	tag, err := env.OpenGroups(scope, mpe.SimpleTag, 4, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range tag.Spec() {
		fmt.Println(max(1, s.Agents), s.Kind, s.Obs, s.Action)
	}
	for t := range 25 {
		tag.Step(env.SampleGroups(scope, tag.Spec(), tag.Obs(), scope.Key("act").Fold(uint64(t))))
	}
	fmt.Println(scope.Episodes().Count(), "episodes,", scope.Steps(), "steps")
	// Output:
	// 3 adversary Box(-Inf..+Inf, [16]) Discrete(5)
	// 1 agent Box(-Inf..+Inf, [14]) Discrete(5)
	// 4 episodes, 100 steps
}
