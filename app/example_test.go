package app_test

import (
	"context"
	"fmt"

	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env/debug"
)

// Training from a Go program of one's own.
func ExampleTrain() {
	result, err := app.Train(context.Background(), app.Job{
		Algorithm:    ppo.Algorithm,
		Env:          debug.Identity,
		Set:          []string{"learning_rate=5e-3"},
		Steps:        8_192,
		Seed:         1,
		EvalEpisodes: 10,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Steps, "steps, greedy return", result.EvalReturn)
	// Output: 8192 steps, greedy return 16
}
