package app

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/run/local"
)

func (c *command) eval() *cobra.Command {
	var episodes int
	var best, sample, json bool
	cmd := &cobra.Command{
		Use:     "eval RUN",
		Short:   "Evaluate a run's policy",
		Long:    "Eval plays complete episodes with a run's newest policy, every one in an environment of its own.",
		Example: "  weft eval runs/ppo-CartPole-v1-seed1 --episodes 100\n  weft eval runs/ppo-CartPole-v1-seed1 --best",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if episodes < 1 {
				return fmt.Errorf("--episodes: %d is no number of episodes", episodes)
			}
			file, err := runConfig(args[0])
			if err != nil {
				return err
			}
			l := layers{file: file}
			if paths := c.foreign(l); len(paths) > 0 {
				return c.runBuilt(cmd.Context(), paths)
			}
			r, err := c.set.resolve(l)
			if err != nil {
				return err
			}
			job, err := r.job()
			if err != nil {
				return err
			}
			job.Dir = args[0]
			c.started = true
			e, err := local.EvaluateRun(cmd.Context(), job, best, !sample, episodes)
			if err != nil {
				return err
			}
			c.watcher(r, args[0], json).evaluated(e, !sample)
			return nil
		},
	}
	cmd.Flags().IntVar(&episodes, "episodes", 100, "complete episodes to play")
	cmd.Flags().BoolVar(&best, "best", false, "the best policy by evaluation instead of the newest")
	cmd.Flags().BoolVar(&sample, "sample", false, "act as in training instead of greedily")
	cmd.Flags().BoolVar(&json, "json", false, "print one JSON object and nothing else")
	return cmd
}
