package cost

import (
	"context"
	"fmt"
	"runtime"
	"time"

	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/run/timing"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Recording is a few iterations of a plan's programs, as they were run in this process.
type Recording struct {
	Plan       plan.Plan
	Iterations int   // that were recorded
	Steps      int64 // environment steps of all of them
	Memory     int64 // bytes that all replicas hold
	// Free is the seconds of an iteration after the recording, in which no replica waits for its
	// turn; 0 if there was none.
	Free  float64
	from  int // the first iteration that counts
	tapes []*tape
}

// Patience bounds a recording.
type Patience struct {
	Warm  time.Duration // for the loop to begin to learn
	Least time.Duration // of iterations to record, at least
	Most  time.Duration // and at most, if one was recorded
	Free  time.Duration // of iterations without tapes thereafter
}

// Brief is the patience of recordings that a choice among many plans needs.
var Brief = Patience{Warm: 4 * time.Second, Least: 150 * time.Millisecond, Most: 1200 * time.Millisecond, Free: 100 * time.Millisecond}

// settling is how many iterations after the first that learns are left out: they compile.
const settling = 3

// Record runs a job's programs under a plan for some iterations. The plain loop is a plan without
// groups.
func Record(ctx context.Context, job runner.Job, p plan.Plan, how Patience) (*Recording, error) {
	c := newCutter(p, how)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if err := c.run(ctx, job); err != nil {
		return nil, err
	}
	runtime.ReadMemStats(&after)
	if c.Iterations < 1 {
		return nil, fmt.Errorf("policy %s: the run ended before an iteration could be recorded", p.Policy)
	}
	c.Memory = max(0, int64(after.HeapAlloc)-int64(before.HeapAlloc))
	out := c.Recording
	return &out, nil
}

func newCutter(p plan.Plan, how Patience) *cutter {
	return &cutter{how: how, Recording: Recording{Plan: p}, baton: newBaton(), begun: time.Now(), first: -1}
}

// run runs the job's programs until enough was recorded.
func (c *cutter) run(ctx context.Context, job runner.Job) error {
	p := c.Plan
	job.Plan = func(plan.Problem) (plan.Plan, error) { return p, nil }
	if len(p.Groups) == 0 && !p.Lowered {
		job.Plan = nil
	}
	job.Dir, job.EvalEpisodes, job.Profile, job.Watch = "", 0, false, nil
	job.Probe = &runner.Probe{Cut: c.cut, Record: func(replica int) timing.Watch {
		for len(c.tapes) <= replica {
			c.tapes = append(c.tapes, nil)
		}
		c.tapes[replica] = newTape(c.baton)
		return c.tapes[replica]
	}}
	s, err := runner.Prepare(job)
	if err != nil {
		return err
	}
	c.owner, c.ctx = c.tapes[ownerOf(p)], ctx
	_, err = s.Train(context.WithoutCancel(ctx))
	c.drop()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// ownerOf returns the number of the replica that decides.
func ownerOf(p plan.Plan) int {
	n := 0
	for _, g := range p.Groups {
		if g.Name == p.Owner {
			return n
		}
		n += len(p.Of(g.Name))
	}
	return 0
}

// cutter decides when enough was recorded.
type cutter struct {
	Recording
	*baton
	ctx   context.Context
	how   Patience
	owner *tape
	begun time.Time
	first int64     // iterations that were done when recording began; -1 before
	at    time.Time // when it began
	steps int64     // steps that were done then
	last  int64     // iterations that were done when it ended
	took  time.Duration
	freed struct {
		from int64 // iterations that were done when tapes had been off for one; 0 before
		at   time.Time
	}
}

// cut stops the run at the consistent point at which enough was recorded, and enough seen of what
// comes without tapes.
func (c *cutter) cut(x rl.Cut) error {
	ends := x.Last || c.ctx.Err() != nil
	if c.Iterations > 0 {
		return c.without(x, ends)
	}
	learns := c.owner.learned >= 0 || time.Since(c.begun) > c.how.Warm
	if c.first < 0 && learns && x.Iter > int64(c.owner.learned+settling) {
		c.first, c.at, c.steps = x.Iter, time.Now(), x.Steps
	}
	n := x.Iter - c.first - 1 // the last one may lack its end
	took := time.Since(c.at)
	c.last, c.took = x.Iter, took
	enough := c.first >= 0 && n >= 1 && (n >= 3 && took >= c.how.Least || took >= c.how.Most)
	if !enough && !ends {
		return nil
	}
	if c.first >= 0 && n >= 1 {
		c.from, c.Iterations = int(c.first), int(n)
		c.Steps = (x.Steps - c.steps) * n / (n + 1)
	}
	c.stop()
	if c.Iterations == 0 || c.how.Free == 0 || ends {
		return rl.ErrStop
	}
	return nil
}

// without measures iterations after the recording. The first of them may have begun with tapes.
func (c *cutter) without(x rl.Cut, ends bool) error {
	f := &c.freed
	if f.from == 0 && !ends {
		f.from, f.at = x.Iter, time.Now()
		return nil
	}
	n, took := x.Iter-f.from, time.Since(f.at)
	if enough := n >= 3 && took >= c.how.Free || took >= c.how.Most/2; !enough && !ends {
		return nil
	}
	if f.from > 0 && n > 0 {
		c.Free = took.Seconds() / float64(n)
	}
	return rl.ErrStop
}

// iteration returns the steps of a replica in one iteration that counts.
func (r *Recording) iteration(replica, i int) []taped {
	t := r.tapes[replica]
	return t.steps[t.marks[r.from+i]:t.marks[r.from+i+1]]
}
