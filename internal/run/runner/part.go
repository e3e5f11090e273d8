package runner

import (
	"context"
	"errors"
	"fmt"

	"github.com/weft-rl/weft/edge"
	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/phase"
	"github.com/weft-rl/weft/plan"
	"github.com/weft-rl/weft/rl"
)

// Part holds the differences of a run on several processes, for one of them.
type Part struct {
	// Here says which replicas are this process's.
	Here func(plan.Replica) bool
	// Abort ends it at once, and leaves nothing but what Vault was given.
	Abort context.Context
	// Stop, which ends with Abort at the latest, ends it at the next consistent point, where
	// the run is saved.
	Stop context.Context
	// Life is how many processes had this part before and were lost.
	Life  int64
	Vault Vault        // keeps checkpoints, in place of a folder
	Sink  metrics.Sink // receives metrics, instead of files; nil in a process that does not decide
}

// Vault is where checkpoints are kept. A checkpoint.Dir is one.
type Vault interface {
	// Latest is the state to go on from, its step, and what was passed over.
	Latest() (f checkpoint.File, step int64, skipped []error, err error)
	// Save keeps the state of a step. It is not called again before it has returned.
	Save(step int64, f checkpoint.File) error
	// SaveBest keeps a state if its score is the highest so far.
	SaveBest(score float64, step int64, f checkpoint.File) error
}

// Follower is a process's part of a run that another process decides about: it has
// replicas to run, and neither checkpoints nor metrics of its own.
type Follower struct {
	*assembly
	closed bool
}

// Follow prepares such a part.
func Follow(j Job) (*Follower, error) {
	j = j.withDefaults()
	a, err := assemble(j, nil, nil)
	if err != nil {
		return nil, err
	}
	f := &Follower{assembly: a}
	if j.From != "" && !j.Resume {
		err = a.start(j)
	}
	if j.Resume {
		end := phase.Begin(j.Trace, phaseRecover)
		err = f.load(j)
		end(err)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// load takes over what the run goes on from.
func (f *Follower) load(j Job) error {
	if !f.exact && !j.RestartEpisodes && f.world.Life == 0 { // which begins new episodes anyway
		return ErrNotExact
	}
	file, step, _, err := j.Part.Vault.Latest()
	if err != nil {
		return err
	}
	return f.restore(file, step)
}

// Train runs the part to its end.
func (f *Follower) Train(ctx context.Context) error {
	return errors.Join(f.world.Train(ctx), f.Close())
}

// Close gives back what the part's environments hold. Train does it at its end.
func (f *Follower) Close() error {
	if f.closed {
		return nil
	}
	f.closed = true
	return f.world.Close()
}

// Links returns the links of the process's replicas, to be joined with those of other processes.
func (a *assembly) Links() *edge.Local { return a.world.Links() }

// restore gives every replica its part of a checkpoint.
func (a *assembly) restore(f checkpoint.File, step int64) error {
	fill := func(scope *rl.Scope) (*rl.State, error) {
		st, err := state(scope, f)
		if err == nil && !a.exact {
			st = rl.System.Restarting(st)
		}
		return st, err
	}
	load := func() error { return a.world.Load(fill) }
	if a.world.Life > 0 {
		load = func() error { return a.world.Rejoin(fill, step) }
	}
	if err := rl.Catch(load); err != nil {
		return fmt.Errorf("checkpoint of step %d: %w", step, err)
	}
	return nil
}
