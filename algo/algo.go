package algo

import (
	"errors"
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
	// Offline is true of an algorithm that learns from a data set and asks for no environments:
	// one that a run names is for evaluation alone. Its steps are iterations.
	Offline bool
	// New constructs the trainer in a scope. It asks make for its environments.
	New func(s *rl.Scope, make MakeEnv, config any) (rl.Trainer, error)
}

// MakeEnv gives an algorithm as many environments as it asks for, in the form
// that it can train on.
type MakeEnv interface {
	// Batch is environments with one kind of agent; an error where there are more.
	//
	//weft:makes
	Batch(n int) (env.Batch, error)
	// Groups is environments with any number of kinds.
	//
	//weft:makes
	Groups(n int) (env.Groups, error)
	// SelfPlay is environments of a game in which one agent moves for both seats; an error where
	// there is no such game.
	//
	//weft:makes
	SelfPlay(n int) (env.Batch, error)
	// Single is environments in which one agent has every move: SelfPlay's of a game, and Batch's
	// of anything else.
	//
	//weft:makes
	Single(n int) (env.Batch, error)
	// As gives environments beside the first ones, under a name of their own.
	As(name string) MakeEnv
}

// On makes environments of an entry in a scope. saw, unless nil, is told the
// specs of all that are made.
func On(s *rl.Scope, e env.Entry, options any, saw func([]env.Spec)) MakeEnv {
	if saw == nil {
		saw = func([]env.Spec) {}
	}
	return maker{s, e, options, saw, env.Name}
}

type maker struct {
	scope   *rl.Scope
	entry   env.Entry
	options any
	saw     func([]env.Spec)
	name    string
}

// named returns an error unless there is an environment to make.
func (m maker) named() error {
	if m.entry.ID == "" {
		return errors.New("no environment is named to act in: --env names one")
	}
	return nil
}

func (m maker) Batch(n int) (env.Batch, error) { return m.batch(n, env.OpenAs) }

func (m maker) SelfPlay(n int) (env.Batch, error) { return m.batch(n, env.OpenSelfPlayAs) }

func (m maker) Single(n int) (env.Batch, error) {
	if m.entry.SelfPlay != nil {
		return m.SelfPlay(n)
	}
	return m.Batch(n)
}

// batch makes environments with one kind of agent by one of package env's functions.
func (m maker) batch(n int, open func(*rl.Scope, string, env.Entry, int, any) (env.Batch, error)) (env.Batch, error) {
	if err := m.named(); err != nil {
		return nil, err
	}
	b, err := open(m.scope, m.name, m.entry, n, m.options)
	if err == nil {
		m.saw([]env.Spec{b.Spec()})
	}
	return b, err
}

func (m maker) Groups(n int) (env.Groups, error) {
	if err := m.named(); err != nil {
		return nil, err
	}
	g, err := env.OpenGroupsAs(m.scope, m.name, m.entry, n, m.options)
	if err == nil {
		m.saw(g.Spec())
	}
	return g, err
}

func (m maker) As(name string) MakeEnv {
	m.name = name
	return m
}

// Preset is settings for an environment, with the steps that they are meant for.
type Preset struct {
	Name  string // "default" is used when the environment is named and no preset is
	Env   string
	Kind  env.Kind // kind of environments that no preset names, instead of Env
	Doc   string
	Steps int64
	Set   []string // key=value
	apply func(config any) error
}

// For returns the preset "default" for an environment: how its settings, a C,
// differ from the defaults, as a function that sets them.
func For[C any](env string, steps int64, doc string, set func(*C)) Preset {
	return Preset{Name: "default", Env: env, Doc: doc, Steps: steps, apply: func(config any) error {
		c, ok := config.(*C)
		if !ok {
			return fmt.Errorf("preset %q is for settings of type %T, not %T", doc, c, config)
		}
		set(c)
		return nil
	}}
}

// ForKind returns the preset "default" for the environments of a kind that no preset names. The
// first one also serves those whose kind is not known.
func ForKind[C any](kind env.Kind, steps int64, doc string, set func(*C)) Preset {
	p := For("", steps, doc, set)
	p.Kind = kind
	return p
}

// Named returns the preset under another name, under which it has to be asked for.
func (p Preset) Named(name string) Preset {
	p.Name = name
	return p
}

// Apply sets what the preset's function sets, if it has one.
func (p Preset) Apply(config any) error {
	if p.apply == nil {
		return nil
	}
	return p.apply(config)
}

// DefineOffline does what Define does for an algorithm that learns from a data set, which one of
// its settings names, and steps no environment. Its constructor uses make for nothing.
//
//weft:defines function=3
func DefineOffline[C any](name, doc string, presets []Preset, build func(*rl.Scope, MakeEnv, *C) (rl.Trainer, error)) Algorithm {
	a := Define(name, doc, presets, build)
	a.Offline = true
	return a
}

// Define returns an algorithm whose settings are a C.
//
//weft:defines function=3
func Define[C any](name, doc string, presets []Preset, build func(*rl.Scope, MakeEnv, *C) (rl.Trainer, error)) Algorithm {
	return Algorithm{
		Name: name, Doc: doc, Presets: presets,
		Config: func() any { return new(C) },
		New: func(s *rl.Scope, make MakeEnv, config any) (t rl.Trainer, err error) {
			c, ok := config.(*C)
			if !ok {
				return nil, fmt.Errorf("algorithm %s: settings must be a %T, not a %T", name, c, config)
			}
			err = rl.Catch(func() (err error) {
				t, err = build(s, make, c)
				return err
			})
			return t, err
		},
	}
}
