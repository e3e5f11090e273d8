// Package author is an algorithm in a module of its own.
package author

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Config has nothing to set.
type Config struct {
	Envs int `default:"2"`
}

// Algorithm walks at random.
var Algorithm = algo.Define("walk", "walks at random", nil, build)

// Trainer acts and does not learn.
type Trainer struct {
	env  env.Batch
	move *rl.Func[rl.Obs, rl.Tree]
}

func build(s *rl.Scope, make algo.MakeEnv, c *Config) (rl.Trainer, error) {
	e, err := make.Batch(c.Envs)
	if err != nil {
		return nil, err
	}
	return &Trainer{env: e, move: rl.NewFunc(s, "move", moveGraph)}, nil
}

func moveGraph(_ *rl.Ctx, o rl.Obs) rl.Tree { return o.X }

// Train is the algorithm.
//
//weft:train
func (t *Trainer) Train(run *rl.Run) error {
	for run.Next() {
		out := t.env.Step(t.move.Call(run.Key("move"), t.env.Obs()))
		run.Log("reward", out.Reward)
	}
	return run.Err()
}

// Agent is nobody.
func (t *Trainer) Agent() rl.Agent { return nil }
