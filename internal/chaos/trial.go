package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
)

// trial is a run on a cluster of its own, that is disturbed.
type trial struct {
	Options
	name    string // name of the run
	run     Run
	want    *reference // nil: it is asynchronous
	network network
	cluster *cluster
	view    *view
	lasting sync.WaitGroup // faults that are not over
	result  Trial

	mu sync.Mutex
}

// Trial is how a run went.
type Trial struct {
	Run        string     `json:"run"`
	Network    string     `json:"network"`
	Async      bool       `json:"async,omitempty"`
	Seconds    float64    `json:"seconds"`
	Injected   []Injected `json:"faults"`
	Epochs     int64      `json:"epochs"`
	Return     float64    `json:"return_mean"`
	Violations []string   `json:"violations,omitempty"`
}

// Injected is a fault, and how long it took until the run trained again: from the fault,
// or from the end of one that it should live through. It is negative if the run ended before.
type Injected struct {
	Fault    string  `json:"fault"`
	Kind     Kind    `json:"kind"`
	Recovery float64 `json:"recovery"` // seconds
	Restart  bool    `json:"restart"`  // a new epoch began
	// Replaced is the time from the end of the fault until other workers took over the parts of
	// lost workers that an asynchronous run can spare; nil if no such worker was lost, or the run
	// ended before.
	Replaced *float64 `json:"replaced,omitempty"` // seconds
}

// bad reports a violation of what is promised.
func (t *trial) bad(err error) {
	if err == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.result.Violations = append(t.result.Violations, fmt.Sprintf("%s: %v", t.name, err))
	t.Log(fmt.Sprintf("VIOLATION %s: %v", t.name, err))
}

// ended is how the client of a run says that it ended.
type ended struct {
	Event         string
	Error         string
	Steps         int64
	ReturnMean    float64 `json:"return_mean"`
	WeightsSHA256 string  `json:"weights_sha256"`
	StateSHA256   string  `json:"state_sha256"`
}

// do carries the trial out.
func (t *trial) do(ctx context.Context, s *starter, faults []Fault) Trial {
	began := time.Now()
	var err error
	if t.cluster, err = newCluster(ctx, s, t.network, t.Workers, t.bad); err != nil {
		t.bad(err)
		return t.result
	}
	t.train(ctx, faults)
	if err := t.cluster.close(); err != nil {
		t.bad(err)
	}
	r, _, _ := t.view.latest()
	t.result.Epochs, t.result.Seconds = r.Epoch, time.Since(began).Seconds()
	return t.result
}

// train has the run trained, and disturbs it.
func (t *trial) train(ctx context.Context, faults []Fault) {
	t.view = newView()
	at, flags, _ := t.network.reach()
	args := append(t.run.args(t.Workers), "--cluster", at, "--out", t.name, "--json")
	following, stop := context.WithCancel(ctx)
	defer stop()
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { t.view.follow(following, t.cluster.client, t.name) })
	var end ended
	over, started := make(chan error, 1), make(chan *process, 1)
	all.Go(func() {
		p, err := t.cluster.run("client", append(args, flags...), func(p *process) { started <- p }, func(line string) {
			_ = json.Unmarshal([]byte(line), &end) // the last one counts
		})
		if err == nil && p.err != nil {
			err = fmt.Errorf("%w: %s", p.err, p.tail())
		}
		over <- err
		close(started)
	})
	err := t.attack(ctx, faults)
	t.lasting.Wait()
	if err == nil {
		err = t.finish(ctx, over)
	}
	if err != nil {
		if ctx.Err() == nil { // else it was told to stop
			t.bad(err)
		}
		t.cluster.dump()
		if p := <-started; p != nil {
			p.Signal(sigKill)
		}
		return
	}
	stop()
	t.result.Return = end.ReturnMean
	for _, err := range t.check(end) {
		t.bad(err)
	}
}

