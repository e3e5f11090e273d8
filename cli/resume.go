package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"reflect"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/run/local"
	"github.com/weft-rl/weft/internal/run/part"
)

func (c *command) resume() *cobra.Command {
	f := &trainFlags{values: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run exactly where it stopped",
		Long: "Resume goes on from the newest good checkpoint of a run folder, and ends in the same bits\n" +
			"as a run that was never interrupted. It may go on under another policy, with other workers, in\n" +
			"processes of its own (--processes), or in one, wherever it was before. With --cluster, RUN is the\n" +
			"name of a run that its coordinator has. The folder of --seeds goes on with all of its seeds. An environment that cannot save its state refuses to\n" +
			"be resumed; with --resume=restart-episodes its run goes on with new episodes. A run that has no\n" +
			"good checkpoint left is an error; with --or-begin it begins again, and what it had recorded is\n" +
			"kept in its folder, under replaced-1.",
		Example: "  weft resume runs/ppo-CartPole-v1-seed1\n  weft resume runs/ppo-CartPole-v1-seed1 --steps 1_000_000\n" +
			"  weft resume runs/ppo-CartPole-v1-seed1 --policy single-learner-coarse --workers 4\n" +
			"  weft resume runs/ppo-CartPole-v1-seed1 --processes 2\n" +
			"  weft resume ppo-CartPole-v1-seed1 --cluster 10.0.0.1:7700 --certs certs --max-workers 8",
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.works()
			if err := f.elsewhere.check(cmd, 0); err != nil {
				return err
			}
			if len(f.addresses) > 0 {
				return c.resumeCluster(cmd.Context(), args[0], f.changed(cmd), f)
			}
			return c.runResume(cmd.Context(), args[0], f.changed(cmd), f)
		},
	}
	c.settingFlags(cmd, f, []string{"steps", "policy", "workers", "max-workers", "resume", "python", "on-env-failure"})
	cmd.Flags().Lookup("steps").Usage = "train to this many steps in all instead of those it was started with"
	f.elsewhere.flags(cmd)
	cmd.Flags().BoolVar(&f.begin, "or-begin", false, "begin again at step 0 if no good checkpoint is left, and keep the old record in RUN/replaced-N")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object a line and nothing else")
	cmd.Flags().BoolVar(&f.lost, "lost-record", false, "go on although lines of the run's record (metrics.jsonl) are lost")
	return cmd
}

// oneRun asks for a run folder.
func oneRun(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s takes one run folder, not %d arguments", cmd.CommandPath(), len(args))
	}
	return nil
}

func (c *command) runResume(ctx context.Context, dir string, more []config.Assignment, f *trainFlags) error {
	if seeds := seedFolders(dir); len(seeds) > 0 && !taken(dir) {
		return c.resumeSeeds(ctx, dir, seeds, more, f)
	}
	file, err := runConfig(dir)
	if err != nil {
		return err
	}
	before, r, err := c.resumed(ctx, file, more, filepath.Join(dir, configFile))
	if r == nil {
		return err
	}
	kept, err := part.ReadCommitted(dir)
	if err != nil {
		return err
	}
	if f.processes > 0 {
		return toBegin(c.resumeProcesses(ctx, before, r, dir, f, layers{flags: more}.sets("workers")), dir)
	}
	r.keepShards(before, kept.Shards)
	release, err := lock(dir)
	if err != nil {
		return err
	}
	defer release()
	return toBegin(c.goOn(ctx, before, r, dir, f.again, c.watcher(r, dir, f.json)), dir)
}

// again says how a run goes on from which something is missing.
type again struct {
	begin bool // at step 0, if there is no good checkpoint
	lost  bool // although lines of its record are lost
}

// toBegin adds to the error of a run without a good checkpoint how to begin it again.
func toBegin(err error, dir string) error {
	if errors.As(err, new(local.NoCheckpoint)) {
		return fmt.Errorf("%w: weft resume %s --or-begin begins it again and keeps what is there", err, dir)
	}
	return err
}

