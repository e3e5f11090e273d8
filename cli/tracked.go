package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/study"
	"github.com/weft-rl/weft/internal/tracker"
)

// trackUsage is the help of --log.
const trackUsage = "experiment `trackers` that get the run's metrics, through their own Python package: wandb, mlflow"

// checkTrackers reports what is wrong with --log and --metrics.
func (f *trainFlags) checkTrackers(seeds int) error {
	errs := unknownTrackers(f.trackers, "weft train --help")
	if len(f.trackers) > 0 && f.elsewhere.asked() {
		errs = append(errs, errors.New("--log: it is for runs in this process: leave out --processes and --cluster, and send the record afterwards with weft metrics RUN --log"))
	}
	if f.metrics != "" && (seeds > 0 || f.elsewhere.asked() || f.members.asked()) {
		errs = append(errs, errors.New("--metrics: it is for a run in this process: leave out --seeds and --population; coordinators and workers have a --metrics of their own"))
	}
	return errors.Join(errs...)
}

// unknownTrackers reports the names that are of no tracker.
func unknownTrackers(names []string, help string) (errs []error) {
	for _, name := range names {
		if !slices.Contains(tracker.Names, name) {
			errs = append(errs, fmt.Errorf("--log: %w", request.Unknown("tracker", name, tracker.Names, help)))
		}
	}
	return errs
}

// canTrack reports why trackers cannot be used.
func canTrack(ctx context.Context, names []string, python string) error {
	var errs []error
	for _, name := range names {
		if err := tracker.Check(ctx, name, python); err != nil {
			errs = append(errs, fmt.Errorf("--log: %w", err))
		}
	}
	return errors.Join(errs...)
}

// trackers pass the events of a run on.
type trackers struct {
	all []*tracker.Tracker
	to  []*lines
}

func (t trackers) iteration(r runner.Report) {
	for _, l := range t.to {
		l.Iteration(r)
	}
}

func (t trackers) evaluated(e runner.Evaluation) {
	for _, l := range t.to {
		l.Evaluated(e)
	}
}

// close waits until all was passed on. Its error is no reason to fail a run.
func (t trackers) close() error {
	var errs []error
	for _, x := range t.all {
		if err := x.Close(); err != nil {
			errs = append(errs, fmt.Errorf("--log: %w (the run itself is well: its record is in its folder)", err))
		}
	}
	return errors.Join(errs...)
}

// startTrackers starts trackers for a run.
func (c *command) startTrackers(ctx context.Context, r *request.Request, dir string, names []string) (t trackers, err error) {
	if len(names) == 0 {
		return t, nil
	}
	header, err := trackHeader(r, dir)
	if err != nil {
		return t, err
	}
	for _, name := range names {
		x, err := tracker.Start(ctx, name, r.Python, header)
		if err != nil {
			return t, errors.Join(fmt.Errorf("--log: %w", err), t.close())
		}
		t.all = append(t.all, x)
		t.to = append(t.to, &lines{out: json.NewEncoder(x), err: c.err, r: r, dir: dir})
	}
	return t, nil
}

// tracked is a watcher that passes metrics on to trackers.
type tracked struct {
	watcher
	to trackers
}

func (t tracked) Iteration(r runner.Report) {
	t.watcher.Iteration(r)
	t.to.iteration(r)
}

func (t tracked) Evaluated(e runner.Evaluation) {
	t.watcher.Evaluated(e)
	t.to.evaluated(e)
}

// track starts trackers for a run, and returns a watcher that tells them, and what waits for them.
func (c *command) track(ctx context.Context, w watcher, r *request.Request, dir string, names []string) (watcher, func(), error) {
	t, err := c.startTrackers(ctx, r, dir, names)
	if err != nil || len(names) == 0 {
		return w, func() {}, err
	}
	end := func() {
		if err := t.close(); err != nil {
			fmt.Fprintf(c.err, "weft: %v\n", err)
		}
	}
	return tracked{watcher: w, to: t}, end, nil
}

// trackHeader returns what trackers are told of a run.
func trackHeader(r *request.Request, dir string) ([]byte, error) {
	settings := map[string]string{}
	for prefix, of := range map[string]any{"": &r.Settings, "set.": r.Found.Config} {
		all, err := config.Map(of)
		if err != nil {
			return nil, err
		}
		for _, a := range all {
			settings[prefix+a.Key] = a.Value
		}
	}
	return headerOf(dir, settings)
}

// headerOf returns what trackers are told of the run in a folder: its name, the seeds that it is
// one of, an id that stays the same when it is resumed, its folder and its settings.
func headerOf(dir string, settings map[string]string) ([]byte, error) {
	full, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	name, group := filepath.Base(full), ""
	if strings.HasPrefix(name, request.SeedPrefix) {
		group = filepath.Base(filepath.Dir(full))
		name = group + "/" + name
	}
	return json.Marshal(map[string]any{
		"name": name, "group": group, "id": fmt.Sprintf("%.12x", sha256.Sum256([]byte(full))), "dir": full, "settings": settings,
	})
}

// sendRecords sends the records of runs to trackers, one run after the other.
func (c *command) sendRecords(ctx context.Context, runs []*study.Run, names []string, python string) error {
	for _, name := range names {
		for _, r := range runs {
			if err := sendRecord(ctx, r, name, python); err != nil {
				return fmt.Errorf("--log: %w", err)
			}
			fmt.Fprintf(c.out, "sent %d lines of %s to %s\n", len(r.Rows), r.Dir, name)
		}
	}
	return nil
}

// sendRecord sends a run's record to a tracker.
func sendRecord(ctx context.Context, r *study.Run, name, python string) error {
	header, err := headerOf(r.Dir, r.Settings)
	if err != nil {
		return err
	}
	t, err := tracker.Start(ctx, name, python, header)
	if err != nil {
		return err
	}
	to := json.NewEncoder(t)
	for _, row := range r.Rows {
		values := map[string]number{}
		for _, v := range row.Values {
			values[v.Name] = number(v.X)
		}
		if e := to.Encode(map[string]any{"event": "iteration", "steps": row.Step, "return_mean": nil, "metrics": values}); err == nil {
			err = e
		}
	}
	return errors.Join(err, t.Close())
}
