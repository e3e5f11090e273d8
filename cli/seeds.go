package cli

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/config"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/metrics/progress"
	"github.com/weft-rl/weft/internal/request"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/phase"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/stat"
)

// seedRun is one of several seeds.
type seedRun struct {
	r      *request.Request
	before *request.Request // request of a run that goes on; nil of one that begins
	dir    string
	result runner.Result
	err    error
}

// trainSeeds trains several seeds, as many at a time as there are cores, and
// summarises them. A seed that fails does not stop the others.
func (c *command) trainSeeds(ctx context.Context, r *request.Request, n int, f *trainFlags) error {
	out := f.out
	if out == "" {
		out = request.NewFolder(seedsName(r, n))
	}
	if err := canTrack(ctx, f.trackers, r.Python); err != nil {
		return err
	}
	runs, err := newSeeds(ctx, r, n, out)
	if err == nil {
		err = claimSeeds(runs, new([]func() error))
	}
	if err != nil {
		return err
	}
	return c.seeds(ctx, runs, out, f)
}

// seedsName returns what the folder of several seeds is called by default.
func seedsName(r *request.Request, n int) string {
	return fmt.Sprintf("%s-seeds%d-%d", r.Name(), r.Seed, r.Seed+uint64(n)-1)
}

// resumeSeeds resumes all seeds of a folder. Those that had not begun begin.
func (c *command) resumeSeeds(ctx context.Context, dir string, folders []string, more []config.Assignment, f *trainFlags) error {
	if f.processes > 0 {
		return fmt.Errorf("--processes: %s holds the runs of several seeds, which go on in this process: leave it out, or name one of them, such as %s", dir, folders[0])
	}
	runs, err := c.savedSeeds(ctx, folders, more, f)
	if runs == nil {
		return err
	}
	return c.seeds(ctx, runs, dir, f)
}

// savedSeeds returns the runs of folders as flags would have them go on; none if there is an error,
// or a program of its own has done all that there was to do.
func (c *command) savedSeeds(ctx context.Context, folders []string, more []config.Assignment, f *trainFlags) (runs []*seedRun, err error) {
	var errs []error
	for _, folder := range folders {
		file, err := request.RunConfig(folder)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		before, r, err := c.resumed(ctx, file, more, filepath.Join(folder, request.ConfigFile), f)
		if r == nil {
			return nil, err
		}
		runs = append(runs, &seedRun{r: r, before: before, dir: folder})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return runs, nil
}

// seeds trains seeds, as many at a time as there are cores, and summarises them.
func (c *command) seeds(ctx context.Context, runs []*seedRun, out string, f *trainFlags) error {
	c.started = true
	show := c.seedWatcher(runs, out, f.json)
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, s := range runs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if s.err = ctx.Err(); s.err == nil {
				c.trainSeed(ctx, s, f, seedView{w: show, i: i})
				show.ended(s)
			}
		})
	}
	wg.Wait()
	return show.finish(ctx)
}

// trainSeed trains a seed, with trackers of its own.
func (c *command) trainSeed(ctx context.Context, s *seedRun, f *trainFlags, v seedView) {
	if v.to, s.err = c.startTrackers(ctx, s.r, s.dir, f.trackers); s.err != nil {
		return
	}
	s.train(ctx, f.Again, v)
	if err := v.to.close(); err != nil {
		v.Note(err.Error())
	}
}

// newSeeds returns the runs of n seeds. One of them is constructed to find out whether that works,
// before any starts.
func newSeeds(ctx context.Context, r *request.Request, n int, out string) ([]*seedRun, error) {
	runs := make([]*seedRun, n)
	for i := range runs {
		mine := *r
		mine.Seed = r.Seed + uint64(i)
		mine.Trace = phase.With(r.Trace, phase.Int("seed", int64(mine.Seed)))
		runs[i] = &seedRun{r: &mine, dir: filepath.Join(out, fmt.Sprint(request.SeedPrefix, mine.Seed))}
		if err := request.CheckOut(runs[i].dir); err != nil {
			return nil, fmt.Errorf("%w (weft resume %s goes on with all seeds)", err, out)
		}
	}
	s, release, err := request.Prepare(ctx, r, "", nil)
	if err == nil {
		release()
		err = s.Close()
	}
	return runs, err
}

// claimSeeds gives runs that are to begin their folders, so that those that have not begun when the
// command is interrupted go on with the others. What it makes is removed by undo.
func claimSeeds(runs []*seedRun, undo *[]func() error) error {
	for _, s := range runs {
		if s.before != nil {
			continue
		}
		if err := s.claim(); err != nil {
			return err
		}
		*undo = append(*undo, func() error {
			return errors.Join(os.Remove(filepath.Join(s.dir, request.ConfigFile)), os.RemoveAll(filepath.Join(s.dir, checkpoint.LockName)))
		})
	}
	return nil
}

// claim makes the folder of a seed that is to begin.
func (s *seedRun) claim() error {
	release, err := request.Lock(s.dir)
	if err != nil {
		return err
	}
	defer release()
	if err = request.CheckOut(s.dir); err == nil { // again, now that nobody else can come between
		_, err = part.SetAside(s.dir, s.r.Found.Wrap.Files()...)
	}
	if err == nil {
		err = s.r.Record(s.dir)
	}
	return err
}

