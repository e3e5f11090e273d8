package app

import (
	"time"

	"github.com/weft-rl/weft/internal/run/part"
)

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

// SetRunner has workers carry parts out by what make makes, which is given the folder
// of checkpoints and a function that knows the steps of a configuration.
func SetRunner(make func(store string, steps func(config string) (int64, error)) part.Runner) {
	newMachine = func(o machineOptions) (machine, error) {
		steps := func(config string) (int64, error) {
			r, err := o.Set.requested(config)
			if err != nil {
				return 0, err
			}
			return r.Steps, nil
		}
		return machine{Runner: make(o.Store, steps), Data: "127.0.0.1:1", Close: func() error { return nil }}, nil
	}
}
