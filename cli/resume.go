package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/runner"
)

func (c *command) resume() *cobra.Command {
	f := &trainFlags{values: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Resume a run exactly where it stopped",
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
			"  weft resume ppo-CartPole-v1-seed1 --cluster 10.0.0.1:7700 --certs certs --max-workers 8\n" +
			"  weft resume ppo-CartPole-v1-seed1 --cluster 127.0.0.1:7700 --detach\n" +
			"  weft resume runs/ppo-CartPole-v1-seed1 --on slurm --nodes 2",
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.works()
			if err := errors.Join(f.elsewhere.check(cmd, 0), f.checkTrackers(0)); err != nil {
				return err
			}
			return c.traced(cmd.Context(), f.trace, "resume", func() error {
				if f.on != "" {
					return c.resumeOn(cmd, args[0], f)
				}
				if len(f.addresses) > 0 {
					return c.resumeCluster(cmd.Context(), args[0], f.changed(cmd), f)
				}
				return c.runResume(cmd.Context(), args[0], f.changed(cmd), f)
			})
		},
	}
	c.settingFlags(cmd, f, []string{"steps", "policy", "workers", "max-workers", "storage", "storage-limit", "resume", "python", "on-env-failure"})
	cmd.Flags().Lookup("steps").Usage = "train to this many steps in all instead of those it was started with"
	f.elsewhere.flags(cmd)
	cmd.Flags().BoolVar(&f.dry, "dry-run", false, "with --on, print the job that would be submitted, and start nothing")
	cmd.Flags().BoolVar(&f.Begin, "or-begin", false, "begin again at step 0 if no good checkpoint is left, and keep the old record in RUN/replaced-N")
	cmd.Flags().StringSliceVar(&f.trackers, "log", nil, trackUsage)
	cmd.Flags().StringVar(&f.metrics, "metrics", "", metricsUsage)
	cmd.Flags().StringVar(&f.trace, "trace", "", traceUsage)
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object a line and nothing else")
	cmd.Flags().Int64Var(&f.Until, "until", 0, "save and stop at so many `steps`, as an interruption does; for members of a population")
	_ = cmd.Flags().MarkHidden("until") // which is there
	cmd.Flags().BoolVar(&f.Lost, "lost-record", false, "resume although lines of the run's record (metrics.jsonl) are lost")
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
	if holdsPopulation(dir) {
		return c.resumePopulation(ctx, dir, more, f)
	}
	if seeds := request.SeedFolders(dir); len(seeds) > 0 && !request.Taken(dir) {
		return c.resumeSeeds(ctx, dir, seeds, more, f)
	}
	file, err := request.RunConfig(dir)
	if err != nil {
		return notHere(dir, err)
	}
	before, r, err := c.resumed(ctx, file, more, filepath.Join(dir, request.ConfigFile), f)
	if r == nil {
		return err
	}
	kept, err := part.ReadCommitted(dir)
	if err != nil {
		return err
	}
	if f.processes > 0 {
		return toBegin(c.resumeProcesses(ctx, before, r, dir, f, request.Layers{Flags: more}.Sets("workers")), dir)
	}
	r.KeepShards(before, kept.Shards)
	release, err := request.Lock(dir)
	if err != nil {
		return err
	}
	defer release()
	w, hide, err := f.expose(ctx, c.watcher(r, dir, f.json), dir)
	if err != nil {
		return err
	}
	defer hide()
	w, untrack, err := c.track(ctx, w, r, dir, f.trackers)
	if err != nil {
		return err
	}
	defer untrack()
	return toBegin(c.goOn(ctx, before, r, dir, f.Again, f.review.over(w)), dir)
}

// toBegin adds to the error of a run without a good checkpoint how to begin it again.
func toBegin(err error, dir string) error {
	if errors.As(err, new(runner.NoCheckpoint)) {
		return fmt.Errorf("%w: weft resume %s --or-begin begins it again and keeps what is there", err, dir)
	}
	return err
}

// resumed returns what a run was and what the flags make of it; what is where it was read.
// Of one that needs packages of its author's, a program of its own has done all there
// is to do, and there is nothing.
func (c *command) resumed(ctx context.Context, file, flags []config.Assignment, what string, f *trainFlags) (before, r *request.Request, err error) {
	l := request.Layers{File: file, Flags: flags}
	if paths := c.foreign(l); len(paths) > 0 {
		return nil, nil, c.runBuiltWith(ctx, paths, l.Policy(), f.bring(c))
	}
	if before, err = c.set.Resolve(request.Layers{File: file}); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", what, err)
	}
	if r, err = c.set.Resolve(l); err != nil {
		return nil, nil, err
	}
	c.belong(r)
	return before, r, nil
}

// goOn resumes a run whose budget may have changed, and says how it ended.
func (c *command) goOn(ctx context.Context, before, r *request.Request, dir string, how request.Again, w watcher) error {
	s, err := r.GoOn(ctx, before, dir, how, w)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }() // done already, with its error, if the session ran
	if s.Over == "" {
		return c.finish(ctx, s.Session, w)
	}
	w.Note(s.Over)
	result, err := s.Finish()
	if err == nil {
		w.done(result)
	}
	return err
}
