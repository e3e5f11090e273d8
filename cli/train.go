package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/cost"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/runner"
)

// trainFlags are the flags of train that are no settings of the run.
type trainFlags struct {
	set           []string
	data          string
	demos         string
	fraction      string // of demonstrations
	record        string
	files         []string
	deploy        string
	out           string
	json          bool
	trackers      []string
	metrics       string // address to serve metrics at
	trace         string // address of an OpenTelemetry collector
	seeds         string
	skip          bool               // verification
	dry           bool               // show the configuration, and start nothing
	request.Again                    // settings of resume
	values        map[string]*string // flags that are settings, by key
	elsewhere
	auto    autoFlags
	review  *review // of what --policy auto chose; nil without
	members populationFlags
}

// settingFlags are the settings that have a flag of their own, with its name.
var settingFlags = []struct{ flag, key string }{
	{"env", "env"}, {"wrap", "wrap"}, {"preset", "preset"}, {"policy", "policy"}, {"workers", "workers"}, {"max-workers", "max_workers"}, {"device", "device"},
	{"replicas", "replicas"}, {"async", "async"}, {"staleness", "staleness"}, {"producers", "producers"}, {"samples-per-insert", "samples_per_insert"}, {"tolerance", "tolerance"}, {"queue", "queue"}, {"no-fuse", "no_fuse"}, {"placement", "placement"}, {"devices", "devices"}, {"pipeline", "pipeline"},
	{"steps", "steps"}, {"seed", "seed"}, {"eval-every", "eval_every"}, {"eval-episodes", "eval_episodes"},
	{"checkpoint-every", "checkpoint_every"}, {"checkpoint-steps", "checkpoint_steps"}, {"keep", "keep"}, {"from", "from"},
	{"storage", "storage"}, {"storage-limit", "storage_limit"}, {"resume", "resume"}, {"python", "python"}, {"on-env-failure", "on_env_failure"}, {"profile", "profile"},
}

func (c *command) train() *cobra.Command {
	f := &trainFlags{values: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "train ALGO",
		Short: "Train an agent",
		Long: "Train trains ALGO, a built-in algorithm or the path of an author's package, on an environment.\n" +
			"Without --env it runs the algorithm's first preset. Everything a run writes is in its folder.\n" +
			"Ctrl-C, SIGTERM and a closed terminal save the run and end it (weft resume goes on); with nohup it\n" +
			"outlives the terminal. It goes on when nobody reads its output any more. With --cluster, Ctrl-C and\n" +
			"SIGTERM have the cluster save the run and end it, and a closed terminal changes nothing; with\n" +
			"--detach the command returns at once, and nothing that happens to it concerns the run. With --on, an\n" +
			"engine, Kubernetes, Ray or Slurm, runs it as a job, under the same rules as --cluster; weft status, logs, stop and\n" +
			"resume take the run's folder.",
		Example: "  weft train ppo\n" +
			"  weft train ppo --env Acrobot-v1 --seed 7\n" +
			"  weft train ppo --env Pendulum-v1 --set learning_rate=3e-4 --set hidden=128,128\n" +
			"  weft train ppo --env CartPole-v1 --seeds 5 --json\n" +
			"  weft train ppo --population 8 --mutate learning_rate=1e-5..1e-1 --exploit-every 8192\n" +
			"  weft train ppo --policy single-learner-coarse --workers 4\n" +
			"  weft train ppo --policy auto\n" +
			"  weft train ppo --deployment four-workers.yaml\n" +
			"  weft train ppo --policy single-learner-coarse --processes 2\n" +
			"  weft train ppo --policy single-learner-coarse --cluster 127.0.0.1:7700 --detach\n" +
			"  weft train ppo --policy single-learner-coarse --cluster 10.0.0.1:7700 --certs certs\n" +
			"  weft train ppo --policy single-learner-coarse --cluster 127.0.0.1:7700 --workers 1 --max-workers 4\n" +
			"  weft train ppo --policy single-learner-coarse --on slurm --nodes 4 --slurm time=2:00:00 --detach\n" +
			"  weft train ppo --policy single-learner-coarse --on slurm --nodes 4 --dry-run > job.sh\n" +
			"  weft train ppo --policy single-learner-coarse --on ray --nodes 4 --ray cpus=8\n" +
			"  weft train ppo --policy single-learner-coarse --on kubernetes --nodes 4 --kubernetes image=weft --kubernetes claim=runs --dry-run\n" +
			"  weft train ppo --env ./my/env --steps 100000\n" +
			"  weft train sac --env Pendulum-v1 --demos expert.parquet --demo-fraction 0.25\n" +
			"  weft train dqn --env atari:Breakout --set buffer=1000000 --storage disk --storage-limit 8GB\n" +
			"  weft train ppo --env Acrobot-v1 --dry-run > acrobot.yaml",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c.works()
			return c.traced(cmd.Context(), f.trace, "train", func() error { return c.runTrain(cmd, f, args) })
		},
		Annotations: map[string]string{settingsHint: "a setting of the algorithm is given with --set key=value"},
	}
	c.settingFlags(cmd, f, nil)
	f.layerFlags(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.record, "record", "", "`file` of a data set to write all finished episodes of the training into")
	flags.StringVar(&f.out, "out", "", "run `folder`; default: a new one under runs/")
	flags.StringSliceVar(&f.trackers, "log", nil, trackUsage)
	flags.StringVar(&f.metrics, "metrics", "", metricsUsage)
	flags.StringVar(&f.trace, "trace", "", traceUsage)
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line and nothing else")
	flags.BoolVar(&f.dry, "dry-run", false, "print the configuration of the run, a file for --config, and start nothing; with --on, print the job that would be submitted")
	flags.BoolVar(&f.skip, "no-verify", false, "do not check first that the policy computes the same as the plain loop of an author's package")
	flags.BoolVar(&f.auto.learners, "allow-learners", false, learnersUsage)
	f.elsewhere.flags(cmd)
	flags.StringVar(&f.seeds, "seeds", "", "train `N` seeds, from --seed on, and summarise them; weft resume FOLDER resumes all of them")
	f.members.flags(cmd)
	help := cmd.HelpFunc()
	cmd.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		for _, name := range cmd.Flags().Args() {
			if err := c.helpSettings(name); err != nil {
				fmt.Fprintf(c.out, "\n%v\n", err)
			}
		}
	})
	return cmd
}

