package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/draw/sheet"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/plan"
)

// planFormats are how a plan can be written.
var planFormats = map[string]func(*plan.Sheet, io.Writer) error{
	"text": (*plan.Sheet).Print,
	"json": (*plan.Sheet).WriteJSON,
	"dot":  func(s *plan.Sheet, w io.Writer) error { return sheet.DOT(w, s) },
	"svg":  func(s *plan.Sheet, w io.Writer) error { return sheet.SVG(w, s) },
}

// planSettings are the flags of train that decide about a plan.
var planSettings = []string{
	"env", "wrap", "preset", "policy", "workers", "max-workers", "device", "replicas", "async", "staleness", "producers", "samples-per-insert", "tolerance", "queue",
	"no-fuse", "placement", "devices", "pipeline", "seed", "python",
}

func (c *command) plan() *cobra.Command {
	f := &trainFlags{values: map[string]*string{}}
	names := slices.Sorted(maps.Keys(planFormats))
	format, cluster, choose := "text", "", false
	cmd := &cobra.Command{
		Use:   "plan ALGO",
		Short: "Show how a policy distributes a training loop",
		Long: "Plan shows what train would run: which groups of fragments there are, where their replicas are, and what crosses\n" +
			"between them, before and after co-located work is fused. What crosses is measured: the generated programs run\n" +
			"for a few iterations in this process. ALGO and the flags are train's; a cluster that is not this machine is\n" +
			"described by a file.",
		Example: "  weft plan ppo --policy single-learner-coarse --workers 4\n" +
			"  weft plan ppo --auto\n" +
			"  weft plan a2c --policy central --async --workers 4 --format svg > a3c.svg\n" +
			"  weft plan ppo --policy multi-learner --cluster cluster.yaml",
		Args:        cobra.MaximumNArgs(1),
		Annotations: map[string]string{settingsHint: "a setting of the algorithm is given with --set key=value"},
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := planFormats[format]
			if !ok {
				return request.Unknown("format", format, names, "weft plan --help")
			}
			if l, err := f.layers(cmd, args); (l.Policy() == auto || choose) && len(c.foreign(l)) == 0 {
				if err = errors.Join(err, oneOf(cluster)); err != nil {
					return err
				}
				return c.autoPlan(cmd.Context(), l, f.auto, format)
			}
			sheet, err := c.runPlan(cmd, f, args, cluster)
			if err != nil || sheet == nil {
				return err
			}
			return write(sheet, c.out)
		},
	}
	c.settingFlags(cmd, f, planSettings)
	flags := cmd.Flags()
	flags.StringVar(&f.data, "data", "", dataUsage)
	flags.StringArrayVar(&f.set, "set", nil, "a setting of the algorithm, `key=value`; may be repeated")
	flags.StringArrayVar(&f.files, "config", nil, configUsage)
	flags.StringVar(&f.deploy, "deployment", "", deploymentUsage)
	flags.StringVar(&cluster, "cluster", "", "`file` (YAML) that describes the workers; default: workers in this process")
	flags.BoolVar(&choose, "auto", false, "show the plans that train --policy auto chooses from, the fastest first")
	flags.BoolVar(&f.auto.learners, "allow-learners", false, learnersUsage)
	flags.StringVar(&format, "format", format, "how to write it: "+strings.Join(names, ", "))
	return cmd
}

// oneOf refuses a choice for machines that are not here.
func oneOf(cluster string) error {
	if cluster != "" {
		return errors.New("--auto chooses for this machine: leave --cluster out")
	}
	return nil
}

// endless is a budget that no measurement comes to the end of.
const endless = 1 << 50

// runPlan plans and measures; without a sheet another binary did.
func (c *command) runPlan(cmd *cobra.Command, f *trainFlags, args []string, cluster string) (*plan.Sheet, error) {
	l, malformed := f.layers(cmd, args)
	if paths := c.foreign(l); len(paths) > 0 {
		if malformed != nil {
			return nil, malformed
		}
		return nil, c.runBuilt(cmd.Context(), paths, l.Policy())
	}
	return c.planned(cmd.Context(), l, cluster, malformed)
}

// planned plans and measures what layers of settings ask for. What was malformed is reported with
// what else is wrong.
func (c *command) planned(ctx context.Context, l request.Layers, cluster string, malformed error) (*plan.Sheet, error) {
	l.Flags = append(l.Flags, config.Assignment{Key: "steps", Value: fmt.Sprint(endless), Source: "plan"})
	r, wrong := c.set.Resolve(l)
	if err := errors.Join(malformed, wrong, r.On(cluster, l)); err != nil {
		return nil, err
	}
	return c.sheetOf(ctx, r)
}

// sheetOf plans and measures a run. Its recorders write nothing.
func (c *command) sheetOf(ctx context.Context, r *request.Request) (*plan.Sheet, error) {
	job, err := r.Job()
	if err != nil {
		return nil, err
	}
	job.EvalEpisodes, job.Wrap = 0, job.Wrap.Silent()
	if r.Cluster != nil {
		job.Open = nil // what it has need not be here
	}
	on, err := r.Facts(job)
	if err != nil {
		return nil, err
	}
	sheet := &plan.Sheet{Cluster: on.Cluster, Facts: on.Facts}
	if sheet.Before, err = r.Found.Policy.Make(on); err != nil {
		return nil, err
	}
	c.started = true
	m := &meter{job: job, envs: on.Facts.Envs}
	if err := m.measure(ctx, &sheet.Before); err != nil {
		return nil, err
	}
	sheet.After = sheet.Before.Fuse(on.Graph, r.NoFuse)
	if len(sheet.After.Fused) > 0 {
		if err := m.measure(ctx, &sheet.After); err != nil {
			return nil, err
		}
	}
	sheet.Measured = m.how()
	return sheet, nil
}