// attack injects faults until there are no more, or the run is over.
func (t *trial) attack(ctx context.Context, faults []Fault) error {
	if _, _, err := t.await(ctx, mark{}); err != nil {
		return fmt.Errorf("it does not begin: %w", err)
	}
	for _, f := range faults {
		rest(ctx, f.After)
		if r, _, _ := t.view.latest(); r.Phase.Over() || ctx.Err() != nil || t.late() {
			return ctx.Err()
		}
		t.Log(fmt.Sprintf("%s: %s", t.name, f))
		m, err := t.inject(ctx, f)
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		r, took, err := t.await(ctx, m)
		if err != nil {
			return fmt.Errorf("after %s: %w", f, err)
		}
		i := t.judge(f, m, r, took)
		if m.spared {
			i.Replaced, err = t.replaced(ctx, f, m)
		}
		t.result.Injected = append(t.result.Injected, i)
		if err != nil {
			return fmt.Errorf("after %s: %w", f, err)
		}
		t.lasting.Wait()
	}
	return nil
}

// late reports whether the time for faults is over.
func (t *trial) late() bool { return !t.until.IsZero() && time.Now().After(t.until) }

// judge returns what a fault has come to.
func (t *trial) judge(f Fault, m mark, r core.Run, took time.Duration) Injected {
	i := Injected{Fault: f.String(), Kind: f.Kind, Recovery: took.Seconds(), Restart: r.Epoch > m.epoch}
	if r.Phase.Over() {
		i.Recovery = -1
	}
	if t.Bar > 0 && i.Recovery > t.Bar.Seconds() {
		t.bad(fmt.Errorf("%s: it took %v to train again, and the bar is %v: %v", f, took.Round(time.Millisecond), t.Bar, last(r.History, 6)))
	}
	return i
}

// replaced waits until workers that were spared are replaced. The epoch may not end for
// that, unless there was no coordinator either.
func (t *trial) replaced(ctx context.Context, f Fault, m mark) (*float64, error) {
	r, took, err := t.awaitThat(ctx, m, m.replaced)
	if err != nil {
		return nil, fmt.Errorf("no worker takes over its part: %w", err)
	}
	if text := m.needless(r); text != "" && f.Kind != KillBoth {
		t.bad(fmt.Errorf("%s: the run could have gone on: %s", f, text))
	}
	if r.Phase.Over() || r.Epoch > m.epoch {
		return nil, nil
	}
	seconds := max(0, took-f.For).Seconds()
	return &seconds, nil
}

// last returns the last n texts.
func last(all []string, n int) []string { return all[max(0, len(all)-n):] }

// await waits until the run trains again. Nothing may hang: if it takes too long, the run
// says why it waits.
func (t *trial) await(ctx context.Context, m mark) (core.Run, time.Duration, error) {
	return t.awaitThat(ctx, m, m.passed)
}

func (t *trial) awaitThat(ctx context.Context, m mark, holds func(core.Run, time.Time) bool) (core.Run, time.Duration, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, t.Patience, fmt.Errorf("it hangs, for %v", t.Patience))
	defer cancel()
	r, at, err := t.view.until(ctx, holds)
	if err != nil {
		return r, 0, fmt.Errorf("%w: the run is %s in epoch %d (%s), iteration %d; last: %q; %s has what processes were at",
			err, r.Phase, r.Epoch, r.Why, r.Progress.Iter, last(r.History, 5), t.cluster.dir)
	}
	return r, at.Sub(m.from), nil
}

// finish waits for the end of the run, which must get on all the while.
func (t *trial) finish(ctx context.Context, over <-chan error) error {
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-over:
			return err
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if r, _, _ := t.view.latest(); t.view.quiet() > t.Patience {
			return errors.Join(fmt.Errorf("it hangs: the run is %s in epoch %d (%s), iteration %d, and has not got on for %v",
				r.Phase, r.Epoch, r.Why, r.Progress.Iter, t.Patience), failed(r))
		}
	}
}

// failed returns why a run failed, if it did.
func failed(r core.Run) error {
	if r.Phase != core.Failed {
		return nil
	}
	return errors.New(r.Why)
}