// layerFlags makes the flags that settings come from beside those of single ones.
func (f *trainFlags) layerFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", "", dataUsage)
	flags.StringVar(&f.demos, "demos", "", "data `set` of demonstrations that dqn and sac learn from beside their own steps; short for --set demos=")
	flags.StringVar(&f.fraction, "demo-fraction", "", "`part` of the rows of every update that are demonstrations; short for --set demo_fraction=")
	flags.StringArrayVar(&f.set, "set", nil, "a setting of the algorithm, `key=value`; may be repeated")
	flags.StringArrayVar(&f.files, "config", nil, configUsage)
	flags.StringVar(&f.deploy, "deployment", "", deploymentUsage)
}

// dataUsage is the help of --data.
const dataUsage = "data `set` to learn from, of an algorithm that learns from one; short for --set data="

// settingFlags makes flags of the run's settings, documented by their tags; of
// those that are named, if any are.
func (c *command) settingFlags(cmd *cobra.Command, f *trainFlags, only []string) {
	fields, err := config.Fields(&request.Settings{})
	if err != nil {
		panic(err) // the tags are wrong, which a test would have found
	}
	doc := map[string]config.Field{}
	for _, x := range fields {
		doc[x.Key] = x
	}
	for _, s := range settingFlags {
		if only != nil && !slices.Contains(only, s.flag) {
			continue
		}
		x := doc[s.key]
		usage := x.Doc
		if x.Default != "" && x.Default != "0" {
			usage += " (default " + x.Default + ")"
		}
		f.values[s.key] = cmd.Flags().String(s.flag, "", usage)
		flag := cmd.Flags().Lookup(s.flag)
		flag.Value = &kindValue{flag.Value, x.Kind}
		if x.Kind == "bool" {
			flag.NoOptDefVal = "true"
		}
	}
}

// layers returns what the command line asks for, with what is wrong with its form.
func (f *trainFlags) layers(cmd *cobra.Command, args []string) (l request.Layers, err error) {
	var errs []error
	if l.File, err = request.ReadFiles(f.files); err != nil {
		errs = append(errs, err)
	}
	if f.deploy != "" {
		if l.Deploy, err = request.ReadDeployment(f.deploy); err != nil {
			errs = append(errs, err)
		}
	}
	if len(args) == 1 {
		l.Flags = append(l.Flags, config.Assignment{Key: "algorithm", Value: args[0], Source: "command line"})
	}
	l.Flags = append(l.Flags, f.changed(cmd)...)
	if f.record != "" {
		l.Flags = append(l.Flags, recording(l))
	}
	for _, x := range []struct{ flag, key, value string }{
		{"--data", "data", f.data}, {"--demos", "demos", f.demos}, {"--demo-fraction", "demo_fraction", f.fraction},
	} {
		if x.value != "" {
			l.Set = append(l.Set, config.Assignment{Key: x.key, Value: x.value, Source: x.flag})
		}
	}
	for _, text := range f.set {
		a, err := config.ParseSet(strings.TrimPrefix(text, "set."), "--set") // as a run file has it
		if err != nil {
			errs = append(errs, err)
			continue
		}
		l.Set = append(l.Set, a)
	}
	return l, errors.Join(errs...)
}

