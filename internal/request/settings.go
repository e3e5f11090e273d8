package request

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
	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/device"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/phase"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

// Settings belong to a run and not to its algorithm. They stand in the
// file that --config reads and in the one that every run folder holds, together
// with the algorithm's own under "set".
type Settings struct {
	Algorithm       string `doc:"algorithm, by name or by the path of its package"`
	Env             string `doc:"environment, by id or by the path of its package; settings may follow, as in Memory-v0?delay=10"`
	Wrap            string `doc:"wrappers around the environment, as in time-limit=200,frame-stack=4; weft list wrappers shows them"`
	Preset          string `doc:"settings to start from; weft list algorithms NAME shows them"`
	plan.Deployment        // how the loop is distributed

	Device          string        `default:"cpu" doc:"device to compute on; weft devices lists them"`
	Steps           int64         `default:"0" unit:"steps" range:"[0,)" doc:"environment steps to train, over all environments, or iterations of an algorithm that steps none; 0 is the preset's number"`
	Seed            uint64        `default:"1" doc:"seed of everything random"`
	EvalEvery       int64         `default:"0" unit:"steps" range:"[0,)" doc:"steps between greedy evaluations; 0 is only at the end"`
	EvalEpisodes    int           `default:"100" unit:"episodes" range:"[0,)" doc:"episodes of an evaluation; 0 turns evaluation off"`
	CheckpointEvery time.Duration `default:"15s" range:"(0s,)" doc:"time between checkpoints"`
	CheckpointSteps int64         `default:"0" unit:"steps" range:"[0,)" doc:"steps between checkpoints, beside the time; 0 is no bound"`
	Keep            int           `default:"3" unit:"checkpoints" range:"[1,)" doc:"checkpoints kept, the best one apart"`
	Storage         string        `default:"memory" names:"storage" doc:"where replays live: memory; or disk, in files that are mapped into memory, in the run's folder or in that of disk:DIR"`
	StorageLimit    string        `doc:"bytes that replays of a process may take on disk, as in 8GB; default: what the disk has"`
	From            string        `names:"folder" doc:"run folder whose weights to start from: the best evaluated ones, or the newest if none were evaluated"`
	Resume          string        `default:"exact" oneof:"exact restart-episodes" doc:"resumption if the environment cannot save its state: refuse, or start new episodes"`
	Python          string        `names:"program" doc:"Python interpreter of environments that need one"`
	Profile         bool          `default:"false" doc:"record where the time of the run goes: weft profile RUN shows it afterwards"`
	TraceParent     string        `doc:"trace that the run belongs to, as a W3C traceparent; weft train --trace sets it"`
	OnEnvFailure    string        `default:"stop" oneof:"stop restart" doc:"reaction to the failure of an environment in Python: stop the run, or restart the environment"`
}

// Request is a training run as it was asked for.
type Request struct {
	Settings
	Found   Found
	Cluster *plan.Cluster // nil is lanes of this process
	Trace   phase.Tracer  // told of the run's phases; nil is nobody
	Single  bool          // it computes on one device, however many workers share the work
}

// Found holds what the names in settings stand for.
type Found struct {
	Algorithm  algo.Algorithm
	Config     any // the algorithm's settings
	Policy     policy.Policy
	Env        env.Entry
	EnvOptions any // the environment's settings; nil if it has none
	Wrap       wrap.List
}

// Layers are where settings come from, the later ones overriding.
type Layers struct {
	File   []config.Assignment // --config
	Deploy []config.Assignment // --deployment
	Flags  []config.Assignment // single flags
	Set    []config.Assignment // --set, the algorithm's
	Steps  int64               // where neither a setting nor a preset says how many
}

// Sets reports whether a setting of the run was made anywhere.
func (l Layers) Sets(key string) bool { return l.Value(key) != "" }

// Value returns what a setting of the run was given, the last one counting; empty if nothing.
func (l Layers) Value(key string) (out string) {
	for _, a := range slices.Concat(l.File, l.Deploy, l.Flags) {
		if a.Key == key {
			out = a.Value
		}
	}
	return out
}

// Policy returns the name of the policy that was asked for.
func (l Layers) Policy() string { return cmp.Or(l.Value("policy"), policy.Plain.Name) }

