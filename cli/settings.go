package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weft-rl/weft/algo"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/local"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

// settings are what belongs to a run and not to its algorithm. They stand in the
// file that --config reads and in the one that every run folder holds, together
// with the algorithm's own under "set".
type settings struct {
	Algorithm       string `doc:"algorithm, by name or by the path of its package"`
	Env             string `doc:"environment, by id or by the path of its package; settings may follow, as in Memory-v0?delay=10"`
	Wrap            string `doc:"wrappers around the environment, as in time-limit=200,frame-stack=4; weft list wrappers shows them"`
	Preset          string `doc:"settings to start from; weft list algorithms NAME shows them"`
	plan.Deployment        // how the loop is distributed

	Device          string        `default:"cpu" doc:"what computes; weft devices shows what there is"`
	Steps           int64         `default:"0" unit:"steps" range:"[0,)" doc:"environment steps to train, over all environments; 0 is what the preset says"`
	Seed            uint64        `default:"1" doc:"seed of everything random"`
	EvalEvery       int64         `default:"0" unit:"steps" range:"[0,)" doc:"steps between greedy evaluations; 0 is only at the end"`
	EvalEpisodes    int           `default:"100" unit:"episodes" range:"[0,)" doc:"episodes of an evaluation; 0 is none at all"`
	CheckpointEvery time.Duration `default:"15s" range:"(0s,)" doc:"time between checkpoints"`
	CheckpointSteps int64         `default:"0" unit:"steps" range:"[0,)" doc:"steps between checkpoints, beside the time; 0 is no bound"`
	Keep            int           `default:"3" unit:"checkpoints" range:"[1,)" doc:"checkpoints kept, the best one apart"`
	From            string        `doc:"run folder whose weights to start from: those that evaluated best, or the newest if none were evaluated"`
	Resume          string        `default:"exact" oneof:"exact restart-episodes" doc:"how the run resumes if its environment cannot save its state: not at all, or with new episodes"`
	Python          string        `doc:"Python interpreter of environments that need one"`
	OnEnvFailure    string        `default:"stop" oneof:"stop restart" doc:"what the failure of an environment in Python does: stop the run, or restart it"`
}

// request is a training run as it was asked for.
type request struct {
	settings
	policy     policy.Policy
	algorithm  algo.Algorithm
	config     any // the algorithm's settings
	entry      env.Entry
	envOptions any
	wrap       wrap.List
	cluster    *plan.Cluster // nil is lanes of this process
	single     bool          // it computes on one device, however many workers share the work
}

// layers are where settings come from, the later ones overriding.
type layers struct {
	file   []config.Assignment // --config
	deploy []config.Assignment // --deployment
	flags  []config.Assignment // single flags
	set    []config.Assignment // --set, the algorithm's
	steps  int64               // where neither a setting nor a preset says how many
}

// sets reports whether a setting of the run was made anywhere.
func (l layers) sets(key string) bool { return l.value(key) != "" }

// value is what a setting of the run was given, the last one counting.
func (l layers) value(key string) (out string) {
	for _, a := range slices.Concat(l.file, l.deploy, l.flags) {
		if a.Key == key {
			out = a.Value
		}
	}
	return out
}

// policy is the one that was asked for.
func (l layers) policy() string { return cmp.Or(l.value("policy"), policy.Plain.Name) }

// resolve turns what was asked for into a request, and reports everything that is
// wrong with it.
func (s *Set) resolve(l layers) (*request, error) {
	r := &request{}
	if len(s.wrong) > 0 {
		return r, errors.Join(s.wrong...)
	}
	own, forAlgorithm := split(l.file)
	errs := []error{r.own(gathered(own), l.deploy, l.flags)}

	var err error
	if r.policy, err = s.policy(r.Policy); err != nil {
		errs = append(errs, fmt.Errorf("--policy: %w", err))
	}
	errs = append(errs, plan.CheckNoFuse(r.NoFuse))
	if r.MaxWorkers > 0 && r.MaxWorkers < r.Workers {
		errs = append(errs, fmt.Errorf("--max-workers: %d is less than the %d workers that it begins with", r.MaxWorkers, r.Workers))
	}
	if r.Policy == policy.Plain.Name && (r.Workers > 1 || r.MaxWorkers > 1 || r.Async) {
		errs = append(errs, errors.New("--policy: plain is one worker, in step with itself: name the policy that is to share the work out (weft list policies shows them)"))
	}
	errs = append(errs, r.checkUsed(l)...)
	if r.algorithm, err = s.algorithm(r.Algorithm); err != nil {
		errs = append(errs, err)
	}
	envSet, err := r.environment(s)
	errs = append(errs, err)
	preset, err := r.choose(s)
	if r.Steps == 0 {
		r.Steps = l.steps
	}
	if err == nil && r.Steps == 0 && r.algorithm.Name != "" && r.entry.ID != "" {
		err = fmt.Errorf("--steps is needed: %s has no preset for %s", r.algorithm.Name, r.entry.ID)
	}
	errs = append(errs, err)
	if r.algorithm.Config != nil {
		r.config = r.algorithm.Config()
		errs = append(errs, config.Defaults(r.config), config.Set(r.config, preset, forAlgorithm, l.set))
	}
	errs = append(errs, r.setEnv(envSet), r.setWrap())
	errs = append(errs, r.checkDevices()...)
	errs = append(errs, absolute(&r.Algorithm), absolute(&r.Env))
	if r.From != "" {
		r.From, err = filepath.Abs(r.From)
		errs = append(errs, err)
	}
	return r, errors.Join(errs...)
}

