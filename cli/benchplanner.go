package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/weft-rl/weft/internal/bench"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/cost"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
)

// benchPlanner predicts and measures plans of workloads, and judges the predictions.
func (c *command) benchPlanner(ctx context.Context, cases []bench.Case, f *benchFlags) error {
	c.started = true
	turn, count := 2*time.Second, max(1, f.Count)
	if f.Quick {
		turn = 300 * time.Millisecond
	}
	const row = "%-42s%-24s%7v%9v%12s%12s%8s\n"
	if !f.json {
		fmt.Fprintf(c.out, row, "workload", "policy", "workers", "pipeline", "predicted", "measured", "error")
	}
	var all []cost.Compared
	var failed error
	done := 0
	for _, x := range cases {
		list, err := c.comparePlans(ctx, x, turn, count)
		if err != nil {
			failed = fmt.Errorf("%s: %w", x.ID, err)
			break // what was measured so far is judged
		}
		for _, one := range list {
			if f.json {
				err = json.NewEncoder(c.out).Encode(one)
			} else {
				ms := func(s float64) string { return fmt.Sprintf("%.4g ms", s*1e3) }
				_, err = fmt.Fprintf(c.out, row, one.Workload, one.Policy, one.Workers, one.Pipeline, ms(one.Predicted), ms(one.Measured), fmt.Sprintf("%.0f %%", 100*one.Error()))
			}
			if err != nil {
				return err
			}
		}
		all = append(all, list...)
		done++
	}
	if len(all) == 0 {
		return failed
	}
	return errors.Join(failed, c.judge(all, done, f.json))
}

// judge writes how good predictions were.
func (c *command) judge(all []cost.Compared, workloads int, asJSON bool) error {
	v := cost.Judge(all)
	if asJSON {
		return json.NewEncoder(c.out).Encode(v)
	}
	_, err := fmt.Fprintf(c.out, "\n%d plans of %d workloads: the error is %.0f %% in the median and %.0f %% in the ninetieth percentile;\n"+
		"%.0f %% of %d pairs are ordered as measured; the regret of auto is %.0f %% in the median and %.0f %% at worst\n",
		v.Plans, workloads, 100*v.Median, 100*v.Ninetieth, 100*v.Ordered, v.Pairs, 100*v.MedianRegret, 100*v.WorstRegret)
	return err
}

// comparePlans predicts all plans of a workload, and measures them in turns: the least of a plan's
// rounds counts, because other processes can only slow it down.
func (c *command) comparePlans(ctx context.Context, x bench.Case, turn time.Duration, count int) ([]cost.Compared, error) {
	spec := x.Spec.(bench.PlannerSpec)
	r, job, on, err := c.plannerJob(spec)
	if err != nil {
		return nil, err
	}
	choice, err := cost.Choose(ctx, cost.Question{Job: job, On: on, Policies: c.set.AllPolicies(), Devices: []string{r.Device, plan.CPU}, Workers: spec.Workers, Learners: true, Site: siteOf(r, 0)})
	if err != nil {
		return nil, err
	}
	var out []cost.Compared
	for _, k := range choice.Candidates {
		out = append(out, cost.Compared{Workload: x.ID, Policy: k.Policy, Workers: k.Workers, Pipeline: k.Pipeline, Predicted: k.Seconds})
	}
	for range count {
		for i, k := range choice.Candidates {
			s, err := cost.Measure(ctx, job, k.Plan, cost.Longer(turn))
			if err != nil {
				return nil, err
			}
			if out[i].Measured == 0 || s < out[i].Measured {
				out[i].Measured = s
			}
		}
	}
	return out, nil
}

// plannerJob returns a workload as a job.
func (c *command) plannerJob(spec bench.PlannerSpec) (r *request.Request, job runner.Job, on plan.Problem, err error) {
	l := request.Layers{Flags: []config.Assignment{
		{Key: "algorithm", Value: spec.Algorithm, Source: "bench"}, {Key: "env", Value: spec.Env, Source: "bench"}, {Key: "steps", Value: fmt.Sprint(endless), Source: "bench"},
	}}
	for _, text := range spec.Set {
		a, err := config.ParseSet(text, "bench")
		if err != nil {
			return nil, job, on, err
		}
		l.Set = append(l.Set, a)
	}
	if r, err = c.set.Resolve(l); err != nil {
		return nil, job, on, err
	}
	if spec.Burn > 0 {
		r.Found.Env, r.Found.EnvOptions = burner(spec.Burn, true), nil
	}
	if job, err = r.Job(); err != nil {
		return nil, job, on, err
	}
	job.EvalEpisodes = 0
	on, err = r.Facts(job)
	return r, job, on, err
}
