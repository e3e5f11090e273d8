package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/stat"
	"github.com/weft-rl/weft/internal/study"
)

// compareFlags are the flags of compare.
type compareFlags struct {
	runsFlags
	at        int64
	ranges    []string
	bar       string
	svg, csv  string
	parquet   string
	json      bool
	bootstrap stat.Bootstrap
}

// runsFlags are the flags of commands that look at several runs.
type runsFlags struct {
	metric string
	by     []string
}

func (f *runsFlags) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.metric, "metric", "", "metric to compare; default: eval/return if all runs were evaluated, episode/return_mean otherwise")
	cmd.Flags().StringSliceVar(&f.by, "by", nil, "group runs by these `settings`, such as algorithm or learning_rate; default: by algorithm and by the settings that differ between its runs on one task")
}

// bootstrapFlags makes the flags of how intervals are estimated.
func bootstrapFlags(cmd *cobra.Command, b *stat.Bootstrap) {
	*b = stat.Usual
	cmd.Flags().Float64Var(&b.Level, "level", b.Level, "confidence of intervals, between 0 and 1")
	cmd.Flags().IntVar(&b.Resamples, "resamples", b.Resamples, "samples that an interval is estimated from")
	cmd.Flags().Uint64Var(&b.Seed, "seed", b.Seed, "seed of the samples: the same seed gives the same intervals")
}

// checkBootstrap reports what is wrong with how intervals are to be estimated.
func checkBootstrap(b stat.Bootstrap) error {
	var errs []error
	if !(b.Level > 0 && b.Level < 1) {
		errs = append(errs, fmt.Errorf("--level: %v is not between 0 and 1", b.Level))
	}
	if b.Resamples < 1 || b.Resamples > 1_000_000 {
		errs = append(errs, fmt.Errorf("--resamples: %d is not between 1 and 1000000", b.Resamples))
	}
	return errors.Join(errs...)
}

func (c *command) compare() *cobra.Command {
	f := &compareFlags{}
	cmd := &cobra.Command{
		Use:   "compare [LABEL=]RUN...",
		Short: "Compare runs of several seeds by robust statistics",
		Long: "Compare groups runs and says how the groups differ, by the statistics of rliable: interquartile mean, mean,\n" +
			"median, optimality gap, performance profile and probability of improvement, with intervals of the stratified\n" +
			"bootstrap. A RUN is the folder of a run, of the seeds of one, or of many runs; LABEL= names its group.\n" +
			"Scores of several tasks are scaled, from the lowest to the highest of all runs, or as --range says.\n\n" +
			"With --bar the command ends with 1 unless all groups have reached it: the whole interval of the interquartile\n" +
			"mean is at or above the bar.",
		Example: "  weft compare runs/ppo-CartPole-v1-seeds1-5 runs/a2c-CartPole-v1-seeds1-5\n" +
			"  weft compare runs --by learning_rate --svg rates.svg\n" +
			"  weft compare new=runs/today old=runs/yesterday --csv differences.csv --parquet differences.parquet\n" +
			"  weft compare runs --range CartPole-v1=0:500 --range Acrobot-v1=-500:-60\n" +
			"  weft compare runs/ppo-CartPole-v1-seeds1-5 --bar 475",
		Args: someRuns,
		RunE: func(_ *cobra.Command, args []string) error { return c.runCompare(args, f) },
	}
	f.runsFlags.flags(cmd)
	cmd.Flags().Int64Var(&f.at, "at", 0, "compare the last values before this `step` instead of the final ones")
	cmd.Flags().StringArrayVar(&f.ranges, "range", nil, "scale a task's scores so that LOW is 0 and HIGH is 1, as `TASK=LOW:HIGH`; may be repeated")
	cmd.Flags().StringVar(&f.bar, "bar", "", "`score` to reach: the optimality gap is measured from it, and groups are judged by it")
	cmd.Flags().StringVar(&f.svg, "svg", "", "draw the comparison into a `file`")
	cmd.Flags().StringVar(&f.csv, "csv", "", "write all scores and statistics into a `file`, a row each")
	cmd.Flags().StringVar(&f.parquet, "parquet", "", "write the table of --csv into a Parquet `file`; empty numbers are NaN")
	cmd.Flags().BoolVar(&f.json, "json", false, "print a JSON object and nothing else")
	bootstrapFlags(cmd, &f.bootstrap)
	return cmd
}

// someRuns refuses a command without any run.
func someRuns(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("name the folders of runs, such as runs/ppo-CartPole-v1-seeds1-5 (%s --help shows examples)", cmd.CommandPath())
	}
	return nil
}

// compared is a comparison with what was compared.
type compared struct {
	stat.Comparison
	grouping  study.Grouping
	scores    []stat.Group // scores as the runs recorded them
	metric    string
	at        int64
	bootstrap stat.Bootstrap
	scaled    bool // scores are parts of ranges
	given     bool // all ranges were given
	judged    bool // Bar was given, so groups are judged by it
}

func (c *command) runCompare(args []string, f *compareFlags) error {
	bar, wrongBar := f.asBar()
	given, wrongRanges := parseRanges("--range", f.ranges)
	runs, unread := study.Find(args)
	files := errors.Join(checkFile("--svg", f.svg, ".svg"), checkFile("--csv", f.csv), checkFile("--parquet", f.parquet))
	if err := errors.Join(wrongBar, wrongRanges, f.checkAt(), checkBootstrap(f.bootstrap), files, unread); err != nil {
		return err
	}
	x, err := f.compare(runs, bar, given)
	if err != nil {
		return err
	}
	c.started = true
	if err := x.files(f.svg, f.csv, f.parquet); err != nil {
		return err
	}
	if f.json {
		err = json.NewEncoder(c.out).Encode(x.event())
	} else {
		err = x.print(c.out)
	}
	if err == nil && x.judged && !x.reached() {
		err = exitStatus(exitFailed)
	}
	return err
}

