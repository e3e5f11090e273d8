package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/durable"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/sweep"
)

// Files of a sweep's folder, beside sweep.yaml.
const (
	trialsFile = "trials.json"
	bestFile   = "best.yaml"
)

// trialTable is the table of trials as it is kept.
type trialTable struct {
	Settings []string       `json:"settings"` // the settings that points have values of
	Metric   string         `json:"metric"`
	Goal     string         `json:"goal"`
	Cluster  []string       `json:"cluster,omitempty"` // addresses of the coordinator whose workers train
	Trials   []*sweep.Trial `json:"trials"`
}

// readTable reads the table of a sweep's folder.
func readTable(dir string) (t trialTable, err error) {
	text, err := os.ReadFile(filepath.Join(dir, trialsFile))
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	return t, err
}

// readTrials reads the trials of a sweep's folder; there are none in a new one.
func readTrials(dir string) ([]*sweep.Trial, error) {
	t, err := readTable(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, trialsFile), err)
	}
	return t.Trials, nil
}

// keep writes what the sweep is and how far it has come.
func (s *sweeping) keep() error {
	t := trialTable{Metric: s.file.Metric, Goal: s.file.Goal, Cluster: s.on, Trials: s.study.Trials}
	for _, d := range s.dims {
		t.Settings = append(t.Settings, d.Key)
	}
	text, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return err
	}
	err = errors.Join(durable.Replace(filepath.Join(s.dir, sweepFile), s.file.Text()), durable.Replace(filepath.Join(s.dir, trialsFile), append(text, '\n')))
	if best := s.study.Best(); best != nil && err == nil {
		err = s.keepBest(best)
	}
	return err
}

// keepBest writes the run file of the best trial.
func (s *sweeping) keepBest(best *sweep.Trial) error {
	r, err := s.request(best.Point, 0)
	if err != nil {
		return err
	}
	text, err := r.YAML()
	if err != nil {
		return err
	}
	head := fmt.Sprintf("# trial %d of a sweep: %s %v\n", best.Number, s.file.Metric, *best.Score)
	return durable.Replace(filepath.Join(s.dir, bestFile), append([]byte(head), text...))
}

// run trains the trials, and says how they ended.
func (s *sweeping) run(ctx context.Context, f *sweepFlags) error {
	v := &sweepView{s: s, json: f.json}
	v.begin()
	going, abort := context.WithCancelCause(ctx)
	defer abort(nil)
	if s.at != nil {
		s.at.abort = abort
	}
	err := s.study.Run(going, f.parallel, s.trial, func(t *sweep.Trial) error {
		v.told(t)
		return s.keep()
	})
	if err != nil && ctx.Err() != nil {
		v.end("interrupted")
		return exitStatus(exitInterrupted)
	}
	if err != nil {
		return err
	}
	if s.study.Best() == nil {
		return fmt.Errorf("no trial has a value of %s at its end: weft sweep show %s says how they ended", s.file.Metric, s.dir)
	}
	v.end("done")
	return nil
}

// trial trains the runs of a trial, one after another.
func (s *sweeping) trial(ctx context.Context, t *sweep.Trial, until int64) (out sweep.Outcome, err error) {
	out.Ended = true
	for i := range s.file.Seeds {
		r, err := s.request(t.Point, i)
		if err != nil {
			return out, err
		}
		dir, until := s.folder(t, r), until
		ended, err := s.advance(ctx, r, dir, until)
		if err != nil || ctx.Err() != nil {
			return out, err
		}
		rows, err := record(dir)
		if err != nil {
			return out, err
		}
		if ended {
			until = 0
		}
		score, steps := sweep.Score(rows, s.file.Metric, until)
		out.Score, out.Steps, out.Ended = out.Score+score/float64(s.file.Seeds), out.Steps+steps, out.Ended && ended
	}
	return out, nil
}

