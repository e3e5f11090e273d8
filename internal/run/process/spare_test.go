package process_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-rl/weft/internal/run/mesh"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/part/parttest"
	"github.com/weft-rl/weft/internal/run/process"
	"github.com/weft-rl/weft/internal/run/store"
	"github.com/weft-rl/weft/plan"
)

// lives are a part's processes, one after another: each is lost when it is told.
type lives struct {
	folder string
	desk   *parttest.Desk
	a      part.Assignment
	lose   chan struct{}
	done   <-chan struct{} // closed when the part that decides has ended
}

// run carries the part out until a process comes to its end. A process that is lost
// ends without a word, as far as the others can see.
func (l *lives) run(t *testing.T, lost func()) error {
	for {
		ctx, stop := context.WithCancel(t.Context())
		over := make(chan error, 1)
		r, _ := newProcess(t, l.folder)
		go func() { over <- r.Run(ctx, l.a, l.desk) }()
		select {
		case err := <-over:
			stop()
			if err != nil && strings.Contains(err.Error(), "is NaN") { // its own failure
				lost()
				l.a.Life++
				continue
			}
			var hub *mesh.Lost
			if l.a.Life > 0 && errors.As(err, &hub) && l.desk.Last().Result != nil {
				err = nil // it came when all was done
			}
			return err
		case <-l.late():
			stop()
			<-over
			return nil
		case <-l.lose:
			stop()
			if err := <-over; err == nil {
				return nil // it had just ended
			}
			lost()
			l.a.Life++
		}
	}
}

// late returns a channel that is closed when nobody waits for the part any more, as a coordinator
// would tell.
func (l *lives) late() <-chan struct{} {
	if l.a.Life == 0 {
		return nil
	}
	return l.done
}

// newProcess returns a process with an address of its own. It is patient, since this machine
// may be busy.
func newProcess(t *testing.T, folder string) (*process.Runner, string) {
	node, err := mesh.Listen("127.0.0.1:0", mesh.Options{Secret: "secret", Silence: time.Minute})
	if err != nil {
		t.Error(err)
	}
	t.Cleanup(func() {
		if err := node.Close(); err != nil {
			t.Error(err)
		}
	})
	return process.New(process.Config{Job: job, Node: node, Store: inFolder(folder)}), node.Address()
}

// TestSpared: an asynchronous run goes on while processes are lost that do not decide,
// and others take their place; every step of what was used is recorded once.
func TestSpared(t *testing.T) {
	for _, c := range []struct {
		plan.Deployment
		config string
		unit   int64 // steps of an iteration of one part
	}{
		{plan.Deployment{Policy: "central", Workers: 4}, "steps=3200 every=640", 16},
		{plan.Deployment{Policy: "single-learner-coarse", Workers: 4}, "steps=6400 every=640", 16},
		{plan.Deployment{Policy: "central", Workers: 4}, "steps=3200 every=640 normalize_reward=true normalize_obs=true", 16},
		{plan.Deployment{Policy: "single-learner-coarse", Workers: 4}, "steps=6400 every=640 normalize_reward=true normalize_obs=true", 16},
	} {
		t.Run(c.Policy+" "+c.config, func(t *testing.T) {
			next := int64(300)
			lost := spared(t, c.Deployment, c.config, c.unit, func(parts []*lives, p part.Progress) {
				if p.Steps < next {
					return
				}
				select { // while one is being replaced, it is not lost again
				case parts[next/300%2].lose <- struct{}{}:
				default:
				}
				next += 300
			})
			if lost[1]+lost[2] < 3 {
				t.Errorf("only %v were lost", lost)
			}
		})
	}
}

// TestSparedFailures: it is the same if their environments fail.
func TestSparedFailures(t *testing.T) {
	for _, by := range []string{"central", "single-learner-coarse"} {
		t.Run(by, func(t *testing.T) {
			failures.Store(3)
			d := plan.Deployment{Policy: by, Workers: 4}
			lost := spared(t, d, "steps=3200 every=640 fails=true", 16, func([]*lives, part.Progress) {})
			if lost[1]+lost[2]+lost[3] == 0 {
				t.Error("none failed")
			}
		})
	}
}

// spared carries an asynchronous run out by four processes, and returns how often the
// parts of each were lost.
func spared(t *testing.T, by plan.Deployment, config string, unit int64, progressed func([]*lives, part.Progress)) (lost []int) {
	by.Async, by.Staleness, by.Queue = true, 8, 2
	p := planned(t, config, by)
	if !p.Sparing() {
		t.Fatal("the plan can spare nobody")
	}
	folder, d := t.TempDir(), parttest.NewDesk(4)
	hub, at := newProcess(t, folder)
	a := part.Assignment{Run: "r", Epoch: 1, Config: config, Plan: p, Workers: []part.Worker{{Name: "w0", Data: at, Host: "here"}}}
	var parts []*lives
	done := make(chan struct{})
	for i := 1; i < 4; i++ {
		a.Workers = append(a.Workers, part.Worker{Name: fmt.Sprint("w", i), Host: "here"})
		parts = append(parts, &lives{folder: folder, desk: d, a: a, lose: make(chan struct{}, 1), done: done})
	}
	for i, l := range parts {
		l.a.Workers, l.a.Me = a.Workers, i+1
	}
	d.Progressed = func(p part.Progress) { progressed(parts, p) }
	var all sync.WaitGroup
	errs := make([]error, 4)
	lost = make([]int, 4)
	all.Go(func() {
		defer close(done)
		errs[0] = hub.Run(t.Context(), a, d)
	})
	for i, l := range parts {
		all.Go(func() { errs[i+1] = l.run(t, func() { lost[i+1]++ }) })
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	recorded(t, d, unit)
	return lost
}

// recorded checks that a record has every iteration once, with whole iterations of parts.
func recorded(t *testing.T, d *parttest.Desk, unit int64) {
	t.Helper()
	last := d.Last()
	if last.Result == nil {
		t.Fatal("there is no result")
	}
	before := int64(0)
	for i, s := range steps(t, d.Lines()) {
		if s <= before || s%unit != 0 {
			t.Errorf("row %d is of step %d after %d", i, s, before)
		}
		before = s
	}
	if n := count(d.Lines()); before != last.Result.Steps || int64(n) != last.Iter {
		t.Errorf("%d rows up to step %d of %d iterations and %d steps", n, before, last.Iter, last.Result.Steps)
	}
}

// TestOvertaken: a process that comes in another's place, and whose checkpoint the run has done
// away with meanwhile, does not call that a failure of its own: enough of these end a run.
func TestOvertaken(t *testing.T) {
	for life, peers := range []bool{false, true} {
		r, at := newProcess(t, t.TempDir())
		a := part.Assignment{
			Run: "r", Epoch: 1, Life: int64(life), Config: "steps=640", Me: 1, Workers: []part.Worker{{Name: "w0"}, {Name: "w1", Data: at}},
			Plan: planned(t, "", plan.Deployment{Policy: "central", Workers: 2, Async: true}),
			From: &part.Manifest{Epoch: 1, Step: 64, Object: "step-64"},
		}
		err := r.Run(t.Context(), a, parttest.NewDesk(2))
		var e interface{ Peer() bool }
		if !errors.Is(err, store.ErrNone) || (errors.As(err, &e) && e.Peer()) != peers {
			t.Errorf("life %d: %v", life, err)
		}
	}
}
