package app

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/metrics/progress"
	"github.com/weft-rl/weft/internal/run/local"
)

// seedRun is one of several seeds.
type seedRun struct {
	r      *request
	dir    string
	result local.Result
	err    error
}

// trainSeeds trains several seeds, as many at a time as there are cores, and
// summarises them. A seed that fails does not stop the others.
func (c *command) trainSeeds(ctx context.Context, r *request, n int, f *trainFlags) error {
	out := f.out
	if out == "" {
		out = newFolder(fmt.Sprintf("%s-seeds%d-%d", r.name(), r.Seed, r.Seed+uint64(n)-1))
	}
	runs, err := seedRuns(r, n, out)
	if err != nil {
		return err
	}
	c.started = true
	show := c.seedWatcher(r, runs, out, f.json)
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, s := range runs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if s.err = ctx.Err(); s.err == nil {
				s.train(ctx, seedView{show, i})
				show.ended(s)
			}
		})
	}
	wg.Wait()
	return show.finish(ctx)
}

// seedRuns are the runs of n seeds. One of them is constructed to find out
// whether that works, before any starts.
func seedRuns(r *request, n int, out string) ([]*seedRun, error) {
	runs := make([]*seedRun, n)
	for i := range runs {
		mine := *r
		mine.Seed = r.Seed + uint64(i)
		runs[i] = &seedRun{r: &mine, dir: filepath.Join(out, fmt.Sprintf("seed%d", mine.Seed))}
		if err := checkOut(runs[i].dir); err != nil {
			return nil, err
		}
	}
	s, release, err := prepare(r, "", nil)
	if err == nil {
		release()
		err = s.Close()
	}
	return runs, err
}

func (s *seedRun) train(ctx context.Context, w local.Watcher) {
	session, release, err := prepare(s.r, s.dir, w)
	if err != nil {
		s.err = err
		return
	}
	defer release()
	s.result, s.err = session.Train(ctx)
}

// seedWatcher shows several seeds at once: one bar for all of them on a screen,
// one event for each that ends to a program.
type seedWatcher struct {
	c     *command
	r     *request
	runs  []*seedRun
	out   string
	lines *lines // nil: for a person
	bar   *progress.Progress

	mu   sync.Mutex
	last []local.Report
}

func (c *command) seedWatcher(r *request, runs []*seedRun, out string, asJSON bool) *seedWatcher {
	w := &seedWatcher{c: c, r: r, runs: runs, out: out, last: make([]local.Report, len(runs))}
	if asJSON {
		w.lines = &lines{out: json.NewEncoder(c.out), err: c.err, r: r, dir: out}
		return w
	}
	for i := range w.last {
		w.last[i].Return = math.NaN()
	}
	fmt.Fprintf(c.out, "%s on %s, %d seeds from %d: %s steps each, in %s\n",
		r.algorithm.Name, r.entry.ID, len(runs), r.Seed, metrics.Count(r.Steps), out)
	w.bar = progress.New(c.out, progress.Options{Total: r.Steps * int64(len(runs))})
	return w
}

// seedView is what one of the seeds tells.
type seedView struct {
	w *seedWatcher
	i int
}

func (v seedView) Begin(int64, int64)         {}
func (v seedView) Evaluated(local.Evaluation) {}
func (v seedView) End()                       {}

func (v seedView) Note(text string) {
	text = fmt.Sprintf("seed %d: %s", v.w.runs[v.i].r.Seed, text)
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	if v.w.lines != nil {
		v.w.lines.Note(text)
		return
	}
	v.w.bar.Note(text)
}

func (v seedView) Iteration(r local.Report) {
	if v.w.lines != nil {
		return
	}
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	v.w.last[v.i] = r
	v.w.bar.Update(together(v.w.last))
}

// together is where several seeds stand: their sums, and the mean of the returns
// there are.
func together(all []local.Report) (s progress.Snapshot) {
	var returns []float64
	for _, r := range all {
		s.Steps += r.Steps
		s.Episodes += r.Episodes
		if !math.IsNaN(r.Return) {
			returns = append(returns, r.Return)
		}
	}
	s.Return = metrics.Mean(returns)
	return s
}

// ended tells about a seed that is over.
func (w *seedWatcher) ended(s *seedRun) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.lines != nil && s.err != nil:
		w.lines.seedError(s)
	case w.lines != nil:
		w.lines.emit(newDone("seed", s.r, s.dir, s.result))
	default:
		w.bar.Note(s.sentence())
	}
}

