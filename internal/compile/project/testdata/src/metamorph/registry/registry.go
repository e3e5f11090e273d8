// Package registry is where packages of generated loops put what can be run.
package registry

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/rl"
)

// Loop is a trainer with its programs.
type Loop struct {
	New       func(*rl.Scope, algo.MakeEnv, int) (rl.Trainer, error)
	Groupings []edge.Grouping
}

// Loops are all of them, by name.
var Loops = map[string]Loop{}

// Add makes a loop known.
func Add[T rl.Trainer](name string, f func(*rl.Scope, algo.MakeEnv, int) (T, error), groupings ...edge.Grouping) {
	Loops[name] = Loop{func(s *rl.Scope, m algo.MakeEnv, n int) (rl.Trainer, error) { return f(s, m, n) }, groupings}
}
