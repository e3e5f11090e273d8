package cli

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/plan"
)

// Plan plans a run on this machine as a coordinator does, twice: the second time by what was found
// out the first time.
func Plan(ctx context.Context, config string, limit time.Duration, memory int64) error {
	p := newPlanner(limit, memory, []string{"/"})
	first, err := p.plan(ctx, "", config, plan.Local(1, "cpu"), 0)
	if err != nil {
		return err
	}
	second, err := p.plan(ctx, "", config, plan.Local(1, "cpu"), 0)
	if err == nil && (len(p.known) != 1 || first.Graph != second.Graph || len(first.Replicas) != len(second.Replicas)) {
		err = errors.New("it is planned differently the second time")
	}
	return err
}

// SetPatience sets how long verify waits for a run that stands still, and returns what
// sets it back.
func SetPatience(d time.Duration) (back func()) {
	old := patience
	patience = d
	return func() { patience = old }
}

// HungUp is the cause of an interruption by a terminal that was closed.
var HungUp = errHungUp

// Remember and VerifiedBefore keep and find what was verified.
var (
	Remember       = remember
	VerifiedBefore = verifiedBefore
)

// Trains is the variable that has workers of tests train.
const Trains = "WEFT_TEST_TRAINS"

// SetRunner has workers carry parts out by what make makes, which is given the folder
// of checkpoints and a function that knows the steps of a configuration. With the variable Trains
// they train.
func SetRunner(make func(store string, steps func(config string) (int64, error)) part.Runner) {
	trains := newMachine
	newMachine = func(o machineOptions) (machine, error) {
		if os.Getenv(Trains) != "" {
			return trains(o)
		}
		steps := func(config string) (int64, error) {
			r, err := o.Set.Requested(config)
			if err != nil {
				return 0, err
			}
			return r.Steps, nil
		}
		return machine{Runner: make(o.Store, steps), Data: "127.0.0.1:1", Guest: "127.0.0.1:2", Close: func() error { return nil }}, nil
	}
}

// SetReview sets after how many iterations a run that --policy auto planned is judged, whatever
// they took, and by what factor its prediction is made smaller. It returns what sets it back.
func SetReview(iterations int64, wrong float64) (back func()) {
	after, n, w := reviewAfter, reviewIterations, misjudge
	reviewAfter, reviewIterations, misjudge = 0, iterations, wrong
	return func() { reviewAfter, reviewIterations, misjudge = after, n, w }
}
