package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/runner"
)

// weightFlags choose among the weights of a run.
type weightFlags struct{ best, newest bool }

// flags adds them to a command that does something with the weights.
func (f *weightFlags) flags(cmd *cobra.Command, does string) {
	cmd.Flags().BoolVar(&f.best, "best", false, does+" the weights that evaluated best, and fail if none were evaluated")
	cmd.Flags().BoolVar(&f.newest, "newest", false, does+" the weights of the newest checkpoint")
}

func (f weightFlags) check() error {
	if f.best && f.newest {
		return errors.New("--best and --newest: choose one")
	}
	return nil
}

// which returns the weights that were chosen.
func (f weightFlags) which() runner.Weights {
	switch {
	case f.best:
		return runner.OnlyBest
	case f.newest:
		return runner.NewestAlone
	}
	return runner.PreferBest
}

// changes are assignments to settings of a run's algorithm, key=value, for one command alone.
type changes []string

// flag adds --set to a command.
func (s *changes) flag(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar((*[]string)(s), "set", nil, "set `key=value` of the algorithm for this command alone; the networks must keep their sizes")
}

// list returns the assignments, with what is wrong with their form.
func (s changes) list() (out []config.Assignment, err error) {
	var errs []error
	for _, text := range s {
		a, err := config.ParseSet(text, "--set")
		out, errs = append(out, a), append(errs, err)
	}
	return out, errors.Join(errs...)
}

// savedJob returns the request of a run's folder, changed by flags, and its job, to build the run's
// agent alone. The request is nil if a binary that knows the run's packages did the work.
func (c *command) savedJob(ctx context.Context, dir string, flags []config.Assignment, set changes) (*request.Request, runner.Job, error) {
	dir = request.RunFolder(dir)
	file, err := request.RunConfig(dir)
	if err != nil {
		return nil, runner.Job{}, err
	}
	l := request.Layers{File: file, Flags: flags}
	if l.Set, err = set.list(); err != nil {
		return nil, runner.Job{}, err
	}
	if paths := c.foreign(l); len(paths) > 0 {
		return nil, runner.Job{}, c.runBuilt(ctx, paths, "")
	}
	r, err := c.set.Resolve(l)
	if err != nil {
		return nil, runner.Job{}, err
	}
	r.Single = true
	job, err := r.Job()
	job.Dir = dir
	return r, job, err
}
