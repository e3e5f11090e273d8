package cli

import (
	"context"
	"log/slog"
	"path/filepath"

	"github.com/weft-rl/weft/internal/run/journal"
	"github.com/weft-rl/weft/internal/run/observe"
	"github.com/weft-rl/weft/internal/run/runner"
)

// metricsUsage is the help of train's --metrics.
const metricsUsage = "`address` to serve the run's metrics at for Prometheus while it trains, such as :9090; without a host it is loopback. There is no access control"

// told is a watcher that has Prometheus told where the run stands.
type told struct {
	watcher
	run   *observe.Run
	began int64 // steps that were done before
}

func (t *told) Begin(done, total int64) {
	t.watcher.Begin(done, total)
	t.began = done
	t.run.Update(func(s *observe.Standing) { s.Steps, s.Budget = done, total })
}

func (t *told) Iteration(r runner.Report) {
	t.watcher.Iteration(r)
	t.run.Update(func(s *observe.Standing) {
		s.Steps, s.Iterations, s.Episodes, s.Return = r.Steps, r.Iter, r.Episodes, r.Return
		s.StepsPerSecond = float64(r.Steps-t.began) / max(1e-9, r.Seconds)
		s.Logged = map[string]float64{}
		for _, l := range r.Logs {
			s.Logged[l.Name] = l.X
		}
	})
}

func (t *told) Evaluated(e runner.Evaluation) {
	t.watcher.Evaluated(e)
	t.run.Update(func(s *observe.Standing) { s.Evaluation, s.EvaluatedAt = e.Mean, e.Steps })
}

// expose serves the metrics of a run in a folder, if that is asked for, until what it returns is
// called.
func (f *trainFlags) expose(ctx context.Context, w watcher, dir string) (watcher, func(), error) {
	if f.metrics == "" {
		return w, func() {}, nil
	}
	at := watched{metrics: f.metrics, format: string(journal.Text)}
	if err := at.check(); err != nil {
		return nil, nil, err
	}
	run := observe.NewRun(filepath.Base(dir))
	stop, err := at.observe(ctx, run.Process(), slog.New(noting{w}))
	if err != nil {
		return nil, nil, err
	}
	return &told{watcher: w, run: run}, stop, nil
}

// noting is a log whose lines are notes to whoever watches a run.
type noting struct{ to watcher }

func (noting) Enabled(context.Context, slog.Level) bool { return true }

func (n noting) Handle(_ context.Context, r slog.Record) error {
	n.to.Note(r.Message)
	return nil
}

func (n noting) WithAttrs([]slog.Attr) slog.Handler { return n }

func (n noting) WithGroup(string) slog.Handler { return n }