// checkUsed refuses settings of the distribution that were asked for and would change nothing. Those of files are passed over: a
// run's configuration has all of them, and its policy may be another now.
func (r *request) checkUsed(l layers) (errs []error) {
	asked := slices.Clone(l.flags)
	for _, a := range l.deploy {
		if a.Source == jobSource {
			asked = append(asked, a)
		}
	}
	for _, a := range asked {
		async := slices.Contains([]string{"staleness", "producers", "queue"}, a.Key)
		splits := async || slices.Contains([]string{"replicas", "pipeline", "devices", "placement", "no_fuse"}, a.Key)
		switch {
		case a.Value == "" || a.Value == "0" || a.Value == "false":
		case splits && r.Policy == policy.Plain.Name:
			errs = append(errs, fmt.Errorf("--%s: policy plain does not split the loop, so that this changes nothing: name a policy that does (weft list policies shows them)", strings.ReplaceAll(a.Key, "_", "-")))
		case async && !r.Async:
			errs = append(errs, fmt.Errorf("--%s: it is for asynchronous runs: add --async", a.Key))
		}
	}
	return errs
}

// own sets what belongs to the run. What is right is set even where something
// else is wrong, so that the rest can be judged as well.
func (r *request) own(layers ...[]config.Assignment) error {
	if err := config.Defaults(&r.settings); err != nil {
		return err
	}
	err := config.Set(&r.settings, layers...)
	if err != nil {
		for _, a := range slices.Concat(layers...) {
			_ = config.Set(&r.settings, []config.Assignment{a})
		}
	}
	return err
}