// resumed is what a run was and what the flags make of it; what is where it was read.
// Of one that needs packages of its author's, a program of its own has done all there
// is to do, and there is nothing.
func (c *command) resumed(ctx context.Context, file, flags []config.Assignment, what string) (before, r *request, err error) {
	l := layers{file: file, flags: flags}
	if paths := c.foreign(l); len(paths) > 0 {
		return nil, nil, c.runBuilt(ctx, paths, l.policy())
	}
	if before, err = c.set.resolve(layers{file: file}); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	if r, err = c.set.resolve(l); err != nil {
		return nil, nil, err
	}
	return before, r, nil
}

// goOn resumes a run whose budget may have changed, and says how it ended.
func (c *command) goOn(ctx context.Context, before, r *request, dir string, how again, w watcher) error {
	s, err := r.goOn(ctx, before, dir, how, w)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // done already, with its error, if the session ran
	if s.over == "" {
		return c.finish(ctx, s.Session, w)
	}
	w.Note(s.over)
	result, err := s.Finish()
	if err == nil {
		w.done(result)
	}
	return err
}

// resumption is a run that is ready to go on.
type resumption struct {
	*local.Session
	over string // why there is nothing to go on with; "" if there is
}

// run goes on, if there is something to go on with.
func (s resumption) run(ctx context.Context) (local.Result, error) {
	if s.over != "" {
		return s.Finish()
	}
	return s.Train(ctx)
}

// goOn prepares a run to go on, in a folder that is locked. The new configuration is kept.
func (r *request) goOn(ctx context.Context, before *request, dir string, how again, w local.Watcher) (out resumption, err error) {
	job, err := r.job()
	if err != nil {
		return out, err
	}
	job.Dir, job.Resume, job.OrBegin, job.LostRecord, job.Watch, job.Reading = dir, true, how.begin, how.lost, w, ctx
	s, err := local.Prepare(job)
	if err != nil {
		return out, err
	}
	out.Session = s
	// No budget changes what the algorithm ended.
	switch {
	case s.Ended() && s.Finished():
		out.over = fmt.Sprintf("%s was ended by its algorithm at step %d: there is nothing to go on with", dir, s.Done())
		return out, nil
	case s.Ended(): // an evaluation is left to do
		return out, nil
	}
	if err = changeBudget(s.Done(), before, r, dir, s.Watch); err == nil && !reflect.DeepEqual(before.settings, r.settings) {
		err = r.record(dir)
	}
	if err != nil {
		return resumption{}, errors.Join(err, s.Close())
	}
	if s.Finished() {
		out.over = fmt.Sprintf("%s is finished: nothing was left to do; weft resume %s --steps N trains it further", dir, dir)
	}
	return out, nil
}

// changeBudget says what another number of steps means for a run.
func changeBudget(done int64, before, r *request, dir string, w local.Watcher) error {
	if r.Steps == before.Steps {
		return nil
	}
	if r.Steps < done {
		return fmt.Errorf("--steps: %d is less than the %d steps that %s has done", r.Steps, done, dir)
	}
	w.Note(budgetChange(before.Steps, r.Steps, done))
	return nil
}

// budgetChange says what another budget means for a run.
func budgetChange(from, to, done int64) string {
	return fmt.Sprintf("the budget changes from %d to %d steps: at step %d schedules that follow progress, such as an annealed "+
		"learning rate, go from %.0f %% to %.0f %% of their course; the run is no longer the one that %d steps from the start would have been",
		from, to, done, percent(done, from), percent(done, to), to)
}

func percent(done, of int64) float64 { return 100 * min(1, float64(done)/float64(max(1, of))) }

// runConfig reads the configuration of a run's folder.
func runConfig(dir string) ([]config.Assignment, error) {
	file, err := readFile(filepath.Join(dir, configFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, noRun(dir)
	}
	return file, err
}

// noRun says why a folder is not the one of a run.
func noRun(dir string) error {
	if seeds := seedFolders(dir); len(seeds) > 0 {
		return fmt.Errorf("%s holds the runs of several seeds: name one of them, such as %s", dir, seeds[0])
	}
	return fmt.Errorf("%s is no run folder: it has no %s", dir, configFile)
}