// changed returns the settings that were given by flags.
func (f *trainFlags) changed(cmd *cobra.Command) (out []config.Assignment) {
	for _, s := range settingFlags {
		if f.values[s.key] != nil && cmd.Flags().Changed(s.flag) {
			out = append(out, config.Assignment{Key: s.key, Value: *f.values[s.key], Source: "--" + s.flag})
		}
	}
	return out
}

// count returns the number of seeds asked for, 0 if none were.
func (f *trainFlags) count() (int, error) {
	if f.seeds == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(f.seeds)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("--seeds: %q is not a number of seeds", f.seeds)
	}
	return n, nil
}

func (c *command) runTrain(cmd *cobra.Command, f *trainFlags, args []string) error {
	l, malformed := f.layers(cmd, args)
	if paths := c.foreign(l); len(paths) > 0 {
		if malformed != nil {
			return malformed
		}
		return c.runBuiltWith(cmd.Context(), paths, l.Policy(), f.bring(c))
	}
	if err := f.allot(cmd.Context()); err != nil {
		return err
	}
	if f.serves() {
		return c.serveJob(cmd.Context(), f)
	}
	if f.requeued() {
		return c.goOnJob(cmd.Context(), f)
	}
	if l.Policy() == auto && f.on != "" && f.allocation == nil {
		return fmt.Errorf("--policy auto: it measures this machine, and the run is on others: weft plan shows a choice, or call weft train --policy auto --on %s in a job script", f.on)
	}
	if l.Policy() == auto && malformed == nil {
		var choice *cost.Choice
		var err error
		asked, end := l, c.phase("calibrate")
		l, choice, err = c.choose(cmd.Context(), l, f.auto, f.among())
		if end(err); err == nil {
			err = c.say(choice, f.json || f.dry)
		}
		if err != nil {
			return err
		}
		f.review = &review{asked: asked, flags: f.auto, now: choice.Candidates[0]}
	}
	r, wrong := c.set.Resolve(l)
	seeds, wrongSeeds := f.count()
	if err := errors.Join(malformed, wrong, wrongSeeds, f.checkRecord(r, seeds), request.CheckFrom(r), request.CheckOut(f.out), f.elsewhere.check(cmd, seeds), f.checkTrackers(seeds), f.checkPopulation(cmd)); err != nil {
		return err
	}
	if f.dry && f.on == "" {
		text, err := r.YAML()
		if err == nil {
			text, err = f.withProgram(c, text)
		}
		if err == nil {
			_, err = c.out.Write(text)
		}
		return err
	}
	c.belong(r)
	end := c.phase("verify")
	err := c.verifyOnce(cmd.Context(), r, f, l.Value("algorithm"))
	if end(err); err != nil {
		return err
	}
	train := func(ctx context.Context) error { return c.trainPopulation(ctx, l, r, f) }
	if f.members.asked() && f.allocation != nil {
		return c.leadNew(cmd.Context(), f, train)
	}
	if f.on != "" && seeds > 0 {
		return c.trainSeedsOn(cmd, args, r, seeds, f, l.Sets("workers"))
	}
	if f.on != "" {
		return c.trainOn(cmd, args, r, f, l.Sets("workers"))
	}
	if f.members.asked() {
		return train(cmd.Context())
	}
	if f.elsewhere.asked() {
		return c.trainElsewhere(cmd.Context(), r, f, l.Sets("workers"))
	}
	if seeds > 0 {
		return c.trainSeeds(cmd.Context(), r, seeds, f)
	}
	return c.trainOne(cmd.Context(), r, f)
}

// trainOne trains one seed and reports it.
func (c *command) trainOne(ctx context.Context, r *request.Request, f *trainFlags) error {
	out := f.out
	if out == "" {
		out = request.NewFolder(fmt.Sprintf("%s-seed%d", r.Name(), r.Seed))
	}
	err := c.legs(ctx, f, out, func(ctx context.Context) error {
		w, hide, err := f.expose(ctx, c.watcher(r, out, f.json), out)
		if err != nil {
			return err
		}
		defer hide()
		w, untrack, err := c.track(ctx, w, r, out, f.trackers)
		if err != nil {
			return err
		}
		defer untrack()
		w = f.review.over(w)
		s, release, err := request.Prepare(ctx, r, out, w)
		if err != nil {
			return err
		}
		defer release()
		return c.finish(ctx, s, w)
	})
	if err != nil || f.record == "" {
		return err
	}
	return c.keepRecord(r, out, f.record)
}

// finish runs a prepared session, and says how it ended.
func (c *command) finish(ctx context.Context, s *runner.Session, w watcher) error {
	c.started = true
	result, err := s.Train(ctx)
	if err != nil {
		w.fail(err)
		return exitStatus(exitFailed)
	}
	if result.Interrupted && errors.Is(context.Cause(ctx), errReview) {
		return errReview
	}
	w.done(result)
	if result.Interrupted {
		return exitStatus(exitInterrupted)
	}
	return nil
}