// Resolve turns what was asked for into a request, and reports everything that is
// wrong with it.
func (s *Set) Resolve(l Layers) (*Request, error) {
	r := &Request{}
	if len(s.wrong) > 0 {
		return r, errors.Join(s.wrong...)
	}
	own, forAlgorithm := split(l.File)
	errs := []error{r.own(gathered(own), l.Deploy, l.Flags)}

	var err error
	if r.Found.Policy, err = s.Policy(r.Policy); err != nil {
		errs = append(errs, fmt.Errorf("--policy: %w", err))
	}
	errs = append(errs, plan.CheckNoFuse(r.NoFuse))
	if r.MaxWorkers > 0 && r.MaxWorkers < r.Workers {
		errs = append(errs, fmt.Errorf("--max-workers: %d is less than the %d workers that it begins with", r.MaxWorkers, r.Workers))
	}
	if r.Found.Policy.AsIs && (r.Workers > 1 || r.MaxWorkers > 1 || r.Async) {
		errs = append(errs, fmt.Errorf("--policy: %s is one worker, in step with itself: name the policy that is to share the work out (weft list policies shows them)", r.Policy))
	}
	errs = append(errs, r.checkUsed(l)...)
	errs = append(errs, r.checkStorage(l)...)
	if r.Found.Algorithm, err = s.Algorithm(r.Algorithm); err != nil {
		errs = append(errs, err)
	}
	envSet, err := r.environment(s)
	errs = append(errs, err)
	preset, err := r.choose(s)
	if r.Steps == 0 {
		r.Steps = l.Steps
	}
	if err == nil && r.Steps == 0 && r.Found.Algorithm.Name != "" && (r.Found.Env.ID != "" || r.Found.Algorithm.Offline) {
		err = fmt.Errorf("--steps is needed: %s has no preset for %s", r.Found.Algorithm.Name, cmp.Or(r.Found.Env.ID, "it"))
	}
	errs = append(errs, err, r.checkEvaluated(l))
	if r.Found.Algorithm.Config != nil {
		r.Found.Config = r.Found.Algorithm.Config()
		errs = append(errs, config.Defaults(r.Found.Config), config.Set(r.Found.Config, preset, forAlgorithm, l.Set))
	}
	errs = append(errs, r.SetEnv(envSet), r.setWrap(), r.locate())
	errs = append(errs, r.checkDevices()...)
	errs = append(errs, absolute(&r.Algorithm), absolute(&r.Env))
	if r.From != "" {
		r.From, err = filepath.Abs(RunFolder(r.From))
		errs = append(errs, err)
	}
	return r, errors.Join(errs...)
}

// checkEvaluated turns evaluation off where a run has no environment, unless it was asked for.
func (r *Request) checkEvaluated(l Layers) error {
	if r.Env != "" || !r.Found.Algorithm.Offline {
		return nil
	}
	for _, a := range l.Flags {
		if strings.HasPrefix(a.Key, "eval_") && a.Value != "0" {
			return fmt.Errorf("--%s: there is no environment to evaluate in: name one with --env", strings.ReplaceAll(a.Key, "_", "-"))
		}
	}
	r.EvalEvery, r.EvalEpisodes = 0, 0
	return nil
}

// locate makes the paths of data sets independent of where the command runs, because a run may be
// resumed from elsewhere.
func (r *Request) locate() error {
	if r.Found.Config == nil {
		return nil
	}
	fields, err := config.Fields(r.Found.Config)
	for _, f := range fields {
		if err != nil || f.Names != "data set" || f.Value == "" || data.Registered(f.Value) {
			continue
		}
		var path string
		if path, err = filepath.Abs(f.Value); err == nil {
			err = config.Set(r.Found.Config, []config.Assignment{{Key: f.Key, Value: path, Source: "--" + f.Key}})
		}
	}
	return err
}

// checkUsed refuses settings of the distribution that were asked for and would change nothing.
// Those of files are passed over: a run's configuration has all of them, and its policy may be
// another now.
func (r *Request) checkUsed(l Layers) (errs []error) {
	asked := slices.Clone(l.Flags)
	for _, a := range l.Deploy {
		if a.Source == JobSource {
			asked = append(asked, a)
		}
	}
	for _, a := range asked {
		async := slices.Contains([]string{"staleness", "producers", "samples_per_insert", "tolerance", "queue"}, a.Key)
		splits := async || slices.Contains([]string{"replicas", "pipeline", "devices", "placement", "no_fuse"}, a.Key)
		switch {
		case a.Value == "" || a.Value == "0" || a.Value == "false":
		case splits && r.Found.Policy.AsIs:
			errs = append(errs, fmt.Errorf("--%s: policy %s does not split the loop, so that this changes nothing: name a policy that does (weft list policies shows them)", strings.ReplaceAll(a.Key, "_", "-"), r.Policy))
		case async && !r.Async:
			errs = append(errs, fmt.Errorf("--%s: it is for asynchronous runs: add --async", strings.ReplaceAll(a.Key, "_", "-")))
		}
	}
	return errs
}

