package classic_test

import (
	"fmt"

	"github.com/gomlx/compute/gobackend"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/rl"
)

// A random policy on four cart-poles.
func Example() {
	backend, err := gobackend.New("ops_sequential")
	if err != nil {
		fmt.Println(err)
		return
	}
	scope := rl.NewScope(rl.NewDevice(backend), 1)
	batch, err := env.Open(scope, classic.CartPole, 4, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 250 {
		batch.Step(env.Sample(scope, batch.Spec(), batch.Obs(), scope.Key("act").Fold(uint64(i))))
	}
	ret, _, _ := scope.Episodes().Mean()
	fmt.Println(scope.Steps(), "steps; a random policy keeps the pole up for 15 to 30:", ret > 15 && ret < 30)
	// Output: 1000 steps; a random policy keeps the pole up for 15 to 30: true
}
