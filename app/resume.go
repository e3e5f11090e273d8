package app

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/run/checkpoint"
)

func (c *command) resume() *cobra.Command {
	var steps string
	var json bool
	cmd := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run exactly where it stopped",
		Long: "Resume goes on from the newest good checkpoint of a run folder, and ends in the same bits\n" +
			"as a run that was never interrupted.",
		Example: "  weft resume runs/ppo-CartPole-v1-seed1\n  weft resume runs/ppo-CartPole-v1-seed1 --steps 1_000_000",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var more []config.Assignment
			if cmd.Flags().Changed("steps") {
				more = append(more, config.Assignment{Key: "steps", Value: steps, Source: "--steps"})
			}
			return c.runResume(cmd, args[0], more, json)
		},
	}
	cmd.Flags().StringVar(&steps, "steps", "", "train to this many steps instead of those it was started with")
	cmd.Flags().BoolVar(&json, "json", false, "print one JSON object a line and nothing else")
	return cmd
}

func (c *command) runResume(cmd *cobra.Command, dir string, more []config.Assignment, json bool) error {
	file, err := runConfig(dir)
	if err != nil {
		return err
	}
	l := layers{file: file, flags: more}
	if paths := c.foreign(l); len(paths) > 0 {
		return c.runBuilt(cmd.Context(), paths)
	}
	before, err := c.set.resolve(layers{file: file})
	if err != nil {
		return err
	}
	r, err := c.set.resolve(l)
	if err != nil {
		return err
	}
	release, err := lock(dir)
	if err != nil {
		return err
	}
	defer release()
	job, err := r.job()
	if err != nil {
		return err
	}
	job.Dir, job.Resume = dir, true
	if err := c.announce(before, r, dir, json); err != nil {
		return err
	}
	return c.finish(cmd.Context(), r, job, json)
}

// announce says what a changed budget means, and records it.
func (c *command) announce(before, r *request, dir string, json bool) error {
	if r.Steps == before.Steps {
		return nil
	}
	w := c.watcher(r, dir, json)
	d, err := checkpoint.Open(filepath.Join(dir, "checkpoints"), 1)
	if err != nil {
		return err
	}
	if _, done, _, err := d.Latest(); err == nil {
		w.Note(fmt.Sprintf("the budget changes from %d to %d steps: at step %d schedules that follow progress, such as an annealed "+
			"learning rate, go from %.0f %% to %.0f %% of their course; the run is no longer the one that %d steps alone would have been",
			before.Steps, r.Steps, done, 100*part(done, before.Steps), 100*part(done, r.Steps), r.Steps))
	}
	text, err := r.yaml()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, configFile), text, 0o644)
}

func part(done, of int64) float64 { return min(1, float64(done)/float64(max(1, of))) }

// runConfig reads the configuration of a run's folder.
func runConfig(dir string) ([]config.Assignment, error) {
	file, err := readFile(filepath.Join(dir, configFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is no run folder: it has no %s", dir, configFile)
	}
	return file, err
}
