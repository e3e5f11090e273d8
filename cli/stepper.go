package cli

import (
	"errors"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/bench"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/rl"
)

// stepper makes environments for a benchmark, without the guard that a run has:
// what others are measured without.
func (c *command) stepper(name string, n int, python string) (bench.Stepper, error) {
	id, set, err := request.Options(name)
	if err != nil {
		return nil, err
	}
	r := &request.Request{}
	if r.Found.Env, err = c.set.Environment(id); err != nil {
		return nil, errors.Join(bench.ErrNoEnv, err)
	}
	r.Python = python
	if err := r.SetEnv(set); err != nil {
		return nil, err
	}
	d, err := device.Open(device.Default)
	if err != nil {
		return nil, err
	}
	s := &stepper{scope: rl.NewScope(d, 1)}
	err = rl.Catch(func() error {
		s.batch, err = r.Found.Env.New(s.scope, n, r.Found.EnvOptions)
		return err
	})
	if err != nil {
		return nil, errors.Join(err, s.scope.Close())
	}
	for i := range s.actions {
		s.actions[i] = env.Sample(s.scope, s.batch.Spec(), s.batch.Obs(), s.scope.Key("bench").Fold(uint64(i)))
	}
	return s, nil
}

// stepper steps environments with a few sets of random actions by turns: drawing
// them is not what is measured.
type stepper struct {
	scope   *rl.Scope
	batch   env.Batch
	actions [16]rl.Tree
	at      int
}

func (s *stepper) Step() error {
	return rl.Catch(func() error {
		s.batch.Step(s.actions[s.at%len(s.actions)])
		s.at++
		return nil
	})
}

func (s *stepper) Close() error { return s.scope.Close() }
