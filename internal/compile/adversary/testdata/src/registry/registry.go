// Package registry is where packages of generated loops put their constructors.
package registry

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/compile/adversary/testdata/src/job"
	"github.com/weft-rl/weft/rl"
)

// New constructs a trainer.
type New func(*rl.Scope, algo.MakeEnv, *job.Config) (rl.Trainer, error)

// Loops holds all constructors by the loop's name.
var Loops = map[string]New{}

// Add makes a loop known.
func Add[T rl.Trainer](name string, f func(*rl.Scope, algo.MakeEnv, *job.Config) (T, error)) {
	Loops[name] = func(s *rl.Scope, m algo.MakeEnv, c *job.Config) (rl.Trainer, error) { return f(s, m, c) }
}
