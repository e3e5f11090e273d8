package coordinator

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-rl/weft/internal/run/coordinator/core"
	"github.com/weft-rl/weft/internal/run/protocol"
)

// Probe shows from outside how a coordinator is. It is given to Serve with the options, and may be
// asked at any time.
type Probe struct {
	c     atomic.Pointer[coordinator]
	tally tally
}

// Figures count the work of a coordinator and say where it stands.
type Figures struct {
	Acts     bool
	Elected  int64                 // times that it began to act
	Status   protocol.Status       // status of the term under way; empty while it stands by
	Queued   int                   // events that wait to be decided upon
	Longest  float64               // seconds that the slowest decision took
	Decided  int64                 // events
	Refused  map[string]int64      // calls, by method
	Barred   int64                 // callers that were let in not at all, or not to do what they asked for
	Runs     map[string]RunFigures // figures of runs that are not over
	Recovery Durations             // recovery times of all runs, also of those that are over
}

// RunFigures count what happened to a run while this coordinator acted.
type RunFigures struct {
	Epochs    int64 // epochs that it began
	Restarts  int64 // epochs that ended before the run did
	Rewinds   int64 // epochs in which steps were done again
	Rewound   int64 // steps that were
	Commits   int64
	Committed time.Time // when a checkpoint was last committed; zero if none was
	Recovery  float64   // seconds that it last stood still between two epochs

	since time.Time // it stands still; zero: it does not
	last  core.Run
}

// Durations are a number of times, by their number and sum.
type Durations struct {
	Count int64
	Sum   float64 // seconds
}

// tally counts.
type tally struct {
	mu sync.Mutex
	Figures
}

// Figures returns how the coordinator is now.
func (p *Probe) Figures() Figures {
	p.tally.mu.Lock()
	f := p.tally.Figures
	f.Refused, f.Runs = maps.Clone(f.Refused), maps.Clone(f.Runs)
	p.tally.mu.Unlock()
	if c := p.c.Load(); c != nil {
		f.Barred = c.gate.Count()
	}
	if a := p.acting(); a != nil {
		f.Acts, f.Queued = true, len(a.events)
		f.Status, _ = a.news.latest()
	}
	return f
}

func (p *Probe) acting() *acting {
	c := p.c.Load()
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acts
}

// elected counts a term. What the terms before knew of runs is forgotten.
func (t *tally) elected() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Elected++
	t.Runs = map[string]RunFigures{}
}

// decided counts an event.
func (t *tally) decided(took time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.Decided++
	t.Longest = max(t.Longest, took.Seconds())
}

// refused counts a call that was refused.
func (t *tally) refused(method string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Refused == nil {
		t.Refused = map[string]int64{}
	}
	t.Refused[method]++
}

// kept counts what has become of a run since it was last kept. Runs that are over are forgotten.
func (t *tally) kept(r core.Run, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := t.Runs[r.Name]
	was := f.last
	if r.Epoch > was.Epoch && r.Phase.Active() {
		f.Epochs++
	}
	if was.Phase == core.Running && (r.Phase == core.Waiting || r.Epoch > was.Epoch) {
		f.Restarts++
		f.since = now
		if lost := was.Progress.Steps - step(r); lost > 0 {
			f.Rewinds++
			f.Rewound += lost
		}
	}
	if r.Phase == core.Running && !f.since.IsZero() {
		f.Recovery = now.Sub(f.since).Seconds()
		t.Recovery.Count++
		t.Recovery.Sum += f.Recovery
		f.since = time.Time{}
	}
	if r.Last != nil && (was.Last == nil || *was.Last != *r.Last) && was.Name != "" {
		f.Commits++
		f.Committed = now
	}
	if r.Phase.Over() {
		delete(t.Runs, r.Name)
		return
	}
	f.last = core.Run{Name: r.Name, Phase: r.Phase, Epoch: r.Epoch, Last: r.Last, Progress: r.Progress}
	t.Runs[r.Name] = f
}

func step(r core.Run) int64 {
	if r.Last == nil {
		return 0
	}
	return r.Last.Step
}

// advanced notes how far a run is.
func (t *tally) advanced(name string, steps int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if f, ok := t.Runs[name]; ok {
		f.last.Progress.Steps = steps
		t.Runs[name] = f
	}
}

// Prober is a Store that can say whether it takes writes.
type Prober interface {
	Probe(ctx context.Context) error
}

// stuck is how long the goroutine that decides may be at one event before the coordinator is not
// well.
const stuck = 30 * time.Second

// Well reports why the process should be started again; nil if it is well.
func (p *Probe) Well() error {
	a := p.acting()
	if a == nil {
		return nil
	}
	ticked := a.alive.Load()
	if ticked == nil {
		return nil
	}
	if since := time.Since(*ticked); since > stuck {
		return fmt.Errorf("nothing was decided for %v", since.Round(time.Second))
	}
	return nil
}

// Ready reports why a coordinator is of no use now; nil if it is: it acts and can keep what it
// must, or another acts that it reaches.
func (p *Probe) Ready(ctx context.Context) error {
	c := p.c.Load()
	if c == nil {
		return errors.New("it has just started")
	}
	if p.acting() == nil {
		return c.reaches(ctx)
	}
	if s, ok := c.Store.(Prober); ok {
		if err := s.Probe(ctx); err != nil {
			return fmt.Errorf("its store takes no writes: %w", err)
		}
	}
	return writable(c.Runs)
}

// reaches reports why a coordinator that stands by does not reach the one that acts.
func (c *coordinator) reaches(ctx context.Context) error {
	at := c.other(ctx)
	if at == "" {
		return errors.New("it stands by, and no coordinator acts")
	}
	client := protocol.Client{Addresses: []string{at}, TLS: c.TLS, Patience: time.Second}
	if _, err := client.Status(ctx, ""); err != nil {
		return fmt.Errorf("it stands by, and does not reach the coordinator that acts: %w", err)
	}
	return nil
}

// writable reports why no file can be written in the folder of runs.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("its folder of runs takes no writes: %w", err)
	}
	_, err = f.WriteString("x")
	return errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
}