// environment finds the environment, if one was named, and the settings that
// were named with it.
func (r *request) environment(s *Set) ([]config.Assignment, error) {
	if r.Env == "" {
		return nil, nil
	}
	id, set, err := options(r.Env)
	e, missing := s.environment(id)
	r.entry = e
	return set, errors.Join(err, missing)
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
func (r *request) choose(s *Set) ([]config.Assignment, error) {
	if r.algorithm.Name == "" || r.Env != "" && r.entry.ID == "" {
		return nil, nil // which preset is meant depends on what is unknown
	}
	p, err := r.preset()
	if err != nil {
		return nil, err
	}
	if r.Env == "" {
		r.Env = p.Env
		if r.entry, err = s.environment(p.Env); err != nil {
			return nil, fmt.Errorf("preset %s of %s: %w", p.Name, r.algorithm.Name, err)
		}
	}
	r.Preset = p.Name
	if r.Steps == 0 {
		r.Steps = p.Steps
	}
	return assignments(r.algorithm, p)
}

// preset is the one asked for: by default an environment's own, if it has one,
// or, without an environment, the algorithm's first.
func (r *request) preset() (algo.Preset, error) {
	name := r.Preset
	if name == "" && r.Env != "" {
		name = "default"
	}
	var names []string
	for _, p := range r.algorithm.Presets {
		if r.Env != "" && p.Env != r.entry.ID {
			continue
		}
		if p.Name == name || name == "" {
			return p, nil
		}
		names = append(names, p.Name)
	}
	switch {
	case r.Preset == "" && r.Env == "":
		return algo.Preset{}, fmt.Errorf("--env is needed: %s has no preset", r.algorithm.Name)
	case r.Preset == "":
		return algo.Preset{}, nil
	case len(names) == 0:
		return algo.Preset{}, fmt.Errorf("--preset: %s has none for %s", r.algorithm.Name, r.entry.ID)
	}
	return algo.Preset{}, fmt.Errorf("--preset: %w", unknown("preset", r.Preset, slices.Compact(names), "weft list algorithms "+r.algorithm.Name))
}

// assignments returns what a preset sets.
func assignments(a algo.Algorithm, p algo.Preset) (out []config.Assignment, err error) {
	set, err := presetSettings(a, p)
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

// presetSettings lists how a preset differs from the defaults, as key=value.
func presetSettings(a algo.Algorithm, p algo.Preset) ([]string, error) {
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

func (r *request) setEnv(set []config.Assignment) error {
	if r.entry.Options == nil {
		if len(set) > 0 && r.entry.ID != "" {
			return fmt.Errorf("--env: %s has no settings", r.entry.ID)
		}
		return nil
	}
	r.envOptions = r.entry.Options()
	if err := config.Defaults(r.envOptions); err != nil {
		return err
	}
	fields, err := config.Fields(r.envOptions)
	if err != nil {
		return err
	}
	known := func(key string) bool {
		return slices.ContainsFunc(fields, func(f config.Field) bool { return f.Key == key })
	}
	set, err = extra(r.envOptions, set, known)
	shared := slices.DeleteFunc(r.shared(), func(a config.Assignment) bool { return !known(a.Key) })
	return errors.Join(err, config.Set(r.envOptions, shared, set))
}

// shared are the run's settings that environments have under another name, as
// far as they were made.
func (r *request) shared() (out []config.Assignment) {
	if r.Python != "" {
		out = append(out, config.Assignment{Key: "python", Value: r.Python, Source: "--python"})
	}
	if r.OnEnvFailure == "restart" {
		out = append(out, config.Assignment{Key: "on_failure", Value: r.OnEnvFailure, Source: "--on-env-failure"})
	}
	return out
}

// extra gives options what is none of their settings, if they take that, and
// returns the rest.
func extra(options any, set []config.Assignment, known func(key string) bool) (rest []config.Assignment, err error) {
	e, ok := options.(env.Extra)
	if !ok {
		return set, nil
	}
	var errs []error
	for _, a := range set {
		if known(a.Key) {
			rest = append(rest, a)
		} else if err := e.SetExtra(a.Key, a.Value); err != nil {
			errs = append(errs, fmt.Errorf("--env: %w", err))
		}
	}
	return rest, errors.Join(errs...)
}

func (r *request) setWrap() (err error) {
	if r.wrap, err = wrap.Parse(r.Wrap); err != nil {
		return fmt.Errorf("--wrap: %w", err)
	}
	r.Wrap = r.wrap.String()
	for _, file := range r.wrap.Files() {
		if part.Own(filepath.Clean(file)) {
			return fmt.Errorf("--wrap: %s is a file of the run's own: choose another name", filepath.Clean(file))
		}
	}
	return nil
}

// checkDevices sees that all names are of devices, and only those of several at once
// where the loop is one program.
func (r *request) checkDevices() (errs []error) {
	for i, name := range r.devices() {
		err := device.Check(name)
		if err == nil && device.Count(name) > 1 && (i > 0 || !r.policy.Lowered) {
			err = fmt.Errorf("%s is %d devices, which a loop that is one program can be shared out among (--policy gpu-only): name one for each group", name, device.Count(name))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("--device: %w", err))
		}
	}
	if _, err := r.device(); err != nil && len(errs) == 0 {
		errs = append(errs, fmt.Errorf("--workers: %w", err))
	}
	return errs
}

// device is what the run computes on. A loop that is one program takes as many devices
// as there are workers to share the work, from the one that is named on.
func (r *request) device() (string, error) {
	if !r.policy.Lowered || r.single || r.cluster != nil {
		return r.Device, nil
	}
	return device.Several(r.Device, r.Workers)
}

// job is the request as the runner takes it.
func (r *request) job() (local.Job, error) {
	name, err := r.device()
	if err != nil {
		return local.Job{}, err
	}
	d, err := device.Open(name)
	if err != nil {
		return local.Job{}, err
	}
	return local.Job{
		Plan: r.plan(), Algorithm: r.algorithm, Config: r.config, Env: r.entry, EnvOptions: r.envOptions, Wrap: r.wrap,
		Device: d, Open: device.Open, Seed: r.Seed, Steps: r.Steps,
		CheckpointEvery: r.CheckpointEvery, CheckpointSteps: r.CheckpointSteps, Keep: r.Keep,
		EvalEvery: r.EvalEvery, EvalEpisodes: r.EvalEpisodes, From: r.From,
		RestartEpisodes: r.Resume == "restart-episodes",
	}, nil
}

// plan is what decides how the loop is distributed; nil for the plain loop.
func (r *request) plan() func(plan.Problem) (plan.Plan, error) {
	if r.Policy == policy.Plain.Name {
		return nil
	}
	return func(on plan.Problem) (plan.Plan, error) {
		p, err := r.policy.Make(r.problem(on))
		if err != nil {
			return p, err
		}
		return p.Fuse(on.Graph, r.NoFuse), nil
	}
}

// devices are all that the run may compute on, its own first.
func (r *request) devices() []string {
	own, err := r.device()
	if err != nil { // said by checkDevices
		own = r.Device
	}
	out := []string{own}
	for _, name := range append(r.DeviceNames(), plan.CPU) {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// problem completes what a policy has to solve by what the request says.
func (r *request) problem(on plan.Problem) plan.Problem {
	on.Cluster, on.Deployment = plan.Local(r.Workers, r.devices()...), r.Deployment
	if r.cluster != nil {
		on.Cluster = *r.cluster
	}
	return on
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
