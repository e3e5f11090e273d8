package coordinator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/run/coordinator"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/plan"
)

// job is the configuration of a fake run.
type job struct {
	workers int
	steps   int64
	fails   string // what it fails with, halfway
}

// sparing is in the place of a failure of a run that is asynchronous.
const sparing = "async"

const configuration = "workers=%d steps=%d fails=%s"

func parse(config string) (j job, err error) {
	_, err = fmt.Sscanf(config, "workers=%d steps=%d", &j.workers, &j.steps)
	_, j.fails, _ = strings.Cut(config, "fails=")
	return j, err
}

// planner returns one learner and a shard for each worker that is asked for, on as many as
// there are.
func planner(_ context.Context, _, config string, c plan.Cluster, shards int) (plan.Plan, error) {
	j, err := parse(config)
	if err != nil {
		return plan.Plan{}, fmt.Errorf("the configuration makes no sense: %w", err)
	}
	if shards == 0 && j.workers > len(c.Workers) {
		return plan.Plan{}, fmt.Errorf("%w: %d are asked for, there are %d", coordinator.ErrShort, j.workers, len(c.Workers))
	}
	n := min(j.workers, len(c.Workers))
	p := plan.Plan{Owner: "learner", Shards: j.workers, Replicas: []plan.Replica{{Group: "learner", Last: j.workers}}}
	if j.fails == sparing { // it does not
		p.Async, p.Groups = true, []plan.Group{{Name: "actor", Over: fdg.Environments}, {Name: "learner", Over: fdg.None}}
	}
	for i := range j.workers {
		p.Replicas = append(p.Replicas, plan.Replica{Group: "actor", Rank: i, First: i, Last: i + 1, Worker: i * n / j.workers})
	}
	return p, nil
}

// disk is shared by all fake runners: it has checkpoints, and when an epoch is over.
type disk struct {
	mu    sync.Mutex
	saved map[string]int64
	ends  map[string]chan struct{}
	gate  map[string]chan struct{} // steps of runs wait for it, if there is one
	done  map[string]int           // steps that were done, those that were done again too
}

func newDisk() *disk {
	return &disk{saved: map[string]int64{}, ends: map[string]chan struct{}{}, gate: map[string]chan struct{}{}, done: map[string]int{}}
}

// end returns a channel that is closed when the epoch's owner is done.
func (d *disk) end(a part.Assignment) chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := fmt.Sprint(a.Run, "/", a.Epoch)
	if d.ends[key] == nil {
		d.ends[key] = make(chan struct{})
	}
	return d.ends[key]
}

// hold has a run stop before its last step until it is let go.
func (d *disk) hold(run string) (letGo func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	gate := make(chan struct{})
	d.gate[run] = gate
	return sync.OnceFunc(func() { close(gate) })
}

// did returns how many steps of a run were done, again or not.
func (d *disk) did(run string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.done[run]
}

// fake is a runner that trains by counting.
type fake struct{ *disk }

func (f fake) Run(ctx context.Context, a part.Assignment, r part.Reporter) error {
	j, err := parse(a.Config)
	if err != nil {
		return err
	}
	if err := r.Ready(ctx); err != nil {
		return err
	}
	if !a.Owner() {
		select {
		case <-f.end(a):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := f.train(ctx, a, j, r); err != nil {
		return err
	}
	close(f.end(a))
	return nil
}

func (f fake) train(ctx context.Context, a part.Assignment, j job, r part.Reporter) error {
	step, recorded := int64(0), int64(0)
	if a.From != nil {
		f.mu.Lock()
		step = f.saved[a.From.Object]
		f.mu.Unlock()
		if step != a.From.Step {
			return fmt.Errorf("the checkpoint of step %d is of step %d", a.From.Step, step)
		}
	}
	f.mu.Lock()
	gate := f.gate[a.Run]
	f.mu.Unlock()
	for step < j.steps {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-r.Halted():
			r.Progress(part.Progress{Steps: step, Iter: step, Halted: true})
			return f.commit(ctx, a, step, recorded, r)
		case <-time.After(time.Millisecond): // it is the work
		}
		if step++; step > j.steps/2 && j.fails != "" && j.fails != sparing {
			return errors.New(j.fails)
		}
		if step == j.steps && gate != nil {
			select {
			case <-gate:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		f.mu.Lock()
		f.done[a.Run]++
		f.mu.Unlock()
		line := fmt.Appendf(nil, "{\"step\":%d,\"iter\":%d,\"seconds\":0}\n", step, step)
		recorded += int64(len(line))
		if err := r.Record(ctx, line); err != nil {
			return err
		}
		r.Progress(part.Progress{Steps: step, Iter: step, Metrics: make([]part.Metric, 2*part.MaxMetrics)})
		if step%10 == 0 || step == j.steps {
			if err := f.commit(ctx, a, step, recorded, r); err != nil {
				return err
			}
		}
	}
	r.Note("it is over")
	r.Progress(part.Progress{Steps: step, Iter: step, Result: &part.Result{Steps: step, WeightsSHA256: "w"}})
	return nil
}

func (f fake) commit(ctx context.Context, a part.Assignment, step, recorded int64, r part.Reporter) error {
	m := part.Manifest{Epoch: a.Epoch, Step: step, Object: fmt.Sprintf("%s-%d-%d", a.Run, a.Epoch, step), Record: recorded}
	f.mu.Lock()
	f.saved[m.Object] = step
	f.mu.Unlock()
	return r.Commit(ctx, m)
}

// faulty is a runner whose parts fail by themselves, in some of their lives.
type faulty struct {
	fake
	lives int64
	now   <-chan struct{}
}

func (f faulty) Run(ctx context.Context, a part.Assignment, r part.Reporter) error {
	if a.Owner() || a.Life >= f.lives {
		return f.fake.Run(ctx, a, r)
	}
	if err := r.Ready(ctx); err != nil {
		return err
	}
	select {
	case <-f.now:
		return errors.New("its environment failed")
	case <-ctx.Done():
		return ctx.Err()
	}
}
