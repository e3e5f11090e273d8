package process

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/replicas"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/plan"
)

// watch tells the coordinator how a run gets on.
type watch struct {
	to    part.Reporter
	begun time.Time
	from  int64                // steps done before
	kinds map[string]string    // kinds of edges, by name
	took  func() time.Duration // returns how long the newest checkpoint took
	last  part.Progress
}

func newWatch(to part.Reporter, took func() time.Duration) *watch { return &watch{to: to, took: took} }

// knows tells it which edges there are.
func (w *watch) knows(all []plan.Edge) {
	w.kinds = map[string]string{}
	for _, e := range all {
		w.kinds[e.Name] = string(e.Operator)
	}
}

func (w *watch) Begin(done, _ int64) { w.begun, w.from = time.Now(), done }

func (w *watch) Iteration(r runner.Report) {
	w.last = part.Progress{
		Steps: r.Steps, Iter: r.Iter, Episodes: r.Episodes,
		StepsPerSecond: float64(r.Steps-w.from) / max(1e-9, time.Since(w.begun).Seconds()),
		Staleness:      staleness(r.Figures), Slowest: slowest(r.Figures), Metrics: logged(r), Evaluation: w.last.Evaluation,
		Edges: w.traffic(r.Figures), Saving: w.took().Seconds(),
	}
	if !math.IsNaN(r.Return) {
		w.last.Return = r.Return
	}
	w.to.Progress(w.last)
}

// traffic returns what crossed, by the kind of edge. Kinds are in the order of their names.
func (w *watch) traffic(all []replicas.Figures) (out []part.Traffic) {
	for _, f := range all {
		for _, e := range f.Edges {
			kind := w.kinds[e.Edge]
			i, found := slices.BinarySearchFunc(out, kind, func(t part.Traffic, kind string) int { return strings.Compare(t.Kind, kind) })
			if !found {
				out = slices.Insert(out, i, part.Traffic{Kind: kind})
			}
			out[i].Messages += e.Messages
			out[i].Bytes += e.Bytes
			out[i].Waiting = max(out[i].Waiting, int64(e.Depth))
		}
	}
	return out
}

// logged returns the first of what an iteration logged.
func logged(r runner.Report) []part.Metric {
	out := make([]part.Metric, 0, len(r.Logs))
	for _, l := range r.Logs {
		out = append(out, part.Metric{Name: l.Name, X: part.Number(l.X)})
	}
	return part.Bounded(out)
}

// Evaluating sends a note: nothing else tells why a run that is done is not over.
func (w *watch) Evaluating(episodes int) { w.to.Note(runner.SayEvaluating(episodes)) }

// Evaluated tells of an evaluation that can be told: of one without a complete episode
// there is no mean.
func (w *watch) Evaluated(e runner.Evaluation) {
	if e.Episodes == 0 || math.IsNaN(e.Mean+e.Std+e.Length) || math.IsInf(e.Mean+e.Std+e.Length, 0) {
		return
	}
	x := part.Evaluation(e)
	w.last.Evaluation = &x
	w.to.Progress(w.last)
}

func (w *watch) Note(text string) { w.to.Note(text) }
func (w *watch) End()             {}

// done tells how it ended, or that it goes on from here.
func (w *watch) done(r runner.Result) {
	w.last.Steps, w.last.Iter, w.last.Episodes = r.Steps, r.Iter, r.Episodes
	if w.last.StepsPerSecond = r.StepsPerSecond; !math.IsNaN(r.ReturnMean) { // nothing may have been left to do
		w.last.Return = r.ReturnMean
	}
	if w.last.Halted = r.Interrupted; !r.Interrupted {
		w.last.Result = &part.Result{Steps: r.Steps, WeightsSHA256: r.WeightsSHA256, StateSHA256: r.StateSHA256}
	}
	w.to.Progress(w.last)
}

// staleness returns how old what was used was on average, in versions.
func staleness(all []replicas.Figures) float64 {
	var sum, n int64
	for _, f := range all {
		for _, e := range f.Edges {
			if e.Stale > 0 || e.MaxStale > 0 {
				sum, n = sum+e.Stale, n+e.Received
			}
		}
	}
	return float64(sum) / float64(max(1, n))
}

// slowest returns the group whose replicas wait least: the others wait for it.
func slowest(all []replicas.Figures) (name string) {
	least := math.Inf(1)
	for _, f := range all {
		if share := float64(f.Wait) / float64(max(1, f.Wait+f.Busy)); share < least {
			name, least = f.Group, share
		}
	}
	return name
}
