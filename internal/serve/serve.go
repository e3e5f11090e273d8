// Package serve answers requests for actions with trained policies, over HTTP. Requests that arrive
// while a batch is computed form the next batch. A policy has several versions: the one that a
// request gets unless it asks for another is the newest that was loaded.
package serve

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/weft-rl/weft/internal/run/runner"
)

// Loader loads a policy's present weights.
type Loader interface {
	// Stamp changes when there may be other weights. It is asked often.
	Stamp() string
	// Load returns a player with the weights, and the step of the training that they are of.
	Load(ctx context.Context) (p *runner.Player, step int64, err error)
}

// Policy is a named policy with its versions.
type Policy struct {
	Name string

	keep    int
	loader  Loader
	stamp   string
	mu      sync.Mutex
	current []*version // newest first
	stats   *stats
}

// version is the weights of one step, and the goroutine that acts with them.
type version struct {
	step   int64
	player *runner.Player
	asks   chan pending
	users  sync.WaitGroup // requests that may still ask
	done   chan struct{}
}

// pending is an ask that waits for its batch.
type pending struct {
	runner.Ask
	answer chan<- answered
}

type answered struct {
	runner.Told
	err error
}

const (
	mostBatch = 64   // asks in a batch
	mostQueue = 1024 // asks that wait for one
)

// errBusy is the error of an ask when too many wait already.
var errBusy = errors.New("too many requests wait: try again, or start another server")

// errEnding is the error of an ask when the server ends.
var errEnding = errors.New("the server is being stopped: ask another")

// New loads a policy. It keeps so many versions.
func New(ctx context.Context, name string, l Loader, keep int) (*Policy, error) {
	p := &Policy{Name: name, keep: max(1, keep), loader: l, stats: newStats()}
	return p, p.Reload(ctx)
}

// Reload loads the present weights if they are not loaded yet.
func (p *Policy) Reload(ctx context.Context) error {
	stamp := p.loader.Stamp()
	if stamp == p.stamp && len(p.versions()) > 0 {
		return nil
	}
	player, step, err := p.loader.Load(ctx)
	if err != nil {
		return err
	}
	p.stamp = stamp
	if slices.ContainsFunc(p.versions(), func(v *version) bool { return v.step == step }) {
		return player.Close()
	}
	v := &version{step: step, player: player, asks: make(chan pending, mostQueue), done: make(chan struct{})}
	go v.work(p.stats)
	p.mu.Lock()
	p.current = append([]*version{v}, p.current...)
	var old []*version
	if len(p.current) > p.keep {
		old, p.current = p.current[p.keep:], p.current[:p.keep:p.keep]
	}
	p.mu.Unlock()
	p.stats.loaded(step)
	return closeAll(old)
}

// Follow reloads at every tick until ctx is done, and tells what it did.
func (p *Policy) Follow(ctx context.Context, every time.Duration, note func(string)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := p.versions()[0].step
		text := ""
		if err := p.Reload(ctx); err != nil && ctx.Err() == nil {
			text = fmt.Sprintf("policy %s stays at step %d: %v", p.Name, before, err)
		} else if now := p.versions()[0].step; now != before {
			text = fmt.Sprintf("policy %s is now at step %d", p.Name, now)
		}
		if text != "" && text != said {
			note(text)
			said = text
		}
	}
}

func (p *Policy) versions() []*version {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.current)
}

// take returns the version of a step, or the newest for a step below 0, and keeps it open until
// release is called.
func (p *Policy) take(step int64) (v *version, release func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.current) == 0 {
		return nil, nil, errEnding
	}
	var steps []int64
	for _, v := range p.current {
		if step < 0 || v.step == step {
			v.users.Add(1)
			return v, v.users.Done, nil
		}
		steps = append(steps, v.step)
	}
	return nil, nil, fmt.Errorf("policy %s has no version %d: there are %v", p.Name, step, steps)
}

// Close ends all versions, when their requests are answered.
func (p *Policy) Close() error {
	p.mu.Lock()
	old := p.current
	p.current = nil
	p.mu.Unlock()
	return closeAll(old)
}

func closeAll(all []*version) (err error) {
	for _, v := range all {
		v.users.Wait()
		close(v.asks)
		<-v.done
		err = errors.Join(err, v.player.Close())
	}
	return err
}

// work answers asks in batches until there will be no more.
func (v *version) work(s *stats) {
	defer close(v.done)
	for first := range v.asks {
		batch := []pending{first}
		for more := true; more && len(batch) < mostBatch; {
			select {
			case next, ok := <-v.asks:
				if more = ok; ok {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		asks := make([]runner.Ask, len(batch))
		for i, b := range batch {
			asks[i] = b.Ask
		}
		told, err := v.player.Decide(asks)
		s.batch(len(batch))
		for i, b := range batch {
			a := answered{err: err}
			if err == nil {
				a.Told = told[i]
			}
			b.answer <- a
		}
	}
}

// decide has an ask answered in the next batch.
func (v *version) decide(ctx context.Context, a runner.Ask) (runner.Told, error) {
	answer := make(chan answered, 1)
	select {
	case v.asks <- pending{a, answer}:
	default:
		return runner.Told{}, errBusy
	}
	select {
	case out := <-answer:
		return out.Told, out.err
	case <-ctx.Done():
		return runner.Told{}, ctx.Err()
	}
}
