package process

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/runner"
	"github.com/weft-rl/weft/internal/run/store"
)

// vault keeps checkpoints in the run's store, and has the coordinator commit them.
// An object's name says its epoch and what is in it, so that nothing is ever written
// over what counts.
type vault struct {
	ctx   context.Context
	store store.Store
	place string // address of the store
	a     part.Assignment
	keep  int
	// patience is how long the store may take over anything small.
	patience time.Duration
	to       part.Reporter
	lines    *record
	saving   atomic.Int64 // ns that the newest checkpoint took

	mu   sync.Mutex
	good []string // objects of this epoch's commits, and the one it began with; oldest first
	best *float64 // score of the best one, once known
	// blind is that one is there which could not be read.
	blind bool
}

// Latest returns the checkpoint that the assignment begins with, and no other.
func (v *vault) Latest() (f checkpoint.File, step int64, skipped []error, err error) {
	m := v.a.From
	if m == nil {
		return f, 0, nil, checkpoint.ErrNone
	}
	f, err = runner.Fetch(v.ctx, v.store, *m)
	if v.a.Life > 0 && errors.Is(err, store.ErrNone) {
		err = overtaken{err}
	} else if err != nil {
		err = v.here(err)
	}
	return f, m.Step, nil, err
}

// overtaken is the error of a process that comes in another's place when the run, which went on
// meanwhile, has done away with the checkpoint that it was to begin with.
type overtaken struct{ error }

func (e overtaken) Unwrap() error { return e.error }

// Peer says that it is not this process's failure: it is given a newer one.
func (overtaken) Peer() bool { return true }

// unable is the error of a process that cannot use the run's store. That may be its machine's
// fault.
type unable struct{ error }

func (e unable) Unwrap() error { return e.error }

// Node says that another worker may be able to.
func (unable) Node() bool { return true }

// here marks an error of the store as one that another worker may not have, unless the epoch is
// over.
func (v *vault) here(err error) error {
	if err == nil || v.ctx.Err() != nil {
		return err
	}
	return unable{err}
}

// Save writes an object, and commits it once all rows of metrics up to its step are
// with the coordinator.
func (v *vault) Save(step int64, f checkpoint.File) error {
	began := time.Now()
	o, err := checkpoint.Encode(step, f)
	if err != nil {
		return err
	}
	recorded, err := strconv.ParseInt(f.Meta["recorded"], 10, 64)
	if err != nil {
		return fmt.Errorf("checkpoint of step %d: it does not say how much was recorded: %w", step, err)
	}
	m := part.Manifest{
		Record: recorded, Epoch: v.a.Epoch, Step: step, Object: runner.ObjectName(v.a.Epoch, step, o.SHA256()), Size: o.Size(), SHA256: o.SHA256(),
		Evaluated: f.Meta["evaluated"] == fmt.Sprint(step), Place: v.place,
	}
	if err := v.put(m.Object, o); err != nil {
		return fmt.Errorf("checkpoint of step %d: %w", step, err)
	}
	if err := v.lines.flush(); err != nil {
		return err
	}
	if err := v.to.Commit(v.ctx, m); err != nil {
		return fmt.Errorf("checkpoint of step %d was not committed: %w", step, err)
	}
	v.saving.Store(int64(time.Since(began)))
	v.prune(m.Object, step)
	return nil
}

// took returns how long the newest checkpoint took to be written and committed.
func (v *vault) took() time.Duration { return time.Duration(v.saving.Load()) }

// put hands an object to the store, which may take a second for each MiB beside its
// patience: a run does not wait for one that says nothing.
func (v *vault) put(name string, o *checkpoint.Object) error {
	return v.here(v.within(v.patience+time.Duration(o.Size()>>20)*time.Second, func(ctx context.Context) error {
		return v.store.Put(ctx, name, o.Reader(), o.Size())
	}))
}

// reach checks that there is a store.
func (v *vault) reach() error {
	return v.here(v.within(v.patience, func(ctx context.Context) error {
		_, err := v.store.List(ctx)
		return err
	}))
}

// within does something that must not take longer.
func (v *vault) within(limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(v.ctx, limit, fmt.Errorf("the store did not answer within %v", limit))
	defer cancel()
	err := do(ctx)
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// prune removes what is not needed any more. What cannot be removed only takes room.
func (v *vault) prune(committed string, step int64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.good) == 0 && v.a.From != nil {
		v.good = append(v.good, v.a.From.Object)
	}
	v.good = append(slices.DeleteFunc(v.good, func(n string) bool { return n == committed }), committed)
	v.good = v.good[max(0, len(v.good)-v.keep):]
	err := v.within(v.patience, func(ctx context.Context) error { return v.clean(ctx, step) })
	if err != nil && v.ctx.Err() == nil {
		v.to.Note("old checkpoints could not be removed: " + strings.ReplaceAll(err.Error(), "\n", "; "))
	}
}

// clean removes all but the good ones, up to the step that was committed: what has more steps than
// that is superseded by nothing, whatever it is doing here.
func (v *vault) clean(ctx context.Context, committed int64) error {
	names, err := v.store.List(ctx)
	for _, name := range names {
		if epoch, step, ok := runner.ParseObject(name); ok && epoch <= v.a.Epoch && step <= committed && !slices.Contains(v.good, name) {
			err = errors.Join(err, v.store.Delete(ctx, name))
		}
	}
	if s, ok := v.store.(store.Sweeper); ok { // this process writes nothing now, and earlier epochs are over
		err = errors.Join(err, s.Sweep(ctx, func(name string) bool {
			epoch, _, ok := runner.ParseObject(name)
			if !ok {
				epoch, ok = runner.BestEpoch(name)
			}
			return ok && epoch <= v.a.Epoch
		}))
	}
	return err
}

// SaveBest replaces the best checkpoint if there is none with a score as high.
func (v *vault) SaveBest(score float64, step int64, f checkpoint.File) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.best == nil {
		v.best, v.blind = v.knownBest()
	}
	if math.IsNaN(score) || score <= *v.best {
		return nil
	}
	o, err := checkpoint.EncodeBest(score, step, f)
	if err == nil {
		err = v.put(runner.BestName(v.a.Epoch), o)
	}
	if err != nil {
		return fmt.Errorf("best checkpoint: %w", err)
	}
	v.best = &score
	if v.blind {
		return nil // what could not be read may be better
	}
	if err := v.within(v.patience, v.cleanBest); err != nil && v.ctx.Err() == nil { // they only take room
		v.to.Note("what was the best checkpoint could not be removed: " + strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// cleanBest removes the best ones of earlier epochs, which are not any more.
func (v *vault) cleanBest(ctx context.Context) error {
	names, err := v.store.List(ctx)
	for _, name := range names {
		if epoch, ok := runner.BestEpoch(name); ok && epoch < v.a.Epoch {
			err = errors.Join(err, v.store.Delete(ctx, name))
		}
	}
	return err
}

// knownBest returns the score of the one that is there; one that cannot be read is none.
func (v *vault) knownBest() (best *float64, blind bool) {
	_, score, _, err := runner.FetchBest(v.ctx, v.store)
	if err != nil {
		score = math.Inf(-1)
	}
	return &score, err != nil && !errors.Is(err, checkpoint.ErrNone)
}
