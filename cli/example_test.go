package cli_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/weft-rl/weft"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/cli"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/rl"
)

// Training from a Go program of one's own.
func ExampleTrain() {
	result, err := cli.Train(context.Background(), cli.Job{
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

// A run that was interrupted goes on where it stopped. Set knows its algorithm and environment by name.
func ExampleResume() {
	dir, _ := os.MkdirTemp("", "weft-example-")
	defer os.RemoveAll(dir)
	run := filepath.Join(dir, "run")
	ctx, cancel := context.WithCancel(context.Background())
	first, err := cli.Train(ctx, cli.Job{
		Algorithm: ppo.Algorithm,
		Env:       debug.Identity,
		Steps:     8_192,
		Seed:      1,
		Out:       run,
		Watch:     func(cli.Progress) { cancel() }, // after the first iteration
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := cli.Resume(context.Background(), weft.Builtin(), run, cli.Resumption{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(first.Interrupted, result.Steps, "steps")
	// Output: true 8192 steps
}

// A trained run, of the library or of the command line, is evaluated and loaded from its folder. The agent acts on plain numbers.
func ExampleLoad() {
	dir, _ := os.MkdirTemp("", "weft-example-")
	defer os.RemoveAll(dir)
	run := filepath.Join(dir, "run")
	ctx := context.Background()
	job := cli.Job{Algorithm: ppo.Algorithm, Env: debug.Identity, Set: []string{"learning_rate=5e-3"}, Steps: 8_192, Seed: 1, Out: run, EvalEpisodes: 10}
	if _, err := cli.Train(ctx, job); err != nil {
		fmt.Println(err)
		return
	}

	score, err := cli.Evaluate(ctx, weft.Builtin(), run, cli.Trial{Episodes: 20})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("mean return", score.Mean)

	agent, err := cli.Load(ctx, weft.Builtin(), run, cli.Loading{})
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
	cli.Main(set)
}
