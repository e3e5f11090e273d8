package request

import (
	"strings"

	"github.com/weft-rl/weft/internal/config"
)

// Setting is a setting of a request as it counts, and where that was said.
type Setting struct {
	Key     string `json:"key"` // as in a run file; an environment's own is env?key
	Value   string `json:"value"`
	Default string `json:"default"`
	Source  string `json:"source"` // such as "default", "preset quick", "run.yaml:7" or "--set"
}

// Changed reports whether the value is not the default.
func (s Setting) Changed() bool { return s.Value != s.Default }

// Sources of what nobody has written down.
const (
	sourceDefault = "default"
	sourceDerived = "worked out"
)

// Origins lists the settings of a resolved request: the run's, the algorithm's, the environment's.
// The layers are those that it was resolved from.
func (r *Request) Origins(l Layers) ([]Setting, error) {
	own, forAlgorithm := split(l.File)
	out, err := origins(&r.Settings, "", gathered(own), l.Deploy, l.Flags)
	if err != nil {
		return nil, err
	}
	preset, err := r.presetSets()
	if err != nil {
		return nil, err
	}
	for i, x := range out {
		if x.Source == sourceDerived && preset != nil && (x.Key == "env" || x.Key == "steps" || x.Key == "preset") {
			out[i].Source = "preset " + r.Preset
		}
	}
	if r.Found.Config != nil {
		more, err := origins(r.Found.Config, "set.", preset, forAlgorithm, l.Set)
		if err != nil {
			return nil, err
		}
		out = append(out, more...)
	}
	if r.Found.EnvOptions == nil {
		return out, nil
	}
	_, named, err := Options(r.Env)
	if err != nil {
		return nil, err
	}
	more, err := origins(r.Found.EnvOptions, "env?", r.shared(), named)
	return append(out, more...), err
}

// Kinds returns the kinds of all settings of a run of an algorithm, by their keys in a run file.
func (s *Set) Kinds(algorithm string) (map[string]string, error) {
	a, err := s.Algorithm(algorithm)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for prefix, of := range map[string]any{"": &Settings{}, "set.": a.Config()} {
		fields, err := config.Fields(of)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			out[prefix+f.Key] = f.Kind
		}
	}
	return out, nil
}

// presetSets returns what the request's preset sets; nil if it has none.
func (r *Request) presetSets() ([]config.Assignment, error) {
	p, err := r.preset()
	if err != nil || p.Name == "" {
		return nil, err
	}
	set, err := assignments(r.Found.Algorithm, p)
	if set == nil {
		set = []config.Assignment{}
	}
	return set, err
}

// origins lists the settings of the struct that ptr points to with the last source that named each.
func origins(ptr any, prefix string, layers ...[]config.Assignment) (out []Setting, err error) {
	fields, err := config.Fields(ptr)
	if err != nil {
		return nil, err
	}
	for _, f := range fields {
		x := Setting{Key: prefix + f.Key, Value: f.Value, Default: f.Normal, Source: sourceDefault}
		if x.Changed() {
			x.Source = sourceDerived
		}
		for _, layer := range layers {
			for _, a := range layer {
				if a.Key == f.Key {
					x.Source = strings.TrimSpace(a.Source)
				}
			}
		}
		out = append(out, x)
	}
	return out, nil
}
