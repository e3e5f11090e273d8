package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/data"
	"github.com/weft-rl/weft/data/parquet"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/dataset"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/runner"
)

// recordFlags are the flags of record.
type recordFlags struct {
	steps          int64
	episodes       int
	out            string
	sample, newest bool
}

func (c *command) record() *cobra.Command {
	var f recordFlags
	set := &trainFlags{values: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "record RUN",
		Short: "Record a run's policy as a data set",
		Long: "Record plays a run's policy and writes the episodes into a data set, a Parquet file that algorithms learn\n" +
			"from with --data. It takes the weights that evaluated best during the run, or the newest if none were\n" +
			"evaluated. Episodes that are under way when the steps are done are truncated there; --episodes records\n" +
			"whole ones.",
		Example: "  weft record runs/sac-Pendulum-v1-seed1 --steps 200000 --out expert.parquet\n" +
			"  weft record runs/sac-Pendulum-v1-seed1 --episodes 10 --out shown.parquet\n" +
			"  weft record runs/sac-Pendulum-v1-seed1 --steps 200000 --sample --newest --out medium.parquet",
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runRecord(cmd.Context(), args[0], set.changed(cmd), f)
		},
	}
	cmd.Flags().Int64Var(&f.steps, "steps", 100_000, "steps to record, at least")
	cmd.Flags().IntVar(&f.episodes, "episodes", 0, "whole episodes to record, instead of --steps")
	cmd.Flags().StringVar(&f.out, "out", "", "`file` of the data set")
	cmd.Flags().BoolVar(&f.sample, "sample", false, "act as in training, with exploration, instead of greedily")
	cmd.Flags().BoolVar(&f.newest, "newest", false, "record the weights of the newest checkpoint")
	c.settingFlags(cmd, set, []string{"env", "python", "on-env-failure"})
	return cmd
}

func (c *command) runRecord(ctx context.Context, dir string, flags []config.Assignment, f recordFlags) error {
	var errs []error
	if f.steps < 1 {
		errs = append(errs, fmt.Errorf("--steps: %d is not a number of steps", f.steps))
	}
	if f.episodes < 0 {
		errs = append(errs, fmt.Errorf("--episodes: %d is not a number of episodes", f.episodes))
	}
	if f.out == "" {
		errs = append(errs, errors.New("--out is needed: it names the file of the data set"))
	}
	dir = request.RunFolder(dir)
	file, err := request.RunConfig(dir)
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	l := request.Layers{File: file, Flags: flags}
	if paths := c.foreign(l); len(paths) > 0 {
		return c.runBuilt(ctx, paths, "")
	}
	r, err := c.set.Resolve(l)
	if err != nil {
		return err
	}
	r.Single = true
	job, err := r.Job()
	if err != nil {
		return err
	}
	job.Dir, job.Watch = dir, c.watcher(r, dir, false)
	which := runner.PreferBest
	if f.newest {
		which = runner.NewestAlone
	}
	c.started = true
	m, err := recordInto(ctx, job, f.out, runner.Recording{Weights: which, Greedy: !f.sample, Steps: f.steps, Episodes: f.episodes})
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "recorded %s steps in %d episodes, return %s, in %s\n", metrics.Count(m.Steps), m.Episodes, spread(m.Returns), f.out)
	return nil
}

// recordInto writes what a run's policy does into a file, of which nothing is left if it fails.
func recordInto(ctx context.Context, j runner.Job, out string, r runner.Recording) (m data.Meta, err error) {
	var w *parquet.Writer
	r.Begin = func(m data.Meta) (func(data.Episode) error, error) {
		if w, err = parquet.Create(out, m); err != nil {
			return nil, err
		}
		return w.Add, nil
	}
	if err := runner.RecordRun(ctx, j, r); err != nil {
		if w != nil {
			w.Abort()
		}
		return m, err
	}
	return w.Commit()
}

// recordFile is where a run that is recorded writes its episodes until it is over, in its folder.
const recordFile = "record.jsonl"

// recording returns the setting that has a run write its episodes down.
func recording(l request.Layers) config.Assignment {
	wrappers := "record=" + recordFile
	if w := l.Value("wrap"); w != "" {
		wrappers = w + "," + wrappers
	}
	return config.Assignment{Key: "wrap", Value: wrappers, Source: "--record"}
}

// checkRecord refuses to record what cannot be, before anything starts.
func (f *trainFlags) checkRecord(r *request.Request, seeds int) error {
	switch {
	case f.record == "":
		return nil
	case seeds > 0 || f.elsewhere.asked():
		return errors.New("--record: a run of one seed in this process is recorded: leave --seeds, --processes and --cluster out")
	case r.Found.Algorithm.Offline:
		return fmt.Errorf("--record: %s steps no environment, so there is nothing to record", r.Found.Algorithm.Name)
	}
	return nil
}

// keepRecord makes a data set of the episodes that a run has written down.
func (c *command) keepRecord(r *request.Request, dir, out string) error {
	spec, err := specOf(r)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, strings.Replace(recordFile, ".", "*.", 1)))
	if err != nil {
		return err
	}
	from := dataset.Source{Path: dir, Env: r.Found.Env.ID, Obs: spec.Obs, Action: spec.Action}
	m, err := dataset.ImportRecords(out, from, files...)
	if err := c.made(out, m, err); err != nil {
		return fmt.Errorf("%w (the episodes are in %s)", err, filepath.Join(dir, recordFile))
	}
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}

// spread returns a mean with its deviation and extremes.
func spread(s data.Summary) string {
	return fmt.Sprintf("%.1f ± %.1f (%.1f to %.1f)", s.Mean, s.Std, s.Min, s.Max)
}
