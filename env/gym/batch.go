package gym

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/weft-rl/weft/env"
	"github.com/weft-rl/weft/rl"
)

// batch is environments in workers. What the environments are like is known from
// the beginning; their workers are started when they are first looked at, since
// some who have a batch never do: a learner, and whoever plans a run.
type batch struct {
	spec    env.Spec // spec that all kinds of agents share
	specs   []env.Spec
	kinds   []kind
	scope   *rl.Scope
	options Options
	request request
	python  string
	key     rl.Key

	spawner *spawner
	file    *os.File // file of the shared memory
	memory  []byte
	layout  *layout
	workers []*worker
	views   views

	lives    []int64 // number of times that it began anew, by environment
	restarts []int64 // number of times that it did because its worker failed, by environment
	rate     float64 // pictures a second
	film     film
	limit    int // maximum length of episodes, if it is not the environments' own; 0 is none
	last     []rl.Obs
	over     []bool
	begun    bool
	closed   bool
}

// Spec of each kind of agents.
func (b *batch) Spec() []env.Spec { return b.specs }

// Source implements env.Sourced.
func (b *batch) Source() string { return "Python, " + b.python }

// Axis returns that the state has a row for each environment.
func (b *batch) Axis() rl.Axis { return rl.Envs }

// Obs returns the last observation.
func (b *batch) Obs() []rl.Obs {
	b.begin()
	return b.last
}

// Step moves every environment.
func (b *batch) Step(action []rl.Tree) []rl.Step {
	b.begin()
	b.views.write(action)
	b.recover(b.run())
	out := b.result()
	if b.options.OnFailure == "restart" {
		out = b.inspect(out)
	}
	b.shoot()
	b.last = make([]rl.Obs, len(out))
	for k := range out {
		b.last[k] = out[k].Obs
	}
	return out
}

// SetLimit implements env.Limiter. Limits of the environments' own stay.
func (b *batch) SetLimit(n int) {
	b.limit = n
	for k := range b.specs {
		b.specs[k].Limit = n
	}
}

// alone is a batch with one kind of agent.
type alone struct{ *batch }

func openAlone(s *rl.Scope, n int, o Options, r request) (env.Batch, error) {
	b, err := open(s, n, o, r)
	if err != nil {
		return nil, err
	}
	return alone{b}, nil
}

func (b alone) Spec() env.Spec              { return b.specs[0] }
func (b alone) Obs() rl.Obs                 { return b.batch.Obs()[0] }
func (b alone) Step(action rl.Tree) rl.Step { return b.batch.Step([]rl.Tree{action})[0] }

// run has all workers do a step, and returns those that failed and why.
func (b *batch) run() (failed map[int]error) {
	note := func(w *worker, err error) {
		if err != nil {
			if failed == nil {
				failed = map[int]error{}
			}
			failed[w.index] = err
		}
	}
	for _, w := range b.workers {
		note(w, w.begin())
	}
	deadline := time.Now().Add(b.options.Timeout)
	// Who began last is waited for first: the others are done by then, and nobody is
	// woken up to go to sleep again.
	for _, w := range slices.Backward(b.workers) {
		if failed[w.index] == nil {
			note(w, w.finish(deadline))
		}
	}
	return failed
}

// fail stops the run.
func (b *batch) fail(err error) {
	rl.Failf("step %d: environment %s: %w", b.scope.Steps()+int64(b.spec.Envs), b.spec.ID, err)
}

// Close ends the workers and frees the memory. It may be called more than once.
func (b *batch) Close() error {
	b.closed = true
	var errs []error
	for _, w := range b.workers {
		w.hangUp()
	}
	for _, w := range b.workers {
		w.stop(goodbye)
	}
	if b.spawner != nil {
		b.spawner.close()
		b.spawner = nil
	}
	if b.memory != nil {
		errs = append(errs, unshare(b.memory))
		b.memory = nil
	}
	if b.file != nil {
		errs = append(errs, b.file.Close())
		b.file = nil
	}
	return errors.Join(errs...)
}

// goodbye is how long environments may take to close.
const goodbye = 2 * time.Second
