package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/app"
	"github.com/weft-rl/weft/internal/bench"
	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/plan"
)

// benchFlags are the flags of bench.
type benchFlags struct {
	bench.Options
	match string
	table string
	json  bool
}

func (c *command) bench() *cobra.Command {
	f := &benchFlags{Options: bench.Options{Policy: c.trainPolicy, Loop: c.trainLoop}}
	f.Train = func(ctx context.Context, r bench.Recipe, after func()) error {
		return c.trainRecipe(ctx, recipe(r), app.Job{}, after)
	}
	f.Device = func(ctx context.Context, g bench.GPUSpec, device string, after func()) error {
		set := append(recipe(g.Recipe), fmt.Sprintf("hidden=%d,%d", g.Width, g.Width))
		return c.trainRecipe(ctx, set, app.Job{Device: device, Deployment: plan.Deployment{Policy: "gpu-only"}}, after)
	}
	f.Whole = func(ctx context.Context, args []string) (bench.WholeRun, error) { return wholeRun(ctx, args) }
	f.Env = func(id string, n int) (bench.Stepper, error) { return c.stepper(id, n, f.Python) }
	cmd := &cobra.Command{
		Use:   "bench [NAME]",
		Short: "Measure Weft beside its peers",
		Long: "Bench runs one of the project's benchmarks, with peers beside Weft where they are installed;\n" +
			"without a NAME it lists the benchmarks. Contenders take turns; times are medians over the rounds.",
		Example: "  weft bench\n  weft bench engine --quick\n  weft bench engine --match mlp --only weft,jax --count 9\n" +
			"  weft bench ppo --python peers/bin/python\n  weft bench offpolicy --match dqn\n  weft bench env --python peers/bin/python\n" +
			"  weft bench policies --match 'workers|fusion'\n  weft bench gpu --device cuda\n" +
			"  weft bench gpu --precision bf16,tf32,float32\n" +
			"  weft bench gpu --table policies --match 'envs=2048,net=1024' --count 1\n  weft bench checkpoint --quick",
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return c.listBenchmarks(f.json)
			}
			return c.runBench(cmd.Context(), args[0], f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.json, "json", false, "print one JSON object a line and nothing else")
	flags.StringVar(&f.Python, "python", "python3", "the `interpreter` whose packages are the peers")
	flags.IntVar(&f.Count, "count", 0, "`rounds` in which contenders take turns (default 5, with --quick 3)")
	flags.BoolVar(&f.Quick, "quick", false, "run smaller cases for a shorter time")
	flags.StringVar(&f.match, "match", "", "run only cases whose name matches a regular `expression`")
	flags.StringVar(&f.table, "table", "", "another `table` of the benchmarks gpu, policies, tag or offpolicy")
	flags.StringVar(&f.On, "device", "cuda", "`device` on which Weft runs in benchmark gpu")
	flags.StringSliceVar(&f.Precisions, "precision", nil, "`precisions` of matrix products in benchmark gpu: float32, tf32, bf16 (default, on a GPU, tf32 and float32)")
	flags.DurationVar(&f.Limit, "limit", time.Minute, "`time` limit of a contender in a case of gpu's tables; the results up to it are shown")
	flags.StringSliceVar(&f.Only, "only", nil, "run only these `contenders`, by name")
	return cmd
}

func (c *command) listBenchmarks(asJSON bool) error {
	var rows [][]string
	for _, b := range bench.All {
		if !asJSON {
			rows = append(rows, []string{b.Name, b.Doc})
			continue
		}
		line := struct {
			Name  string   `json:"name"`
			Doc   string   `json:"doc"`
			Cases []string `json:"cases"`
		}{b.Name, b.Doc, b.IDs(false)}
		if err := json.NewEncoder(c.out).Encode(line); err != nil {
			return err
		}
	}
	return config.Columns(c.out, rows)
}

