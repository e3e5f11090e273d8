package bench

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Checkpoint measures the cost of saving a run's state.
var Checkpoint = Benchmark{
	Name:  "checkpoint",
	Doc:   "what checkpoints cost: whole runs without any but the last, at the default interval, and once a second",
	names: []string{"none", "default", "often"},
	cases: checkpointCases,
	contenders: func(_ context.Context, o Options) (field, error) {
		return field{present: wholes(o, keeping...), close: func() error { return nil }}, nil
	},
	heading: "How much longer a step takes than without checkpoints, and how much more is computed for it, by the best rounds:",
	summary: costs,
	turn:    turn{20 * time.Second, 2 * time.Second},
}

var keeping = []Whole{
	{Name: "none", Path: "at end", Args: "--checkpoint-every 24h"},
	{Name: "default", Path: "15 s"},
	{Name: "often", Path: "1 s", Args: "--checkpoint-every 1s"},
}

func checkpointCases(bool) []Case {
	of := func(id, title, args string) Case {
		return Case{ID: id, Title: title, Work: 1, Unit: "steps/s", Spec: WholeSpec{args + " --eval-episodes 0", keeping}}
	}
	return []Case{
		of("ppo", "PPO's default preset", "ppo"),
		of("processes", "the same in two processes", "ppo --policy single-learner-coarse --processes 2"),
		of("dqn", "DQN's default preset, whose table is kept as well", "dqn"),
	}
}

// costs compares runs that write checkpoints with one that writes none. It compares the fastest
// rounds, because other processes on the machine can only slow a round down.
func costs(results []Result) string {
	var list []string
	for _, r := range results[min(1, len(results)):] {
		if failed(r) || failed(results[0]) {
			continue
		}
		text := fmt.Sprintf("%s %+.1f %%", r.Path, 100*(fastest(r)/fastest(results[0])-1))
		if least := func(r Result) float64 { return slices.Min(r.CPU) }; len(r.CPU) > 0 && len(results[0].CPU) > 0 {
			text += fmt.Sprintf(", CPU %+.1f %%", 100*(least(r)/least(results[0])-1))
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}
