package runner

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/rl"
)

// specsKey is the key of a checkpoint's metadata under which the run's environments are described.
const specsKey = "environments"

// dataKey is the key under which the data set is described that the run learns from.
const dataKey = "data"

// describedSet returns the name of the description of a scope's data set; empty if it has none, or
// several.
func describedSet(s *rl.Scope) (name string, err error) {
	var found []data.Meta
	for _, c := range rl.System.Components(s) {
		if d, ok := rl.System.Component(s, c).(interface{ Meta() data.Meta }); ok {
			found = append(found, d.Meta())
		}
	}
	if len(found) != 1 {
		return "", nil
	}
	return data.Describe(found[0])
}

// withoutData has the job of an agent take the description of its data set, if there is one, where
// the set is not there any more.
func withoutData(j Job, described string) error {
	if described == "" || j.Config == nil {
		return nil
	}
	fields, err := config.Fields(j.Config)
	if err != nil {
		return err
	}
	fields = slices.DeleteFunc(fields, func(f config.Field) bool { return f.Names != "data set" || f.Value == "" })
	if len(fields) != 1 || data.Registered(fields[0].Value) {
		return nil
	}
	if _, err := os.Stat(fields[0].Value); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return config.Set(j.Config, []config.Assignment{{Key: fields[0].Key, Value: described, Source: "checkpoint"}})
}

// specText is a spec as JSON.
type specText struct {
	env.Spec
	Obs, Action json.RawMessage // in place of the spec's
}

// formatSpecs describes environments, by kind of agents.
func formatSpecs(specs []env.Spec) (string, error) {
	all := make([]specText, len(specs))
	for i, s := range specs {
		var err error
		all[i].Spec = s
		if all[i].Obs, err = data.FormatSpace(s.Obs); err == nil {
			all[i].Action, err = data.FormatSpace(s.Action)
		}
		if err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// parseSpecs reads what formatSpecs returned.
func parseSpecs(text string) (specs []env.Spec, err error) {
	var all []specText
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		return nil, err
	}
	for _, x := range all {
		if x.Spec.Obs, err = data.ParseSpace(x.Obs); err == nil {
			x.Spec.Action, err = data.ParseSpace(x.Action)
		}
		if err != nil {
			return nil, err
		}
		specs = append(specs, x.Spec)
	}
	return specs, nil
}

// described returns the job with environments that have nothing but their specs, as the agents saw
// them in training. Environments that are graph functions stay: they are part of this program, and
// an agent may search through them. So do all if the checkpoint, of an older version, does not
// describe them.
func described(j Job, text string) Job {
	specs, err := parseSpecs(text)
	if err != nil || len(specs) == 0 || specs[0].Graph || j.Env.SelfPlay != nil {
		return j
	}
	j.Env.New = nil
	j.Env.NewGroups = func(_ *rl.Scope, n int, _ any) (env.Groups, error) {
		all := make(absent, len(specs))
		for i, s := range specs {
			s.First, s.Rows, s.Envs = 0, n, n
			all[i] = s
		}
		return all, nil
	}
	j.Wrap, j.EvalWrap = nil, nil // the specs are those of the wrapped environments
	return j
}

// absent stands for environments that are not there: it has their specs.
type absent []env.Spec

func (a absent) Spec() []env.Spec { return a }

func (a absent) Obs() []rl.Obs { panic(a.refusal()) }

func (a absent) Step([]rl.Tree) []rl.Step { panic(a.refusal()) }

func (a absent) refusal() string {
	return "runner: a loaded agent has the specs of " + a[0].ID + " and no environments"
}

// Axis returns that of environments.
func (absent) Axis() rl.Axis { return rl.Envs }

// Save puts nothing.
func (absent) Save(*rl.State) {}

// Load takes nothing: the state of environments is none of an agent's.
func (absent) Load(*rl.State) error { return nil }
