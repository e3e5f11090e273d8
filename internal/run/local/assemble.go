package local

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/rl"
)

// assembly is a trainer with the scope it was made in.
type assembly struct {
	scope   *rl.Scope
	trainer rl.Trainer
	exact   bool   // every environment can save its state
	why     string // why not
}

// assemble constructs the job's algorithm on its environments.
func assemble(j Job) (*assembly, error) {
	a := &assembly{scope: rl.NewScope(j.Device, j.Seed), exact: true}
	var err error
	entry := wrap.Entry(j.Env, j.Wrap, j.Dir)
	saw := func(specs []env.Spec) {
		a.exact = a.exact && specs[0].Exact
		a.why = specs[0].Why
	}
	a.trainer, err = j.Algorithm.New(a.scope, algo.On(a.scope, entry, j.EnvOptions, saw), j.Config)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s on %s: %w", j.Algorithm.Name, j.Env.ID, err), a.scope.Close())
	}
	return a, nil
}

// loadWeights takes parameters and statistics over from a checkpoint of the
// same algorithm, whatever run it belongs to.
func (a *assembly) loadWeights(f checkpoint.File) error {
	st, err := state(a.scope, f)
	if err != nil {
		return err
	}
	if err := a.scope.LoadWeights(st); err != nil {
		return fmt.Errorf("%w: those weights are of another network than this run's", err)
	}
	return nil
}
