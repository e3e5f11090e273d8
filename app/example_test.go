package app_test

import (
	"context"
	"fmt"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/rl"
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

// A binary of one's own knows one's own environments and algorithms beside the
// built-in ones, and has the whole command line. Its main function is this.
func ExampleMain() {
	set := weft.Builtin()
	set.Environments = append(set.Environments, env.Entry{
		ID:  "Mine-v0",
		Doc: "an environment of one's own",
		New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
			return debug.Identity.New(s, n, debug.Identity.Options())
		},
	})
	app.Main(set)
}