// train trains a seed, from the beginning or from where it was.
func (s *seedRun) train(ctx context.Context, how request.Again, w runner.Watcher) {
	if s.before != nil {
		s.result, s.err = s.goOn(ctx, how, w)
		s.err = toBegin(s.err, filepath.Dir(s.dir)) // for all of them
		return
	}
	session, release, err := request.Prepare(ctx, s.r, s.dir, w)
	if err != nil {
		s.err = err
		return
	}
	defer release()
	s.result, s.err = session.Train(ctx)
}

func (s *seedRun) goOn(ctx context.Context, how request.Again, w runner.Watcher) (r runner.Result, err error) {
	release, err := request.Lock(s.dir)
	if err != nil {
		return r, err
	}
	defer release()
	session, err := s.r.GoOn(ctx, s.before, s.dir, how, w)
	if err != nil {
		return r, err
	}
	defer func() { _ = session.Close() }() // done already, with its error, if the session ran
	return session.Run(ctx)
}

// seedWatcher shows several seeds at once: one bar for all of them on a screen,
// one event for each that ends to a program.
type seedWatcher struct {
	c     *command
	r     *request.Request
	runs  []*seedRun
	out   string
	lines *lines // nil: for a person
	bar   *progress.Progress
	begun time.Time

	mu   sync.Mutex
	last []runner.Report
}

func (c *command) seedWatcher(runs []*seedRun, out string, asJSON bool) *seedWatcher {
	r := runs[0].r
	w := &seedWatcher{c: c, r: r, runs: runs, out: out, begun: time.Now(), last: make([]runner.Report, len(runs))}
	if asJSON {
		w.lines = &lines{out: json.NewEncoder(c.out), err: c.err, r: r, dir: out}
		return w
	}
	for i := range w.last {
		w.last[i].Return = math.NaN()
	}
	fmt.Fprintf(c.out, "%s, %d seeds from %d: %s steps each, in %s\n",
		r.Title(), len(runs), r.Seed, metrics.Count(r.Steps), out)
	w.bar = progress.New(c.out, progress.Options{Total: r.Steps * int64(len(runs))})
	return w
}

// seedView shows the events of one seed.
type seedView struct {
	w  *seedWatcher
	i  int
	to trackers
}

func (v seedView) Evaluating(int)                {}
func (v seedView) Evaluated(e runner.Evaluation) { v.to.evaluated(e) }
func (v seedView) End()                          {}

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

// Begin tells of what was done of a seed before this process took over.
func (v seedView) Begin(done, _ int64) {
	if v.w.lines != nil {
		return
	}
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	v.w.last[v.i].Steps = done
	v.w.bar.Skip(done)
}

func (v seedView) Iteration(r runner.Report) {
	v.to.iteration(r)
	if v.w.lines != nil {
		return
	}
	v.w.mu.Lock()
	defer v.w.mu.Unlock()
	v.w.last[v.i] = r
	v.w.bar.Update(together(v.w.last))
}

// together returns where several seeds stand: their sums, and the mean of the returns
// there are.
func together(all []runner.Report) (s progress.Snapshot) {
	var returns []float64
	for _, r := range all {
		s.Steps += r.Steps
		s.Episodes += r.Episodes
		if !math.IsNaN(r.Return) {
			returns = append(returns, r.Return)
		}
	}
	s.Return = stat.Mean(returns)
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
		if x := &w.last[slices.Index(w.runs, s)]; s.err == nil && x.Steps == 0 { // there was nothing left to do
			x.Steps, x.Episodes, x.Return = s.result.Steps, s.result.Episodes, s.result.ReturnMean
			w.bar.Skip(x.Steps)
		}
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

// summary returns all seeds together, as far as they ended: their sums, their mean return, and
// hashes over theirs. Their speed is that of this process, by the clock: seeds are trained beside
// each other and one after another.
func summary(runs []*seedRun, clock time.Duration) (total runner.Result, returns []float64, errs []error) {
	total.Seconds = clock.Seconds()
	here := int64(0)
	weights, state := "", ""
	for _, s := range runs {
		if s.err != nil {
			errs = append(errs, fmt.Errorf("seed %d: %w", s.r.Seed, s.err))
			continue
		}
		returns = append(returns, s.result.ReturnMean)
		total.Steps += s.result.Steps
		total.Episodes += s.result.Episodes
		here += s.result.Steps - s.result.Began
		total.Interrupted = total.Interrupted || s.result.Interrupted
		weights, state = weights+s.result.WeightsSHA256, state+s.result.StateSHA256
	}
	total.StepsPerSecond = float64(here) / max(1e-9, total.Seconds)
	total.ReturnMean = stat.Mean(returns)
	total.WeightsSHA256, total.StateSHA256 = hashOf(weights), hashOf(state)
	return total, returns, errs
}

// hashOf returns the hash of hashes that follow each other, and "" if there are none.
func hashOf(all string) string {
	if all == "" {
		return ""
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(all)))
}

// finish tells how the seeds ended, and with which exit code.
func (w *seedWatcher) finish(ctx context.Context) error {
	total, returns, errs := summary(w.runs, time.Since(w.begun))
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

func (w *seedWatcher) interrupted(total runner.Result) {
	if w.lines != nil {
		w.lines.emit(newDone("interrupted", w.r, w.out, total))
		return
	}
	fmt.Fprintf(w.c.out, "interrupted, saved: weft resume %s goes on with all seeds\n", w.out)
}

// statistics tells the mean, the interquartile mean and the interval of returns.
func (w *seedWatcher) statistics(returns []float64) {
	mean, iqm := stat.Mean(returns), stat.InterquartileMean(returns)
	lo, hi := stat.Usual.Interval(returns, stat.Mean)
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
