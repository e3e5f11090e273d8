// Package env is an author's own environment: say whether the number is even.
package env

import (
	"strconv"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Options are the settings of the environment.
type Options struct {
	Numbers int `default:"6" range:"[2,)" doc:"how many numbers there are"`
}

// Environment is Parity-v0.
var Environment = env.Entry{
	ID: "Parity-v0", Doc: "say whether the number is even",
	Options: func() any { return &Options{Numbers: 6} },
	New: func(s *rl.Scope, n int, options any) (env.Batch, error) {
		numbers := options.(*Options).Numbers
		spec := env.Spec{ID: "Parity-v0", Obs: rl.Discrete{N: numbers}, Action: rl.Discrete{N: 2}, Limit: 10}
		return env.Hosts(s, n, spec, func(int) (env.Host, error) { return &parity{numbers: numbers}, nil })
	},
}

type parity struct{ numbers, shown int }

func (p *parity) Reset(k rl.Key, obs env.Row) {
	p.shown = k.IntN(0, 0, p.numbers)
	obs.Int32("")[0] = int32(p.shown)
}

func (p *parity) Step(k rl.Key, action, obs env.Row) (reward float64, terminated, truncated bool) {
	if int(action.Int32("")[0]) == p.shown%2 {
		reward = 1
	}
	p.Reset(k, obs)
	return reward, false, false
}

func (p *parity) MarshalBinary() ([]byte, error) {
	return strconv.AppendInt(nil, int64(p.shown), 10), nil
}

func (p *parity) UnmarshalBinary(data []byte) (err error) {
	p.shown, err = strconv.Atoi(string(data))
	return err
}
