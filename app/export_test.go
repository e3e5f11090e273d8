package app

import "github.com/weft-rl/weft/internal/run/part"

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
