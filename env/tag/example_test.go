package tag_test

import (
	"fmt"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/tag"
	"github.com/weft-rl/weft/rl"
)

// A game of random moves, in which tagged runners leave.
func Example() {
	backend, _ := gobackend.New("ops_sequential")
	scope := rl.NewScope(rl.NewDevice(backend), 1)
	options := tag.Tag.Options().(*tag.Options)
	options.Taggers, options.Runners, options.Neighbours, options.Length = 3, 20, 4, 50
	games, err := env.OpenGroups(scope, tag.Tag, 2, options)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range games.Spec() {
		fmt.Println(s.Agents, s.Kind, s.Obs, s.Action)
	}
	for t := range 50 {
		games.Step(env.SampleGroups(scope, games.Spec(), games.Obs(), scope.Key("act").Fold(uint64(t))))
	}
	fmt.Println(scope.Episodes().Count(), "games,", scope.Steps(), "steps")
	// Output:
	// 3 tagger Box(-Inf..+Inf, [31]) MultiDiscrete([21 21])
	// 20 runner Box(-Inf..+Inf, [25]) MultiDiscrete([21 21])
	// 2 games, 100 steps
}