func (c *command) runBench(ctx context.Context, name string, f *benchFlags) error {
	b, err := benchmark(name)
	errs := []error{err}
	if err == nil {
		b, err = b.Table(f.table)
		errs = append(errs, err)
	}
	if f.Count < 0 {
		errs = append(errs, fmt.Errorf("--count: %d is not a number of rounds", f.Count))
	}
	if f.Limit < 0 {
		errs = append(errs, fmt.Errorf("--limit: %v is not a time", f.Limit))
	}
	if f.match != "" {
		f.Match, err = regexp.Compile(f.match)
		errs = append(errs, err)
	}
	if err := errors.Join(append(errs, b.Check(f.Options))...); err != nil {
		return err
	}
	if b.Name == bench.Planner.Name {
		return c.benchPlanner(ctx, b.Chosen(f.Options), f)
	}
	if b.Name == bench.Serve.Name {
		return c.benchServe(ctx, b.Chosen(f.Options), f)
	}
	report := bench.Table(c.out)
	if f.json {
		report = bench.Lines(c.out)
	}
	c.started = true
	err = bench.Run(ctx, b, f.Options, report)
	if errors.Is(err, context.Canceled) {
		return exitStatus(exitInterrupted)
	}
	return err
}

func benchmark(name string) (bench.Benchmark, error) {
	var names []string
	for _, b := range bench.All {
		if b.Name == name {
			return b, nil
		}
		names = append(names, b.Name)
	}
	return bench.Benchmark{}, request.Unknown("benchmark", name, names, "weft bench")
}

// trainRecipe trains PPO with the settings, on a job's device and under its policy.
func (c *command) trainRecipe(ctx context.Context, set []string, j app.Job, after func()) error {
	a, err := c.set.Algorithm("ppo")
	if err != nil {
		return err
	}
	e, err := c.set.Environment("CartPole-v1")
	if err != nil {
		return err
	}
	j.Algorithm, j.Env, j.Preset, j.Steps, j.Set = a, e, "default", endless, set
	j.Watch = func(app.Progress) { after() }
	_, err = app.Train(ctx, j)
	return err
}

// recipe returns the settings of a recipe: PPO as weft train has it, but for annealing, which an
// endless run has none of.
func recipe(r bench.Recipe) []string {
	return []string{
		fmt.Sprint("envs=", r.Envs), fmt.Sprint("horizon=", r.Horizon), fmt.Sprint("epochs=", r.Epochs),
		fmt.Sprint("minibatches=", r.Minibatches), "anneal=constant",
	}
}

// trainPolicy returns a function that trains under a policy, on CartPole or on an environment that
// computes.
func (c *command) trainPolicy(ctx context.Context, p bench.PolicySpec, w bench.Way, after func()) error {
	a, err := c.set.Algorithm("ppo")
	if err != nil {
		return err
	}
	e, err := c.set.Environment("CartPole-v1")
	if p.Burn > 0 {
		e, err = burner(p.Burn, true), nil
	}
	if err != nil {
		return err
	}
	d := plan.Deployment{Policy: w.Policy, Workers: w.Workers, Replicas: w.Replicas, Async: w.Async}
	if w.Async {
		d.Staleness = 2
	}
	if w.NoFuse != "" {
		d.NoFuse = []string{w.NoFuse}
	}
	_, err = app.Train(ctx, app.Job{
		Algorithm: a, Env: e, Steps: endless, Deployment: d,
		Set:   append(recipe(p.Recipe), "hidden="+p.Hidden),
		Watch: func(app.Progress) { after() },
	})
	return err
}

// trainLoop trains any of the set's algorithms on a device.
func (c *command) trainLoop(ctx context.Context, l bench.LoopSpec, w bench.LoopWay, device string, after func()) error {
	a, err := c.set.Algorithm(l.Algorithm)
	if err != nil {
		return err
	}
	preset := cmp.Or(l.Preset, "default")
	e, err := c.set.Environment(l.Env)
	if l.Burn > 0 { // which has none
		e, err, preset = burner(l.Burn, false), nil, ""
	}
	if err != nil {
		return err
	}
	_, err = app.Train(ctx, app.Job{
		Algorithm: a, Env: e, Options: l.Options, Preset: preset, Steps: endless, Set: l.Set, Device: device,
		Deployment: plan.Deployment{Policy: w.Policy, Devices: w.Devices, Pipeline: w.Pipeline},
		Watch:      func(app.Progress) { after() },
	})
	return err
}
