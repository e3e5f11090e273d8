package app

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/weft-rl/weft/internal/metrics"
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
func (c *command) trainSeeds(ctx context.Context, r *request, out string, f *trainFlags) error {
	runs := make([]*seedRun, f.seeds)
	for i := range runs {
		mine := *r
		mine.Seed = r.Seed + uint64(i)
		runs[i] = &seedRun{r: &mine, dir: filepath.Join(out, fmt.Sprintf("seed%d", mine.Seed))}
		if taken(runs[i].dir) {
			return fmt.Errorf("--out: %s already holds a run", runs[i].dir)
		}
	}
	c.started = true
	report := c.seedReporter(f.json)
	var mu sync.Mutex
	var wg sync.WaitGroup
	slots := make(chan struct{}, runtime.GOMAXPROCS(0))
	for _, s := range runs {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if ctx.Err() != nil {
				s.err = ctx.Err()
				return
			}
			c.trainSeed(ctx, s)
			mu.Lock()
			defer mu.Unlock()
			report(s)
		})
	}
	wg.Wait()
	return c.summarise(ctx, r, runs, out, f.json)
}

func (c *command) trainSeed(ctx context.Context, s *seedRun) {
	job, release, err := c.prepare(s.r, s.dir)
	if err != nil {
		s.err = err
		return
	}
	defer release()
	s.result, s.err = local.Train(ctx, job)
}

// seedReporter tells about every seed as it ends.
func (c *command) seedReporter(asJSON bool) func(*seedRun) {
	enc := json.NewEncoder(c.out)
	return func(s *seedRun) {
		switch {
		case s.err != nil:
			fmt.Fprintf(c.err, "weft: seed %d: %v\n", s.r.Seed, s.err)
		case asJSON:
			_ = enc.Encode(newDone("seed", s.r, s.dir, s.result))
		default:
			text := fmt.Sprintf("seed %d: %d steps, %s steps/s, mean return of the last 100 episodes: %s",
				s.r.Seed, s.result.Steps, metrics.Count(s.result.StepsPerSecond), metrics.Number(s.result.ReturnMean))
			if e := s.result.Evaluation; e != nil {
				text += fmt.Sprintf(", greedy: %s", metrics.Number(e.Mean))
			}
			fmt.Fprintln(c.out, text)
		}
	}
}

// seedsEvent is the last line of several seeds: a done event whose numbers are
// of all of them.
type seedsEvent struct {
	doneEvent
	Seeds    int       `json:"seeds"`
	IQM      number    `json:"return_iqm"`
	Interval [2]number `json:"return_interval"`
	Returns  []number  `json:"returns"`
}

func (c *command) summarise(ctx context.Context, r *request, runs []*seedRun, out string, asJSON bool) error {
	var returns []float64
	var total local.Result
	sum := sha256.New()
	state := sha256.New()
	var errs []error
	for _, s := range runs {
		if s.err != nil {
			errs = append(errs, fmt.Errorf("seed %d: %w", s.r.Seed, s.err))
			continue
		}
		returns = append(returns, s.result.ReturnMean)
		total.Steps += s.result.Steps
		total.Episodes += s.result.Episodes
		total.Seconds = max(total.Seconds, s.result.Seconds)
		total.StepsPerSecond += s.result.StepsPerSecond / float64(len(runs))
		sum.Write([]byte(s.result.WeightsSHA256))
		state.Write([]byte(s.result.StateSHA256))
	}
	if ctx.Err() != nil {
		return exitStatus(exitInterrupted)
	}
	if len(errs) > 0 {
		return fmt.Errorf("%d of %d seeds failed: %w", len(errs), len(runs), errors.Join(errs...))
	}
	total.ReturnMean = metrics.Mean(returns)
	total.WeightsSHA256, total.StateSHA256 = fmt.Sprintf("%x", sum.Sum(nil)), fmt.Sprintf("%x", state.Sum(nil))
	iqm := metrics.InterquartileMean(returns)
	lo, hi := metrics.Interval(returns, metrics.Mean, .95)
	if asJSON {
		e := seedsEvent{doneEvent: newDone("done", r, out, total), Seeds: len(runs), IQM: number(iqm), Interval: [2]number{number(lo), number(hi)}}
		for _, x := range returns {
			e.Returns = append(e.Returns, number(x))
		}
		_ = json.NewEncoder(c.out).Encode(e)
		return nil
	}
	fmt.Fprintf(c.out, "%d seeds: mean %s, interquartile mean %s, 95 %% interval of the mean %s to %s\n",
		len(runs), metrics.Number(total.ReturnMean), metrics.Number(iqm), metrics.Number(lo), metrics.Number(hi))
	return nil
}
