package app

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/local"
)

// settings are what belongs to a run and not to its algorithm. They stand in the
// file that --config reads and in the one that every run folder holds, together
// with the algorithm's own under "set".
type settings struct {
	Algorithm       string        `doc:"algorithm, by name or by the path of its package"`
	Env             string        `doc:"environment, by id or by the path of its package; settings may follow, as in Memory-v0?delay=10"`
	Preset          string        `doc:"settings to start from; weft list algorithms NAME shows them"`
	Policy          string        `default:"plain" oneof:"plain" doc:"distribution policy"`
	Workers         int           `default:"1" unit:"workers" range:"[1,1]" doc:"replicas that the policy makes; plain has one"`
	Device          string        `default:"cpu" doc:"what computes"`
	Steps           int64         `default:"0" unit:"steps" range:"[0,)" doc:"environment steps to train, over all environments; 0 is what the preset says"`
	Seed            uint64        `default:"1" doc:"seed of everything random"`
	EvalEvery       int64         `default:"0" unit:"steps" range:"[0,)" doc:"steps between greedy evaluations; 0 is only at the end"`
	EvalEpisodes    int           `default:"100" unit:"episodes" range:"[0,)" doc:"episodes of an evaluation; 0 is none at all"`
	CheckpointEvery time.Duration `default:"15s" range:"[0s,)" doc:"time between checkpoints"`
	CheckpointSteps int64         `default:"0" unit:"steps" range:"[0,)" doc:"steps between checkpoints, beside the time; 0 is no bound"`
	Keep            int           `default:"3" unit:"checkpoints" range:"[1,)" doc:"checkpoints kept, the best one apart"`
	From            string        `doc:"run folder whose weights to start from"`
}

// request is a training run as it was asked for.
type request struct {
	settings
	algorithm  algo.Algorithm
	config     any // the algorithm's settings
	entry      env.Entry
	envOptions any
}

// layers are where settings come from, the later ones overriding.
type layers struct {
	file  []config.Assignment // --config
	flags []config.Assignment // single flags
	set   []config.Assignment // --set, the algorithm's
}

// resolve turns what was asked for into a request, or reports everything that is
// wrong with it.
func (s *Set) resolve(l layers) (*request, error) {
	r := &request{}
	if err := config.Defaults(&r.settings); err != nil {
		return nil, err
	}
	own, forAlgorithm := split(l.file)
	errs := []error{config.Set(&r.settings, own, l.flags)}

	var err error
	if r.algorithm, err = s.algorithm(r.Algorithm); err != nil {
		errs = append(errs, err)
	}
	preset, err := r.choose()
	errs = append(errs, err)
	var envSet []config.Assignment
	if r.entry, envSet, err = s.environment(r.Env); err != nil {
		errs = append(errs, err)
	}
	if r.algorithm.Config != nil {
		r.config = r.algorithm.Config()
		errs = append(errs, config.Defaults(r.config), config.Set(r.config, preset, forAlgorithm, l.set))
	}
	errs = append(errs, r.setEnv(envSet), checkDevice(r.Device))
	if r.Steps == 0 {
		errs = append(errs, fmt.Errorf("--steps is needed: %s has no preset for %s", r.Algorithm, r.Env))
	}
	errs = append(errs, absolute(&r.Algorithm), absolute(&r.Env))
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return r, nil
}

// absolute makes the path of a package independent of where the command runs,
// because a run may be resumed from elsewhere.
func absolute(name *string) error {
	path, query, found := strings.Cut(*name, "?")
	if !isPath(path) {
		return nil
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	*name = path
	if found {
		*name += "?" + query
	}
	return nil
}

// split divides a file's settings into the run's and the algorithm's.
func split(file []config.Assignment) (own, forAlgorithm []config.Assignment) {
	for _, a := range file {
		if key, ok := strings.CutPrefix(a.Key, "set."); ok {
			a.Key = key
			forAlgorithm = append(forAlgorithm, a)
		} else {
			own = append(own, a)
		}
	}
	return own, forAlgorithm
}

// choose finds the preset, and fills in what it decides: the environment if none
// was named, and the steps.
func (r *request) choose() ([]config.Assignment, error) {
	var p algo.Preset
	switch {
	case r.algorithm.Name == "":
		return nil, nil
	case r.Env == "" && r.Preset == "":
		if len(r.algorithm.Presets) == 0 {
			return nil, fmt.Errorf("--env is needed: %s has no preset", r.Algorithm)
		}
		p = r.algorithm.Presets[0]
	case r.Env == "":
		for _, x := range r.algorithm.Presets {
			if x.Name == r.Preset && p.Name == "" {
				p = x
			}
		}
	default:
		id, _, _ := strings.Cut(r.Env, "?")
		name := r.Preset
		if name == "" {
			name = "default"
		}
		p, _ = r.algorithm.Preset(name, id)
	}
	if p.Name == "" && r.Preset != "" {
		return nil, fmt.Errorf("--preset: %s has no preset %q for %q (weft list algorithms %s shows them)", r.Algorithm, r.Preset, r.Env, r.Algorithm)
	}
	if r.Env == "" {
		r.Env = p.Env
	}
	r.Preset = p.Name
	if r.Steps == 0 {
		r.Steps = p.Steps
	}
	return assignments(p)
}

func assignments(p algo.Preset) (out []config.Assignment, err error) {
	for _, text := range p.Set {
		a, err := config.ParseSet(text, "preset "+p.Name)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	return out, nil
}

func (r *request) setEnv(set []config.Assignment) error {
	if r.entry.Options == nil {
		if len(set) > 0 && r.entry.ID != "" {
			return fmt.Errorf("--env: %s has no settings", r.entry.ID)
		}
		return nil
	}
	r.envOptions = r.entry.Options()
	return errors.Join(config.Defaults(r.envOptions), config.Set(r.envOptions, set))
}

func checkDevice(name string) error {
	for _, n := range device.Names() {
		if n == name {
			return nil
		}
	}
	return fmt.Errorf("--device: no device %q, there is %s", name, strings.Join(device.Names(), ", "))
}

// job is the request as the runner takes it.
func (r *request) job() (local.Job, error) {
	d, err := device.Open(r.Device)
	if err != nil {
		return local.Job{}, err
	}
	return local.Job{
		Algorithm: r.algorithm, Config: r.config, Env: r.entry, EnvOptions: r.envOptions,
		Device: d, Seed: r.Seed, Steps: r.Steps,
		CheckpointEvery: r.CheckpointEvery, CheckpointSteps: r.CheckpointSteps, Keep: r.Keep,
		EvalEvery: r.EvalEvery, EvalEpisodes: r.EvalEpisodes,
	}, nil
}

// readFile reads a file of settings.
func readFile(path string) ([]config.Assignment, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return config.ParseYAML(data, path)
}

// yaml is the full configuration of a run: what --config reads.
func (r *request) yaml() ([]byte, error) {
	own, err := config.YAML(&r.settings)
	if err != nil {
		return nil, err
	}
	theirs, err := config.YAML(r.config)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	b.Write(own)
	b.WriteString("\n# settings of the algorithm\nset:\n")
	for line := range strings.Lines(string(theirs)) {
		if strings.TrimSpace(line) == "" {
			b.WriteString(line)
			continue
		}
		b.WriteString("  " + line)
	}
	return []byte(b.String()), nil
}