// asBar reads the bar; nil is none.
func (f *compareFlags) asBar() (*float64, error) {
	if f.bar == "" {
		return nil, nil
	}
	x, err := strconv.ParseFloat(f.bar, 64)
	if err != nil {
		return nil, fmt.Errorf("--bar: %q is not a number", f.bar)
	}
	return &x, nil
}

func (f *compareFlags) checkAt() error {
	if f.at < 0 {
		return fmt.Errorf("--at: %d is not a number of steps", f.at)
	}
	return nil
}

// parseRanges reads intervals of tasks, TASK=LOW:HIGH, that a flag was given.
func parseRanges(flag string, texts []string) (map[string]stat.Range, error) {
	out := map[string]stat.Range{}
	var errs []error
	for _, text := range texts {
		i := strings.LastIndex(text, "=") // a task's own settings may have some
		low, high, ok := strings.Cut(text[i+1:], ":")
		a, err := strconv.ParseFloat(low, 64)
		b, err2 := strconv.ParseFloat(high, 64)
		if i < 1 || !ok || err != nil || err2 != nil || !(a < b) {
			errs = append(errs, fmt.Errorf("%s: %q is not of the form TASK=LOW:HIGH, such as CartPole-v1=0:500, with LOW below HIGH", flag, text))
			continue
		}
		out[text[:i]] = stat.Range{Low: a, High: b}
	}
	return out, errors.Join(errs...)
}

// compare groups runs and computes their statistics.
func (f *compareFlags) compare(runs []*study.Run, bar *float64, given map[string]stat.Range) (*compared, error) {
	x := &compared{at: f.at, bootstrap: f.bootstrap, judged: bar != nil}
	var err error
	if x.metric, err = study.Metric(runs, f.metric); err != nil {
		return nil, err
	}
	if x.grouping, err = study.By(runs, f.by); err != nil {
		return nil, err
	}
	if x.scores, err = x.grouping.Scores(x.metric, f.at); err != nil {
		return nil, err
	}
	ranges, err := x.grouping.Ranges(x.scores, given)
	if err != nil {
		return nil, err
	}
	groups := x.scores
	x.scaled, x.given = len(ranges) > 1 || len(given) > 0, len(given) == len(ranges)
	if x.scaled {
		groups = nil
		for _, g := range x.scores {
			groups = append(groups, stat.Group{Name: g.Name, Scores: g.Scores.Scale(ranges)})
		}
		if bar == nil {
			one := 1.
			bar = &one
		}
	}
	x.Comparison = stat.Compare(groups, bar, f.bootstrap)
	return x, nil
}

// reached reports whether every group has reached the bar.
func (x *compared) reached() bool {
	for _, e := range x.IQM {
		if stat.Judge(e, *x.Bar) != stat.Reached {
			return false
		}
	}
	return true
}

// runs returns the number of all runs.
func (x *compared) runs() (n int) {
	for _, g := range x.scores {
		n += g.Scores.Runs()
	}
	return n
}

// subject says what was compared, in one line.
func (x *compared) subject() string {
	when := "at the end"
	if x.at > 0 {
		when = fmt.Sprintf("at step %s", metrics.Count(x.at))
	}
	return fmt.Sprintf("%s %s of %d runs on %s", x.metric, when, x.runs(), strings.Join(x.grouping.Tasks, ", "))
}

// scale says what the scores are.
func (x *compared) scale() string {
	switch {
	case !x.scaled:
		return ""
	case x.given:
		return "Scores are parts of the ranges given: 0 is a task's low, 1 its high."
	}
	return "Scores are scaled by task: 0 is the lowest and 1 the highest score of these runs."
}

// comparisonEvent is a comparison for programs.
type comparisonEvent struct {
	Event  string       `json:"event"`
	Metric string       `json:"metric"`
	Tasks  []string     `json:"tasks"`
	Level  float64      `json:"level"`
	Groups []groupEvent `json:"groups"`
	Pairs  []pairEvent  `json:"pairs"`
}

type groupEvent struct {
	Group   string         `json:"group"`
	Runs    int            `json:"runs"`
	IQM     stat.Estimate  `json:"iqm"`
	Mean    stat.Estimate  `json:"mean"`
	Median  stat.Estimate  `json:"median"`
	Gap     *stat.Estimate `json:"optimality_gap,omitempty"`
	Verdict stat.Verdict   `json:"verdict,omitempty"`
}

type pairEvent struct {
	Group       string        `json:"group"`
	Over        string        `json:"over"`
	Improvement stat.Estimate `json:"probability_of_improvement"`
}

func (x *compared) event() comparisonEvent {
	e := comparisonEvent{Event: "comparison", Metric: x.metric, Tasks: x.grouping.Tasks, Level: x.bootstrap.Level}
	for i, g := range x.Groups {
		one := groupEvent{Group: g.Name, Runs: g.Scores.Runs(), IQM: x.IQM[i], Mean: x.Mean[i], Median: x.Median[i]}
		if x.Gap != nil {
			one.Gap = &x.Gap[i]
		}
		if x.judged {
			one.Verdict = stat.Judge(x.IQM[i], *x.Bar)
		}
		e.Groups = append(e.Groups, one)
	}
	for _, p := range x.Pairs {
		e.Pairs = append(e.Pairs, pairEvent{x.Groups[p.First].Name, x.Groups[p.Second].Name, p.Improvement})
	}
	return e
}
