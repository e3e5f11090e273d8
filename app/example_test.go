package app_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-rl/weft"
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

// A run that was interrupted goes on where it stopped. Set knows its algorithm and environment by
// name.
func ExampleResume() {
	dir, _ := os.MkdirTemp("", "weft-example-")
	defer os.RemoveAll(dir)
	run := filepath.Join(dir, "run")
	ctx, cancel := context.WithCancel(context.Background())
	first, err := app.Train(ctx, app.Job{
		Algorithm: ppo.Algorithm,
		Env:       debug.Identity,
		Steps:     8_192,
		Seed:      1,
		Out:       run,
		Watch:     func(app.Progress) { cancel() }, // after the first iteration
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := app.Resume(context.Background(), weft.Builtin(), run, app.Resumption{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first.Interrupted, result.Steps, "steps")
	// Output: true 8192 steps
}

// A trained run, of the library or of the command line, is evaluated and loaded from its folder.
// The agent acts on plain numbers.
func ExampleLoad() {
	dir, _ := os.MkdirTemp("", "weft-example-")
	defer os.RemoveAll(dir)
	run := filepath.Join(dir, "run")
	ctx := context.Background()
	job := app.Job{Algorithm: ppo.Algorithm, Env: debug.Identity, Set: []string{"learning_rate=5e-3"}, Steps: 8_192, Seed: 1, Out: run, EvalEpisodes: 10}
	if _, err := app.Train(ctx, job); err != nil {
		fmt.Println(err)
		return
	}

	score, err := app.Evaluate(ctx, weft.Builtin(), run, app.Trial{Episodes: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("mean return", score.Mean)

	agent, err := app.Load(ctx, weft.Builtin(), run, app.Loading{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer agent.Close()
	agent.Reset() // an episode begins
	action, err := agent.Act([]float64{0, 0, 1, 0})
	fmt.Println(action, err)
	_, err = agent.Act([]float64{0, 0, 1})
	fmt.Println(err)
	// Output:
	// mean return 16
	// [2] <nil>
	// the observation has 3 numbers, not 4: it is a Box(0..1, [4])
}
