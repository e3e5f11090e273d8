package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/cost"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/policy"
)

// auto is the name that stands for the policy that is predicted to be the fastest.
const auto = "auto"

// choosing is how long the programs of all policies may be recorded.
const choosing = 5 * time.Second

// autoFlags are the flags of a choice.
type autoFlags struct{ learners bool }

const learnersUsage = "with --policy auto, allow several learners: their sums of gradients round otherwise than the plain loop's"

// choose finds the plan that is predicted to be the fastest for what layers ask for, and returns
// the layers with its settings. Processes is how many the run is to have, or 0.
func (c *command) choose(ctx context.Context, l request.Layers, f autoFlags, processes int) (request.Layers, *cost.Choice, error) {
	asked := l
	l = with(l, config.Assignment{Key: "policy", Value: policy.Plain.Name}, config.Assignment{Key: "workers", Value: "1"}, config.Assignment{Key: "steps", Value: fmt.Sprint(endless)})
	r, err := c.set.Resolve(l)
	most, wrong := mostWorkers(asked, processes)
	if err := errors.Join(err, wrong, fixed(asked)); err != nil {
		return l, nil, err
	}
	job, err := r.Job()
	if err != nil {
		return l, nil, err
	}
	job.EvalEpisodes = 0
	on, err := r.Facts(job)
	if err != nil {
		return l, nil, err
	}
	c.started = true
	choice, err := cost.Choose(ctx, cost.Question{
		Job: job, On: on, Policies: c.set.AllPolicies(), Devices: []string{r.Device, plan.CPU}, Workers: most, Learners: f.learners, Budget: choosing, Site: siteOf(r, processes),
	})
	if err != nil {
		return l, nil, fmt.Errorf("--policy auto: %w", err)
	}
	c.started = false // what is chosen may be wrong in another way
	return with(asked, chosen(choice.Candidates[0])...), choice, nil
}

// chosen returns the settings of a plan.
func chosen(x cost.Candidate) []config.Assignment {
	return []config.Assignment{
		{Key: "policy", Value: x.Policy, Source: "--policy auto"},
		{Key: "workers", Value: fmt.Sprint(x.Workers), Source: "--policy auto"},
		{Key: "pipeline", Value: fmt.Sprint(x.Pipeline), Source: "--policy auto"},
	}
}

// with returns layers in which a choice's settings are these, wherever they were made before.
func with(l request.Layers, made ...config.Assignment) request.Layers {
	drop := func(list []config.Assignment) []config.Assignment {
		return slices.DeleteFunc(slices.Clone(list), func(a config.Assignment) bool {
			return slices.ContainsFunc(made, func(b config.Assignment) bool { return b.Key == a.Key }) || a.Key == "pipeline"
		})
	}
	l.File, l.Deploy, l.Flags = drop(l.File), drop(l.Deploy), drop(l.Flags)
	for _, a := range made {
		a.Source = "--policy auto"
		l.Flags = append(l.Flags, a)
	}
	return l
}

// mostWorkers returns how many workers a plan may have: as many as were asked for, or as there are
// processes or cores.
func mostWorkers(l request.Layers, processes int) (int, error) {
	if text := l.Value("workers"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return 0, fmt.Errorf("--workers: %q is not a number of workers", text)
		}
		return n, nil
	}
	return max(processes, 1, runtime.GOMAXPROCS(0)), nil
}

// fixed refuses settings that a choice would have to guess around.
func fixed(l request.Layers) error {
	var errs []error
	for _, key := range []string{"async", "replicas", "placement", "devices", "max_workers"} {
		if v := l.Value(key); v != "" && v != "0" && v != "false" {
			errs = append(errs, fmt.Errorf("--policy auto chooses synchronous plans of this machine by itself: leave %s out, or name a policy", key))
		}
	}
	return errors.Join(errs...)
}

// siteOf returns where plans of a request would run: lanes of this process, or processes of this
// machine.
func siteOf(r *request.Request, processes int) func(workers int) cost.Site {
	if processes == 0 {
		return cost.Lanes(r.Device, plan.CPU)
	}
	return func(workers int) cost.Site {
		s := cost.Site{Cluster: plan.Local(workers, r.Device, plan.CPU), Links: cost.Here}
		for i := range s.Cluster.Workers {
			s.Cluster.Workers[i].Cores = max(1, runtime.NumCPU()/processes)
			s.Cluster.Workers[i].Memory = memory() / int64(processes)
		}
		return s
	}
}

// autoPlan shows a choice.
func (c *command) autoPlan(ctx context.Context, l request.Layers, f autoFlags, format string) error {
	_, choice, err := c.choose(ctx, l, f, 0)
	if err != nil {
		return err
	}
	c.started = true
	switch format {
	case "text":
		return choice.Print(c.out)
	case "json":
		return json.NewEncoder(c.out).Encode(choice)
	}
	return fmt.Errorf("--format: a choice is written as text or json, not as %s", format)
}

// say tells the user what was chosen, where standard output is for people.
func (c *command) say(choice *cost.Choice, asJSON bool) error {
	out := c.out
	if asJSON {
		out = io.Writer(c.err)
	}
	if err := choice.Print(out); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}
