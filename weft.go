// Package weft is everything that comes with Weft: the built-in algorithms and
// environments, ready for a command line (package app) of one's own.
package weft

import (
	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/algo/ppo"
	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/classic"
	"github.com/weft-rl/weft/env/debug"
	"github.com/weft-rl/weft/env/gym"
)

// Builtin is what the weft command knows.
func Builtin() app.Set {
	return app.Set{
		Algorithms:   []algo.Algorithm{ppo.Algorithm},
		Environments: append(append(classic.All[:0:0], classic.All...), debug.All...),
		Schemes:      []env.Scheme{gym.Scheme, gym.AtariScheme},
	}
}
