// Package algo is what an algorithm's package offers to whoever runs it: a name,
// a typed configuration, presets, and a constructor. The built-in algorithms
// are in its folders; an author's own, in another module, are made the same way.
package algo

import (
	"fmt"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// Algorithm is one algorithm, as data.
type Algorithm struct {
	Name string
	Doc  string // one line
	// Config makes a pointer to the struct of settings. Defaults, ranges and
	// documentation are in its tags.
	Config func() any
	// Presets are settings that are known to work well, the first one being what
	// runs when no environment is named.
	Presets []Preset
	// New constructs the trainer in a scope. It asks make for its environments.
	New func(s *rl.Scope, make MakeEnv, config any) (rl.Trainer, error)
}

// MakeEnv gives an algorithm as many environments as it asks for.
type MakeEnv func(n int) (env.Batch, error)

// Preset is settings for an environment, with the steps that they are meant for.
type Preset struct {
	Name  string // "default" is used when the environment is named and no preset is
	Env   string
	Doc   string
	Steps int64
	Set   []string // key=value
}

// Define is an algorithm whose settings are a C.
func Define[C any](name, doc string, presets []Preset, build func(*rl.Scope, MakeEnv, *C) (rl.Trainer, error)) Algorithm {
	return Algorithm{
		Name: name, Doc: doc, Presets: presets,
		Config: func() any { return new(C) },
		New: func(s *rl.Scope, make MakeEnv, config any) (t rl.Trainer, err error) {
			c, ok := config.(*C)
			if !ok {
				return nil, fmt.Errorf("algorithm %s: its settings are a %T, not a %T", name, c, config)
			}
			err = rl.Catch(func() (err error) {
				t, err = build(s, make, c)
				return err
			})
			return t, err
		},
	}
}