// advance trains a run until it has done so many steps, or to its end if until is 0. Whether it
// has ended follows from its record: a run that is over only because it was not stopped in time
// has not.
func (s *sweeping) advance(ctx context.Context, r *request.Request, dir string, until int64) (ended bool, err error) {
	if until > 0 {
		rows, err := record(dir)
		if err != nil || sweep.Judged(rows, s.file.Metric, until) {
			return false, err
		}
	}
	ended, err = s.train(ctx, r, dir, until, s.file.Metric)
	if until > 0 && ended && err == nil {
		var rows []metrics.Row
		rows, err = record(dir)
		ended = !sweep.Judged(rows, s.file.Metric, until)
	}
	return ended, err
}

// record reads the record of a run; there is none of one that has not begun.
func record(dir string) ([]metrics.Row, error) {
	rows, err := metrics.ReadJSONL(filepath.Join(dir, "metrics.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return rows, err
}

// trainHere trains a run in this process.
func trainHere(ctx context.Context, r *request.Request, dir string, until int64, metric string) (ended bool, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	run := &seedRun{r: r, dir: dir}
	if request.Taken(dir) {
		run.before = r
	}
	run.train(ctx, request.Again{Begin: true}, &rung{until: until, metric: metric, stop: cancel})
	return !run.result.Interrupted, run.err
}

// rung interrupts a run when it is to be judged.
type rung struct {
	runner.Silent
	until  int64 // 0 is never
	metric string
	stop   func()
	passed bool // an iteration had so many steps
}

// Iteration stops the run. If it is judged by evaluations, that of this iteration comes first.
func (g *rung) Iteration(r runner.Report) {
	if g.until == 0 || r.Steps < g.until {
		return
	}
	if g.passed || !sweep.Evaluated(g.metric) {
		g.stop()
	}
	g.passed = true
}

// Evaluated stops a run that waited for its evaluation.
func (g *rung) Evaluated(runner.Evaluation) {
	if g.passed {
		g.stop()
	}
}

// sweepView tells how a sweep goes.
type sweepView struct {
	s    *sweeping
	json bool
	last map[int]sweep.Status
}

// trialEvent is a trial for programs.
type trialEvent struct {
	Event    string            `json:"event"`
	Trial    int               `json:"trial"`
	Status   sweep.Status      `json:"status"`
	Steps    int64             `json:"steps"`
	Score    *float64          `json:"score"`
	Settings map[string]string `json:"settings"`
	Error    string            `json:"error,omitempty"`
	Out      string            `json:"out"`
}

func newTrialEvent(t *sweep.Trial, keys []string, dir string) trialEvent {
	e := trialEvent{"trial", t.Number, t.Status, t.Steps, t.Score, map[string]string{}, t.Error, filepath.Join(dir, fmt.Sprintf("trial-%03d", t.Number))}
	for i, key := range keys {
		e.Settings[key] = t.Point[i]
	}
	return e
}

func (s *sweeping) keys() (out []string) {
	for _, d := range s.dims {
		out = append(out, d.Key)
	}
	return out
}

func (v *sweepView) begin() {
	v.last = map[int]sweep.Status{}
	done := 0
	for _, t := range v.s.study.Trials {
		v.last[t.Number] = t.Status
		if t.Status != sweep.Open {
			done++
		}
	}
	p := v.s.study.Plan
	if v.json {
		v.emit(struct {
			Event  string `json:"event"`
			Trials int    `json:"trials"`
			Done   int    `json:"done"`
			Out    string `json:"out"`
		}{"begin", p.Trials, done, v.s.dir})
		return
	}
	text := fmt.Sprintf("%s: %d trials by %s search, in %s", v.s.base.Title(), p.Trials, v.s.file.Search, v.s.dir)
	if done > 0 {
		text += fmt.Sprintf("; %d are over", done)
	}
	fmt.Fprintln(v.s.c.out, text)
}

func (v *sweepView) emit(x any) { _ = json.NewEncoder(v.s.c.out).Encode(x) } // nobody reads it any more

// told tells of a trial that is over.
func (v *sweepView) told(t *sweep.Trial) {
	if v.last[t.Number] == t.Status || t.Status == sweep.Open {
		return
	}
	v.last[t.Number] = t.Status
	if v.json {
		v.emit(newTrialEvent(t, v.s.keys(), v.s.dir))
		return
	}
	best := ""
	if v.s.study.Best() == t {
		best = ", the best so far"
	}
	fmt.Fprintf(v.s.c.out, "trial %d %s after %s steps: %s%s\n", t.Number, t.Status, metrics.Count(t.Steps), scoreText(t), best)
}

// scoreText returns a trial's score, or why it has none.
func scoreText(t *sweep.Trial) string {
	switch {
	case t.Error != "":
		return t.Error
	case t.Score == nil:
		return "no score"
	}
	return metrics.Number(*t.Score)
}

// end tells how the sweep ended.
func (v *sweepView) end(event string) {
	best := v.s.study.Best()
	if v.json {
		e := struct {
			Event string      `json:"event"`
			Steps int64       `json:"steps"`
			Best  *trialEvent `json:"best,omitempty"`
			Out   string      `json:"out"`
		}{event, v.s.study.Steps(), nil, v.s.dir}
		if best != nil {
			b := newTrialEvent(best, v.s.keys(), v.s.dir)
			e.Best = &b
		}
		v.emit(e)
		return
	}
	if event == "interrupted" {
		fmt.Fprintf(v.s.c.out, "interrupted, saved: weft sweep %s goes on\n", v.s.dir)
		return
	}
	for _, text := range []string{
		fmt.Sprintf("the best is trial %d: %s %s with %s", best.Number, v.s.file.Metric, metrics.Number(*best.Score), pointText(v.s.keys(), best.Point)),
		fmt.Sprintf("%s steps in all; weft train --config %s trains with these settings", metrics.Count(v.s.study.Steps()), filepath.Join(v.s.dir, bestFile)),
	} {
		fmt.Fprintln(v.s.c.out, config.Fold(text))
	}
}

// pointText returns the settings of a point in a line.
func pointText(keys, point []string) string {
	var out []string
	for i, key := range keys {
		out = append(out, key+"="+point[i])
	}
	return strings.Join(out, " ")
}

func (c *command) sweepShow() *cobra.Command {
	asJSON := false
	cmd := &cobra.Command{
		Use:     "show FOLDER",
		Short:   "Show the trials of a sweep, the best first",
		Long:    "Show prints the table of a sweep's trials, those that were trained to their end first, the best of them above.",
		Example: "  weft sweep show runs/sweep\n  weft sweep show runs/sweep --json",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			t, err := readTable(args[0])
			if errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s is not the folder of a sweep: it has no %s", args[0], trialsFile)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", filepath.Join(args[0], trialsFile), err)
			}
			t.sort()
			return t.show(c, args[0], asJSON)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line and nothing else")
	return cmd
}

// sort puts the best trials first.
func (t *trialTable) sort() {
	order := []sweep.Status{sweep.Finished, sweep.Open, sweep.Pruned, sweep.Failed}
	good := func(x *sweep.Trial) float64 {
		switch {
		case x.Score == nil:
			return math.Inf(-1)
		case t.Goal == "min":
			return -*x.Score
		}
		return *x.Score
	}
	slices.SortStableFunc(t.Trials, func(a, b *sweep.Trial) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Status), slices.Index(order, b.Status)), cmp.Compare(len(b.Rungs), len(a.Rungs)), cmp.Compare(good(b), good(a)))
	})
}

// show prints the table.
func (t *trialTable) show(c *command, dir string, asJSON bool) error {
	rows := [][]string{{"TRIAL", "STATE", "STEPS", t.Metric, "SETTINGS"}}
	enc := json.NewEncoder(c.out)
	for _, x := range t.Trials {
		if asJSON {
			if err := enc.Encode(newTrialEvent(x, t.Settings, dir)); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, []string{fmt.Sprint(x.Number), string(x.Status), metrics.Count(x.Steps), scoreText(x), pointText(t.Settings, x.Point)})
	}
	if asJSON {
		return nil
	}
	return config.ColumnsWithin(c.out, rows, 6, 9, 10, 20)
}
