package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/draw/chart"
	"github.com/weft-rl/weft/internal/stat"
	"github.com/weft-rl/weft/internal/study"
)

// plotFlags are the flags of plot.
type plotFlags struct {
	runsFlags
	time      bool
	smooth    float64
	out       string
	published []string
	bootstrap stat.Bootstrap
}

func (c *command) plot() *cobra.Command {
	f := &plotFlags{}
	cmd := &cobra.Command{
		Use:   "plot RUN...",
		Short: "Draw learning curves for a paper",
		Long: "Plot draws the learning curves of runs into an SVG file, one panel a task and one line a group of runs: the\n" +
			"interquartile mean over seeds with its bootstrap interval. A RUN is a run's folder, that of the seeds of one, or\n" +
			"a folder of many; LABEL= names its group.",
		Example: "  weft plot runs/ppo-CartPole-v1-seeds1-5 runs/a2c-CartPole-v1-seeds1-5\n" +
			"  weft plot runs --by learning_rate --out rates.svg\n" +
			"  weft plot runs --published Acrobot-v1=-91.7:-55.3\n" +
			"  weft plot new=runs/today old=runs/yesterday --time --smooth 0.8",
		Args: someRuns,
		RunE: func(_ *cobra.Command, args []string) error { return c.runPlot(args, f) },
	}
	f.runsFlags.flags(cmd)
	cmd.Flags().BoolVar(&f.time, "time", false, "draw against the time that training took instead of steps")
	cmd.Flags().Float64Var(&f.smooth, "smooth", 0, "`weight` of the past in a moving average, from 0, which draws what was recorded, to below 1")
	cmd.Flags().StringArrayVar(&f.published, "published", nil, "shade an interval to compare a task's curves with, as `TASK=LOW:HIGH`; may be repeated")
	cmd.Flags().StringVar(&f.out, "out", "plot.svg", "`file` to draw into")
	bootstrapFlags(cmd, &f.bootstrap)
	f.bootstrap.Resamples = 1000 // there are many points
	cmd.Flags().Lookup("resamples").DefValue = "1000"
	return cmd
}

func (c *command) runPlot(args []string, f *plotFlags) error {
	var err error
	if !(f.smooth >= 0 && f.smooth < 1) {
		err = fmt.Errorf("--smooth: %v is not from 0 to below 1", f.smooth)
	}
	published, wrong := parseRanges("--published", f.published)
	runs, unread := study.Find(args)
	if err := errors.Join(err, wrong, checkBootstrap(f.bootstrap), checkFile("--out", f.out, ".svg"), unread); err != nil {
		return err
	}
	metric, err := study.Metric(runs, f.metric)
	if err != nil {
		return err
	}
	grouping, err := study.By(runs, f.by)
	if err != nil {
		return err
	}
	c.started = true
	if err := writeFigure(f.out, f.figure(grouping, metric, published)); err != nil {
		return err
	}
	fmt.Fprintf(c.out, "drew %s of %d runs into %s\n", metric, len(runs), f.out)
	return nil
}

// plotPlaces is on how many points of the axis runs are joined.
const plotPlaces = 150

// figure draws a panel for each task.
func (f *plotFlags) figure(g study.Grouping, metric string, published map[string]stat.Range) chart.Figure {
	out := chart.Figure{}
	label := "steps"
	if f.time {
		label = "seconds"
	}
	for _, x := range g.Groups {
		out.Legend = append(out.Legend, x.Name)
	}
	for i, task := range g.Tasks {
		p := chart.Lines{Title: task, XLabel: label, YLabel: metric}
		if r, ok := published[task]; ok {
			p.Band = &chart.Band{Low: r.Low, High: r.High}
		}
		for style, x := range g.Groups {
			if s, ok := f.series(x.Tasks[task], metric, style); ok {
				p.Series = append(p.Series, s)
			}
		}
		if i%2 == 0 {
			out.Rows = append(out.Rows, nil)
		}
		last := len(out.Rows) - 1
		out.Rows[last] = append(out.Rows[last], p)
	}
	out.Notes = []string{fmt.Sprintf("Interquartile mean over seeds; bands: %g %% intervals, bootstrap over seeds, %d samples.", 100*f.bootstrap.Level, f.bootstrap.Resamples)}
	return out
}

// series joins the runs of a group on a task; ok is false if there are none.
func (f *plotFlags) series(runs []*study.Run, metric string, style int) (s chart.Series, ok bool) {
	xs, ys := make([][]float64, len(runs)), make([][]float64, len(runs))
	for i, r := range runs {
		for _, p := range r.Curve(metric) {
			x := float64(p.Step)
			if f.time {
				x = p.Seconds
			}
			xs[i], ys[i] = append(xs[i], x), append(ys[i], p.X)
		}
		ys[i] = study.Smooth(ys[i], f.smooth)
	}
	b := study.Join(xs, ys, plotPlaces, f.bootstrap)
	s = chart.Series{X: b.X, Y: b.Y, Style: style}
	if len(runs) > 1 {
		s.Low, s.High = b.Low, b.High
	}
	return s, len(b.X) > 0
}