// own sets what belongs to the run. What is right is set even where something
// else is wrong, so that the rest can be judged as well.
func (r *Request) own(layers ...[]config.Assignment) error {
	if err := config.Defaults(&r.Settings); err != nil {
		return err
	}
	err := config.Set(&r.Settings, layers...)
	if err != nil {
		for _, a := range slices.Concat(layers...) {
			_ = config.Set(&r.Settings, []config.Assignment{a})
		}
	}
	return err
}

// environment finds the environment, if one was named, and the settings that
// were named with it.
func (r *Request) environment(s *Set) ([]config.Assignment, error) {
	if r.Env == "" {
		return nil, nil
	}
	id, set, err := Options(r.Env)
	e, missing := s.Environment(id)
	r.Found.Env = e
	return set, errors.Join(err, missing)
}

// absolute makes the path of a package independent of where the command runs,
// because a run may be resumed from elsewhere.
func absolute(name *string) error {
	path, query, found := strings.Cut(*name, "?")
	if !IsPath(path) {
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

func (r *Request) SetEnv(set []config.Assignment) error {
	if r.Found.Env.Options == nil {
		if len(set) > 0 && r.Found.Env.ID != "" {
			return fmt.Errorf("--env: %s has no settings", r.Found.Env.ID)
		}
		return nil
	}
	r.Found.EnvOptions = r.Found.Env.Options()
	if err := config.Defaults(r.Found.EnvOptions); err != nil {
		return err
	}
	fields, err := config.Fields(r.Found.EnvOptions)
	if err != nil {
		return err
	}
	known := func(key string) bool {
		return slices.ContainsFunc(fields, func(f config.Field) bool { return f.Key == key })
	}
	set, err = extra(r.Found.EnvOptions, set, known)
	shared := slices.DeleteFunc(r.shared(), func(a config.Assignment) bool { return !known(a.Key) })
	return errors.Join(err, config.Set(r.Found.EnvOptions, shared, set))
}

// shared returns the run's settings that environments have under another name, as
// far as they were made.
func (r *Request) shared() (out []config.Assignment) {
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

func (r *Request) setWrap() (err error) {
	if r.Found.Wrap, err = wrap.Parse(r.Wrap); err != nil {
		return fmt.Errorf("--wrap: %w", err)
	}
	r.Wrap = r.Found.Wrap.String()
	for _, file := range r.Found.Wrap.Files() {
		if part.Own(filepath.Clean(file)) {
			return fmt.Errorf("--wrap: %s is a file of the run's own: choose another name", filepath.Clean(file))
		}
	}
	return nil
}

// checkDevices checks that all names are of devices, and only those of several at once
// where the loop is one program.
func (r *Request) checkDevices() (errs []error) {
	for i, name := range r.EveryDevice() {
		err := device.Check(name)
		if err == nil && device.Count(name) > 1 && (i > 0 || !r.Found.Policy.Lowered) {
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

// ReadFile reads a file of settings.
func ReadFile(path string) ([]config.Assignment, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return config.ParseYAML(data, path)
}

// YAML returns the full configuration of a run, as --config reads it.
func (r *Request) YAML() ([]byte, error) {
	own, err := config.YAML(&r.Settings)
	if err != nil {
		return nil, err
	}
	theirs, err := config.YAML(r.Found.Config)
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

// IsPath tells a path from a name, as the go command does.
func IsPath(name string) bool {
	return name == "." || name == ".." || strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || filepath.IsAbs(name)
}

// JobSource names a Job as the source of its settings.
const JobSource = "job"

// Problems takes apart what was joined: an error whose text is its parts' texts,
// line by line.
func Problems(err error) (all []error) {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	if again := errors.Join(joined.Unwrap()...); again == nil || again.Error() != err.Error() {
		return []error{err}
	}
	for _, e := range joined.Unwrap() {
		all = append(all, Problems(e)...)
	}
	return all
}

// Requested resolves the text of a run folder's config.yaml.
func (s *Set) Requested(text string) (*Request, error) {
	file, err := config.ParseYAML([]byte(text), ConfigFile)
	if err != nil {
		return nil, err
	}
	r, err := s.Resolve(Layers{File: file})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ConfigFile, errors.Join(Problems(err)...))
	}
	return r, nil
}
