package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/local"
)

// trainFlags are the flags of train that are no settings of the run.
type trainFlags struct {
	set    []string
	file   string
	out    string
	json   bool
	seeds  int
	values map[string]*string // flags that are settings, by key
}

// settingFlags are the settings that have a flag of their own, with its name.
var settingFlags = []struct{ flag, key string }{
	{"env", "env"}, {"preset", "preset"}, {"policy", "policy"}, {"workers", "workers"}, {"device", "device"},
	{"steps", "steps"}, {"seed", "seed"}, {"eval-every", "eval_every"}, {"eval-episodes", "eval_episodes"},
	{"checkpoint-every", "checkpoint_every"}, {"checkpoint-steps", "checkpoint_steps"}, {"keep", "keep"}, {"from", "from"},
}

func (c *command) train() *cobra.Command {
	f := &trainFlags{values: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "train ALGO",
		Short: "Train an agent",
		Long: "Train trains ALGO, a built-in algorithm or the path of an author's package, on an environment.\n" +
			"Without --env it runs the algorithm's first preset. Everything a run writes is in its folder.",
		Example: "  weft train ppo\n" +
			"  weft train ppo --env Acrobot-v1 --seed 7\n" +
			"  weft train ppo --env Pendulum-v1 --set learning_rate=3e-4 --set hidden=128,128\n" +
			"  weft train ppo --env CartPole-v1 --seeds 5 --json\n" +
			"  weft train ppo --env ./my/env --steps 100000",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return c.runTrain(cmd, f, args) },
	}
	c.settingFlags(cmd, f)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "a setting of the algorithm, `key=value`; may be repeated")
	flags.StringVar(&f.file, "config", "", "`file` of settings (YAML), as every run folder holds one; flags override it")
	flags.StringVar(&f.out, "out", "", "run `folder`; default: a new one under runs/")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line and nothing else")
	flags.IntVar(&f.seeds, "seeds", 0, "train `N` seeds, from --seed on, and summarise them")
	help := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		c.helpSettings(cmd)
	})
	return cmd
}

// settingFlags makes flags of the run's settings, documented by their tags.
func (c *command) settingFlags(cmd *cobra.Command, f *trainFlags) {
	fields, err := config.Fields(&settings{})
	if err != nil {
		panic(err) // the tags are wrong, which a test would have found
	}
	doc := map[string]config.Field{}
	for _, x := range fields {
		doc[x.Key] = x
	}
	for _, s := range settingFlags {
		x := doc[s.key]
		usage := x.Doc
		if x.Default != "" && x.Default != "0" {
			usage += " (default " + x.Default + ")"
		}
		f.values[s.key] = cmd.Flags().String(s.flag, "", usage)
		cmd.Flags().Lookup(s.flag).Value = &kindValue{cmd.Flags().Lookup(s.flag).Value, x.Kind}
	}
}

// layers are what the command line asks for.
func (f *trainFlags) layers(cmd *cobra.Command, args []string) (l layers, err error) {
	var errs []error
	if f.file != "" {
		if l.file, err = readFile(f.file); err != nil {
			errs = append(errs, err)
		}
	}
	if len(args) == 1 {
		l.flags = append(l.flags, config.Assignment{Key: "algorithm", Value: args[0], Source: "command line"})
	} else if f.file == "" {
		errs = append(errs, errors.New("which algorithm? name one, as in weft train ppo (weft list algorithms shows all)"))
	}
	for _, s := range settingFlags {
		if cmd.Flags().Changed(s.flag) {
			l.flags = append(l.flags, config.Assignment{Key: s.key, Value: *f.values[s.key], Source: "--" + s.flag})
		}
	}
	for _, text := range f.set {
		a, err := config.ParseSet(text, "--set")
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l.set = append(l.set, a)
	}
	if f.seeds < 0 {
		errs = append(errs, fmt.Errorf("--seeds: %d is no number of seeds", f.seeds))
	}
	return l, errors.Join(errs...)
}

func (c *command) runTrain(cmd *cobra.Command, f *trainFlags, args []string) error {
	l, err := f.layers(cmd, args)
	if err != nil {
		return err
	}
	if paths := c.foreign(l); len(paths) > 0 {
		return c.runBuilt(cmd.Context(), paths)
	}
	r, err := c.set.resolve(l)
	if err != nil {
		return err
	}
	out, err := runFolder(f.out, r)
	if err != nil {
		return err
	}
	if f.seeds > 1 {
		return c.trainSeeds(cmd.Context(), r, out, f)
	}
	return c.trainOne(cmd.Context(), r, out, f.json)
}

// trainOne trains one seed and reports it.
func (c *command) trainOne(ctx context.Context, r *request, out string, json bool) error {
	job, release, err := c.prepare(r, out)
	if err != nil {
		return err
	}
	defer release()
	return c.finish(ctx, r, job, json)
}

// finish runs a prepared job, and says how it ended.
func (c *command) finish(ctx context.Context, r *request, job local.Job, json bool) error {
	w := c.watcher(r, job.Dir, json)
	job.Watch = w
	c.started = true
	result, err := local.Train(ctx, job)
	if err != nil {
		w.fail(err)
		return exitStatus(exitFailed)
	}
	w.done(result)
	if result.Interrupted {
		return exitStatus(exitInterrupted)
	}
	return nil
}

// prepare makes the run's folder with its configuration, and the job.
func (c *command) prepare(r *request, out string) (local.Job, func(), error) {
	job, err := r.job()
	if err != nil {
		return job, nil, err
	}
	job.Dir = out
	if r.From != "" {
		f, err := weightsOf(r.From)
		if err != nil {
			return job, nil, fmt.Errorf("--from: %w", err)
		}
		job.From = &f
	}
	release, err := lock(out)
	if err != nil {
		return job, nil, err
	}
	text, err := r.yaml()
	if err == nil {
		err = os.WriteFile(filepath.Join(out, configFile), text, 0o644)
	}
	if err != nil {
		release()
		return job, nil, err
	}
	return job, release, nil
}

const configFile = "config.yaml"

// lock keeps other processes out of a run's folder; a file system that knows no
// locks is no reason not to train.
func lock(dir string) (release func(), err error) {
	release, err = checkpoint.Lock(dir)
	if errors.Is(err, errors.ErrUnsupported) {
		return func() {}, nil
	}
	return release, err
}

// runFolder is where a run goes: the folder asked for, which must be new, or a
// new one under runs/.
func runFolder(out string, r *request) (string, error) {
	if out != "" {
		if taken(out) {
			return "", fmt.Errorf("--out: %s already holds a run: weft resume %s goes on with it", out, out)
		}
		return out, nil
	}
	base := filepath.Join("runs", fmt.Sprintf("%s-%s-seed%d", r.algorithm.Name, strings.ReplaceAll(r.entry.ID, "/", "_"), r.Seed))
	for i := 1; ; i++ {
		dir := base
		if i > 1 {
			dir = fmt.Sprintf("%s-%d", base, i)
		}
		if !taken(dir) {
			return dir, nil
		}
	}
}

func taken(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, configFile))
	return err == nil
}

// weightsOf is the newest good checkpoint of a run, its best one if it has one.
func weightsOf(dir string) (checkpoint.File, error) {
	d, err := checkpoint.Open(filepath.Join(dir, "checkpoints"), 1)
	if err != nil {
		return checkpoint.File{}, err
	}
	if f, _, _, err := d.Best(); err == nil {
		return f, nil
	}
	f, _, _, err := d.Latest()
	if err != nil {
		return f, fmt.Errorf("run %s: %w", dir, err)
	}
	return f, nil
}
