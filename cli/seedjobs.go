package cli

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/runner"
)

// followSeeds shows the runs of several seeds until all their jobs are over, and summarises them.
func (c *command) followSeeds(ctx context.Context, runs []*seedRun, jobs []job, out string, f *trainFlags) error {
	show := c.seedWatcher(runs, out, f.json)
	var all sync.WaitGroup
	for i, s := range runs {
		all.Go(func() {
			s.follow(ctx, f, jobs[i], seedView{w: show, i: i})
			show.ended(s)
		})
	}
	all.Wait()
	return show.finish(ctx)
}

// follow shows the run of a job, and takes its result over.
func (s *seedRun) follow(ctx context.Context, f *trainFlags, b job, v seedView) {
	w := &seedEnd{seedView: v, s: s}
	j := &jobFollower{job: b, engine: f.engine(), out: s.dir, v: &viewer{w: w, total: s.r.Steps, async: s.r.Async, begun: time.Now(), stays: true}}
	w.Note(b.String())
	p, err := j.follow(ctx)
	if err == nil && p.Error != "" {
		err = errors.New(p.Error)
	}
	if s.err = err; err == nil {
		_ = j.v.end(p.Run) // it is told
	}
}

// seedEnd keeps how a seed ended, which is shown with the others'.
type seedEnd struct {
	seedView
	s *seedRun
}

func (w *seedEnd) done(r runner.Result)              { w.s.result = r }
func (w *seedEnd) fail(err error)                    { w.s.err = err }
func (w *seedEnd) evaluated(runner.Evaluation, bool) {}
