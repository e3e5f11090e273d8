package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/env/wrap"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/run/runner"
)

// evalFlags are the flags of eval.
type evalFlags struct {
	weightFlags
	episodes      int
	sample, json  bool
	video, record string
	against       string
	openings      int
	set           changes
}

func (c *command) eval() *cobra.Command {
	var f evalFlags
	set := &trainFlags{values: map[string]*string{}}
	cmd := &cobra.Command{
		Use:   "eval RUN",
		Short: "Evaluate a run's policy",
		Long: "Eval plays complete episodes with a run's policy, every one in an environment of its own. It takes the\n" +
			"weights that evaluated best during the run, or the newest if none were evaluated, as --from of weft train does.\n\n" +
			"With --against it plays a match between the policies of two runs on a game, and prints the difference of\n" +
			"their Elo ratings. Games are pairs that begin with the same drawn moves, with the sides exchanged.",
		Example: "  weft eval runs/ppo-CartPole-v1-seed1 --episodes 100\n  weft eval runs/ppo-CartPole-v1-seed1 --newest\n" +
			"  weft eval runs/ppo-CartPole-v1-seed1 --video cartpole.gif\n" +
			"  weft eval runs/alphazero-board-TicTacToe-v0-seed1 --set act_by=network\n" +
			"  weft eval runs/today --against runs/yesterday --episodes 400",
		Args: oneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.runEval(cmd.Context(), args[0], set.changed(cmd), f)
		},
	}
	cmd.Flags().IntVar(&f.episodes, "episodes", 100, "complete episodes to play")
	f.weightFlags.flags(cmd, "evaluate")
	cmd.Flags().BoolVar(&f.sample, "sample", false, "act as in training instead of greedily")
	cmd.Flags().StringVar(&f.video, "video", "", "draw the first episode into a `file` whose name ends in .gif, or in .mp4 if ffmpeg is installed")
	cmd.Flags().StringVar(&f.record, "record", "", "write the episodes into a `file`, a line of JSON each")
	cmd.Flags().StringVar(&f.against, "against", "", "play --episodes games against the policy of another `run`")
	cmd.Flags().IntVar(&f.openings, "openings", 2, "`moves` drawn at the beginning of a pair of games with --against; without any, greedy policies play the same game again and again")
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object a line and nothing else")
	f.set.flag(cmd)
	c.settingFlags(cmd, set, []string{"env", "python", "on-env-failure"})
	return cmd
}

func (c *command) runEval(ctx context.Context, dir string, flags []config.Assignment, f evalFlags) error {
	if f.episodes < 1 {
		return fmt.Errorf("--episodes: %d is not a number of episodes", f.episodes)
	}
	if err := f.check(); err != nil {
		return err
	}
	if f.against != "" {
		return c.runMatch(ctx, dir, flags, f)
	}
	r, job, err := c.savedJob(ctx, dir, flags, f.set)
	if r == nil || err != nil {
		return err
	}
	w := c.watcher(r, dir, f.json)
	job.Watch = w
	if job.EvalWrap, err = f.recorders(); err != nil {
		return err
	}
	c.started = true
	e, err := runner.EvaluateRun(ctx, job, f.which(), !f.sample, f.episodes)
	if err != nil && ctx.Err() == nil {
		w.fail(err)
		return exitStatus(exitFailed)
	}
	if err != nil {
		return err
	}
	w.evaluated(e, !f.sample)
	return nil
}

// recorders returns the wrappers of an evaluation. Their files are not the run's: they
// are named as from here.
func (f evalFlags) recorders() (list wrap.List, err error) {
	var errs []error
	for _, x := range []struct {
		flag, file string
		make       func(string) wrap.Wrapper
		check      func(string) error
	}{{"--video", f.video, wrap.Video, wrap.CheckVideo}, {"--record", f.record, wrap.Record, func(string) error { return nil }}} {
		if x.file == "" {
			continue
		}
		if err := x.check(x.file); err != nil {
			errs = append(errs, fmt.Errorf("%s: %s: %w", x.flag, x.file, err))
			continue
		}
		path, err := filepath.Abs(x.file)
		if err == nil {
			err = checkFile(x.flag, x.file) // else it would be told when an episode was played
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, x.make(path))
	}
	return list, errors.Join(errs...)
}
