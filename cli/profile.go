package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/profile"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/run/scratch"
	"github.com/weft-rl/weft/internal/run/timing"
)

// profileSettings are the flags of train that profile has too.
var profileSettings = append([]string{"steps", "storage", "storage-limit", "on-env-failure"}, planSettings...)

// profileFlags are the flags of profile beside the run's settings.
type profileFlags struct {
	trainFlags
	svg, trace string
	time       time.Duration
}

func (c *command) profile() *cobra.Command {
	f := &profileFlags{trainFlags: trainFlags{values: map[string]*string{}}, time: 5 * time.Second}
	cmd := &cobra.Command{
		Use:   "profile ALGO|RUN",
		Short: "Show where the time of a run goes",
		Long: "Profile trains ALGO for a few seconds with train's flags, keeps nothing, and shows where the time went: every\n" +
			"replica's time by operation, every edge's bytes, copies and waiting, who waits for whom, and what would help.\n" +
			"The cost of recording is measured, subtracted and stated. Of a run that was trained with --profile it shows\n" +
			"what was recorded. With --processes it trains all --steps.",
		Example: "  weft profile ppo\n" +
			"  weft profile ppo --policy single-learner-coarse --workers 2 --svg bars.svg --trace timeline.json\n" +
			"  weft profile ppo --policy multi-learner --processes 2 --steps 20000\n" +
			"  weft profile runs/ppo-CartPole-v1-seed1 --json",
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{settingsHint: "a setting of the algorithm is given with --set key=value"},
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := c.profiled(cmd, f, args)
			if err != nil || p == nil {
				return err
			}
			c.started = true
			return f.show(p, c.out)
		},
	}
	c.settingFlags(cmd, &f.trainFlags, profileSettings)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.set, "set", nil, "a setting of the algorithm, `key=value`; may be repeated")
	flags.StringArrayVar(&f.files, "config", nil, configUsage)
	flags.StringVar(&f.deploy, "deployment", "", deploymentUsage)
	flags.IntVar(&f.processes, "processes", 0, "train in `N` processes on this machine, to the end of --steps")
	flags.DurationVar(&f.time, "time", f.time, "time to train for; 0 trains all --steps")
	flags.BoolVar(&f.json, "json", false, "write the profile as JSON")
	flags.StringVar(&f.svg, "svg", "", "`file` to draw a bar for every replica into")
	flags.StringVar(&f.trace, "trace", "", "`file` to write the timeline of the newest work into, which Perfetto (ui.perfetto.dev) opens")
	return cmd
}

// profiled returns the profile of a run, or of a few seconds of training; nil if another binary
// showed it.
func (c *command) profiled(cmd *cobra.Command, f *profileFlags, args []string) (*profile.Profile, error) {
	if len(args) == 1 && request.Taken(args[0]) {
		return readProfile(args[0])
	}
	l, malformed := f.layers(cmd, args)
	if paths := c.foreign(l); len(paths) > 0 {
		if malformed != nil {
			return nil, malformed
		}
		return nil, c.runBuilt(cmd.Context(), paths, l.Policy())
	}
	l.Flags = append(l.Flags, config.Assignment{Key: "profile", Value: "true", Source: "profile"}, config.Assignment{Key: "eval_episodes", Value: "0", Source: "profile"})
	if f.processes == 0 && !l.Sets("steps") {
		l.Flags = append(l.Flags, config.Assignment{Key: "steps", Value: fmt.Sprint(endless), Source: "profile"})
	}
	r, wrong := c.set.Resolve(l)
	if cmd.Flags().Changed("processes") && f.processes < 1 {
		wrong = errors.Join(wrong, fmt.Errorf("--processes: %d is not a number of processes", f.processes))
	}
	if err := errors.Join(malformed, wrong); err != nil {
		return nil, err
	}
	if f.processes > 0 {
		return c.profileProcesses(cmd.Context(), r, f, l.Sets("workers"))
	}
	return c.profileHere(cmd.Context(), r, f.time)
}

// readProfile reads the profile in a run's folder.
func readProfile(dir string) (*profile.Profile, error) {
	text, err := os.ReadFile(filepath.Join(dir, runner.ProfileFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s has no %s: it was trained without --profile, or has not ended", dir, runner.ProfileFile)
	}
	if err != nil {
		return nil, err
	}
	p, err := profile.Read(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, runner.ProfileFile), err)
	}
	return p, nil
}

// profileHere trains in this process for some time.
func (c *command) profileHere(ctx context.Context, r *request.Request, limit time.Duration) (*profile.Profile, error) {
	job, err := r.Job()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	job.Watch = &stopwatch{limit: limit.Seconds(), stop: cancel}
	s, err := runner.Prepare(job)
	if err != nil {
		return nil, err
	}
	c.started = true
	result, err := s.Train(ctx)
	if err != nil {
		return nil, err
	}
	return result.Profile, result.Profile.Check()
}

// stopwatch ends a run when it has trained for so many seconds, and for a few iterations.
type stopwatch struct {
	runner.Silent
	limit float64
	stop  func()
	seen  int
}

// Iteration implements runner.Watcher.
func (s *stopwatch) Iteration(r runner.Report) {
	s.seen++
	if s.limit > 0 && r.Seconds >= s.limit && s.seen > timing.Skip+1 {
		s.stop()
	}
}

// profileProcesses trains in processes, in a folder that is removed afterwards.
func (c *command) profileProcesses(ctx context.Context, r *request.Request, f *profileFlags, workers bool) (p *profile.Profile, err error) {
	folder, err := scratch.New("weft-profile-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, folder.Remove()) }()
	f.out = filepath.Join(folder.Path, "run")
	quiet := &command{set: c.set, out: io.Discard, err: c.err, args: c.args}
	if err := quiet.trainProcesses(ctx, r, &f.trainFlags, workers); err != nil {
		c.started = quiet.started
		return nil, err
	}
	return readProfile(f.out)
}

// show writes a profile in all ways that were asked for.
func (f *profileFlags) show(p *profile.Profile, out io.Writer) error {
	write := func(path string, how func(io.Writer) error) error {
		if path == "" {
			return nil
		}
		file, err := os.Create(path)
		if err != nil {
			return err
		}
		return errors.Join(how(file), file.Close())
	}
	if err := errors.Join(write(f.svg, p.WriteSVG), write(f.trace, p.WriteTrace)); err != nil {
		return err
	}
	if !f.json {
		return p.Print(out)
	}
	text, err := p.JSON()
	if err == nil {
		_, err = out.Write(text)
	}
	return err
}
