package runner

import (
	"errors"
	"fmt"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/rl"
)

// dataset is a component that a loop without environments learns from.
type dataset interface {
	Spaces() (obs, action rl.Space)
	Fits(obs, action rl.Space) error
}

// fromData returns the spec that an agent has which was trained without environments: that of the
// environment that it is evaluated in, or, without one, the spaces of the data that it learns from.
func fromData(s *rl.Scope, j Job) (env.Spec, error) {
	var set dataset
	for _, name := range rl.System.Components(s) {
		if d, ok := rl.System.Component(s, name).(dataset); ok && set == nil {
			set = d
		}
	}
	if set == nil {
		return env.Spec{}, fmt.Errorf("algorithm %s neither makes an environment nor learns from data", j.Algorithm.Name)
	}
	obs, action := set.Spaces()
	spec := env.Spec{ID: "data", Obs: obs, Action: action}
	if j.Env.ID != "" {
		var err error
		if spec, err = specOf(s.Child("fit"), j); err == nil {
			err = set.Fits(spec.Obs, spec.Action)
		}
		if err != nil {
			return spec, fmt.Errorf("%s cannot be evaluated in %s: %w", j.Algorithm.Name, j.Env.ID, err)
		}
	}
	spec.Graph, spec.Exact, spec.Envs = true, true, 0 // as far as the training goes
	return spec, nil
}

// specOf opens the job's environment once, to see its spec.
func specOf(s *rl.Scope, j Job) (spec env.Spec, err error) {
	defer func() { err = errors.Join(err, s.Close()) }()
	b, err := env.Open(s, wrap.Entry(j.Env, j.Wrap.Silent(), j.Dir), 1, j.EnvOptions)
	if err != nil {
		return spec, err
	}
	return b.Spec(), nil
}
