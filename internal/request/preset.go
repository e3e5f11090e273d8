package request

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/internal/config"
)

// choose finds the preset, and fills in what it decides: the environment if none
// was named, and the steps.
func (r *Request) choose(s *Set) ([]config.Assignment, error) {
	if r.Found.Algorithm.Name == "" || r.Env != "" && r.Found.Env.ID == "" {
		return nil, nil // which preset is meant depends on what is unknown
	}
	p, err := r.preset()
	if err != nil {
		return nil, err
	}
	if r.Env == "" && (p.Env != "" || !r.Found.Algorithm.Offline) {
		r.Env = p.Env
		if r.Found.Env, err = s.Environment(p.Env); err != nil {
			return nil, fmt.Errorf("preset %s of %s: %w", p.Name, r.Found.Algorithm.Name, err)
		}
	}
	r.Preset = p.Name
	if r.Steps == 0 {
		r.Steps = p.Steps
	}
	return assignments(r.Found.Algorithm, p)
}

// preset returns the preset that is asked for: by default an environment's own, if it has one, or,
// without an environment, the algorithm's first.
func (r *Request) preset() (algo.Preset, error) {
	name := r.Preset
	if name == "" && r.Env != "" && !r.Found.Algorithm.Offline {
		name = "default"
	}
	var names []string
	for _, p := range r.suitable() {
		if p.Name == name || name == "" {
			return p, nil
		}
		names = append(names, p.Name)
	}
	switch {
	case r.Preset == "" && r.Env == "" && !r.Found.Algorithm.Offline:
		return algo.Preset{}, fmt.Errorf("--env is needed: %s has no preset", r.Found.Algorithm.Name)
	case r.Preset == "":
		return algo.Preset{}, nil
	case len(names) == 0 && r.Env != "":
		return algo.Preset{}, fmt.Errorf("--preset: %s has none for %s", r.Found.Algorithm.Name, r.Found.Env.ID)
	}
	return algo.Preset{}, fmt.Errorf("--preset: %w", Unknown("preset", r.Preset, slices.Compact(names), "weft list algorithms "+r.Found.Algorithm.Name))
}

// suitable returns the presets for the environment, those that suit it best first: those that name
// it, or, without its scheme, the same task (gym:CartPole-v1), those for its kind, and, if that is
// not known, the first one for a kind. Without an environment these are all that name one.
func (r *Request) suitable() (out []algo.Preset) {
	all, id := r.Found.Algorithm.Presets, r.Found.Env.ID
	if r.Found.Algorithm.Offline { // what it learns from is no environment
		return all
	}
	_, task, _ := strings.Cut(id, ":")
	for _, fits := range []func(algo.Preset) bool{
		func(p algo.Preset) bool { return p.Env != "" && (r.Env == "" || p.Env == id) },
		func(p algo.Preset) bool { return p.Env != "" && p.Env == task },
		func(p algo.Preset) bool { return r.Env != "" && p.Kind != "" && p.Kind == r.Found.Env.Kind },
	} {
		for _, p := range all {
			if fits(p) {
				out = append(out, p)
			}
		}
	}
	if i := slices.IndexFunc(all, func(p algo.Preset) bool { return p.Kind != "" }); len(out) == 0 && i >= 0 {
		return all[i : i+1]
	}
	return out
}

// assignments returns what a preset sets.
func assignments(a algo.Algorithm, p algo.Preset) (out []config.Assignment, err error) {
	set, err := PresetSettings(a, p)
	if err != nil {
		return nil, err
	}
	for _, text := range set {
		a, err := config.ParseSet(text, "preset "+p.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

// PresetSettings lists how a preset differs from the defaults, as key=value.
func PresetSettings(a algo.Algorithm, p algo.Preset) ([]string, error) {
	c := a.Config()
	if err := config.Defaults(c); err != nil {
		return nil, err
	}
	before, err := config.Map(c)
	if err != nil {
		return nil, err
	}
	if err := p.Apply(c); err != nil {
		return nil, err
	}
	after, err := config.Map(c)
	if err != nil {
		return nil, err
	}
	out := slices.Clone(p.Set)
	for i, x := range after {
		if x != before[i] {
			out = append(out, x.Key+"="+x.Value)
		}
	}
	return out, nil
}
