package study

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/weft-rl/weft/internal/stat"
)

// usual are the metrics that runs are compared by, the first one that all have:
// the return of greedy evaluations, or that of the last hundred episodes.
var usual = []string{"eval/return", "episode/return_mean"}

// Metric returns the metric to compare runs by: the one asked for, or else the
// first usual one that all runs have.
func Metric(runs []*Run, asked string) (string, error) {
	for _, m := range usual {
		if asked == "" && !slices.ContainsFunc(runs, func(r *Run) bool { return len(r.Curve(m)) == 0 }) {
			return m, nil
		}
	}
	metric := cmp.Or(asked, usual[len(usual)-1])
	for _, r := range runs {
		names := r.Names()
		switch {
		case slices.Contains(names, metric):
			continue
		case nearest(metric, names) != "":
			return "", fmt.Errorf("%s has no metric %q%s", r.Dir, metric, nearest(metric, names))
		case asked == "":
			return "", fmt.Errorf("%s has finished no episode, and was not evaluated: train it for more steps, or choose one of its metrics with --metric: %s", r.Dir, strings.Join(names, ", "))
		}
		return "", fmt.Errorf("%s has no metric %q: it has %s", r.Dir, metric, strings.Join(names, ", "))
	}
	return metric, nil
}

// Score returns a run's value of a metric at its end, or, if at is not 0, the
// newest one that it had after at steps. It refuses a run that has not come so
// far.
func (r *Run) Score(metric string, at int64) (float64, error) {
	planned, done := r.Settings["steps"], r.Steps()
	var total int64
	_, _ = fmt.Sscan(planned, &total) // a file without steps asks for none
	switch {
	case at == 0 && done < total:
		return 0, fmt.Errorf("%s has done %d of %d steps: let it finish (weft resume %s), or compare all runs at a step that they have done, as with --at %d", r.Dir, done, total, r.Dir, done)
	case at > done:
		return 0, fmt.Errorf("--at: %s has done %d steps, not %d", r.Dir, done, at)
	}
	score, found := math.NaN(), false
	for _, p := range r.Curve(metric) {
		if at == 0 || p.Step <= at {
			score, found = p.X, true
		}
	}
	switch {
	case !found:
		return 0, fmt.Errorf("--at: %s has no %s up to step %d: choose a later step or another --metric", r.Dir, metric, at)
	case math.IsNaN(score):
		return 0, fmt.Errorf("%s ended with a %s that is not a number: leave it out, and say so where you show the result", r.Dir, metric)
	}
	return score, nil
}

// Scores returns the scores of groups, which must have the same tasks and enough
// runs for an interval. A task's scores are in the order of its seeds.
func (g *Grouping) Scores(metric string, at int64) (out []stat.Group, err error) {
	var errs []error
	for _, x := range g.Groups {
		scores := make(stat.Scores, len(g.Tasks))
		for i, task := range g.Tasks {
			runs := x.Tasks[task]
			errs = append(errs, g.enough(x, task, len(runs)))
			for _, r := range runs {
				score, err := r.Score(metric, at)
				errs = append(errs, err)
				scores[i] = append(scores[i], score)
			}
		}
		out = append(out, stat.Group{Name: x.Name, Scores: scores})
	}
	return out, errors.Join(errs...)
}

// enough refuses a group that has no run of a task, or only one.
func (g *Grouping) enough(x Group, task string, n int) error {
	switch {
	case n == 0:
		other := g.Groups[slices.IndexFunc(g.Groups, func(o Group) bool { return len(o.Tasks[task]) > 0 })]
		return fmt.Errorf("%s has no run of %s, and %s has: compare groups on the same tasks", x.Name, task, other.Name)
	case n == 1:
		return fmt.Errorf("%s has one run of %s, %s, from which nothing follows for others: train more seeds (weft train --seeds 5)", x.Name, task, x.Tasks[task][0].Dir)
	}
	return nil
}

// Ranges returns the scale of every task: the one given, or from the lowest to
// the highest score that any group has.
func (g *Grouping) Ranges(groups []stat.Group, given map[string]stat.Range) (out []stat.Range, err error) {
	var errs []error
	for task := range given {
		if !slices.Contains(g.Tasks, task) {
			errs = append(errs, fmt.Errorf("--range: there are no runs of %q: the tasks are %s", task, strings.Join(g.Tasks, ", ")))
		}
	}
	for i, task := range g.Tasks {
		r, ok := given[task]
		if !ok {
			var all []float64
			for _, x := range groups {
				all = append(all, x.Scores[i]...)
			}
			r = stat.Range{Low: slices.Min(all), High: slices.Max(all)}
		}
		out = append(out, r)
	}
	return out, errors.Join(errs...)
}