// seedError tells of a seed that failed.
func (l *lines) seedError(s *seedRun) {
	l.emit(struct {
		Event string `json:"event"`
		Seed  uint64 `json:"seed"`
		Error string `json:"error"`
		Out   string `json:"out"`
	}{"seed_error", s.r.Seed, s.err.Error(), s.dir})
}

func (s *seedRun) sentence() string {
	if s.err != nil {
		return fmt.Sprintf("seed %d failed: %v", s.r.Seed, s.err)
	}
	text := fmt.Sprintf("seed %d: %d steps, return %s", s.r.Seed, s.result.Steps, metrics.Number(s.result.ReturnMean))
	if s.result.Interrupted {
		return text + ", interrupted"
	}
	if e := s.result.Evaluation; e != nil {
		text += fmt.Sprintf(", greedy %s", metrics.Number(e.Mean))
	}
	return text
}

// seedsEvent is the statistics over seeds, told before the run's last event.
type seedsEvent struct {
	Event    string    `json:"event"`
	Seeds    int       `json:"seeds"`
	Mean     number    `json:"return_mean"`
	IQM      number    `json:"return_iqm"`
	Interval [2]number `json:"return_interval"`
	Returns  []number  `json:"returns"`
}

// summary is all seeds together, as far as they ended: their sums, their mean
// return, and hashes over theirs.
func summary(runs []*seedRun) (total local.Result, returns []float64, errs []error) {
	weights, state := sha256.New(), sha256.New()
	for _, s := range runs {
		if s.err != nil {
			errs = append(errs, fmt.Errorf("seed %d: %w", s.r.Seed, s.err))
			continue
		}
		returns = append(returns, s.result.ReturnMean)
		total.Steps += s.result.Steps
		total.Episodes += s.result.Episodes
		total.Seconds = max(total.Seconds, s.result.Seconds)
		total.Interrupted = total.Interrupted || s.result.Interrupted
		weights.Write([]byte(s.result.WeightsSHA256))
		state.Write([]byte(s.result.StateSHA256))
	}
	total.StepsPerSecond = float64(total.Steps) / max(1e-9, total.Seconds)
	total.ReturnMean = metrics.Mean(returns)
	total.WeightsSHA256, total.StateSHA256 = fmt.Sprintf("%x", weights.Sum(nil)), fmt.Sprintf("%x", state.Sum(nil))
	return total, returns, errs
}

// finish tells how the seeds ended, and with which exit code.
func (w *seedWatcher) finish(ctx context.Context) error {
	total, returns, errs := summary(w.runs)
	if w.bar != nil {
		w.bar.Finish()
	}
	interrupted := total.Interrupted || ctx.Err() != nil && len(errs) > 0
	switch {
	case interrupted:
		w.interrupted(total)
		return exitStatus(exitInterrupted)
	case len(returns) > 0:
		w.statistics(returns)
	}
	if len(errs) > 0 {
		err := fmt.Errorf("%d of %d seeds failed:\n%w", len(errs), len(w.runs), errors.Join(errs...))
		if w.lines != nil {
			w.lines.fail(err)
			return exitStatus(exitFailed)
		}
		return err
	}
	if w.lines != nil {
		w.lines.emit(newDone("done", w.r, w.out, total))
	}
	return nil
}

func (w *seedWatcher) interrupted(total local.Result) {
	if w.lines != nil {
		w.lines.emit(newDone("interrupted", w.r, w.out, total))
		return
	}
	fmt.Fprintf(w.c.out, "interrupted, saved: weft resume %s goes on with one seed\n", filepath.Join(w.out, "seedN"))
}

// statistics tells the mean, the interquartile mean and the interval of returns.
func (w *seedWatcher) statistics(returns []float64) {
	mean, iqm := metrics.Mean(returns), metrics.InterquartileMean(returns)
	lo, hi := metrics.Interval(returns, metrics.Mean, .95)
	if w.lines == nil {
		fmt.Fprintf(w.c.out, "%d seeds: mean return %s, interquartile mean %s, 95 %% interval of the mean %s to %s\n",
			len(returns), metrics.Number(mean), metrics.Number(iqm), metrics.Number(lo), metrics.Number(hi))
		return
	}
	e := seedsEvent{Event: "seeds", Seeds: len(returns), Mean: number(mean), IQM: number(iqm), Interval: [2]number{number(lo), number(hi)}}
	for _, x := range returns {
		e.Returns = append(e.Returns, number(x))
	}
	w.lines.emit(e)
}
