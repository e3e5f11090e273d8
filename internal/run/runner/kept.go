package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/store"
)

// kept are the checkpoints of a run's folder: those that single processes wrote, and,
// of a run that a cluster had, the one that was committed there, wherever it is. The
// one with more steps counts.
type kept struct {
	*checkpoint.Dir
	run string // folder
	ctx context.Context

	note string // how a cluster's checkpoint was found, once it was

	asked bool     // the score of a cluster's best was asked for
	beat  *float64 // score of a cluster's best checkpoint, if there is one
}

// openKept opens the checkpoints of a run's folder. Reading those of a store ends with ctx.
func openKept(ctx context.Context, run string, keep int) (*kept, error) {
	dir, err := checkpoint.Open(checkpoints(run), keep)
	return &kept{Dir: dir, run: run, ctx: ctx}, err
}

// fetching is how long a store may take to give a checkpoint.
const fetching = 10 * time.Minute

// Latest implements Vault. A cluster's checkpoint that cannot be had is no reason to go
// on from an older one, or from the beginning.
func (k *kept) Latest() (f checkpoint.File, step int64, skipped []error, err error) {
	c, err := Committed(k.ctx, k.run, "")
	if err != nil {
		return f, 0, nil, err
	}
	f, step, skipped, err = k.Dir.Latest()
	skipped = append(skipped, c.Skipped...)
	if c.Last == nil || err == nil && (step > c.Last.Step || step == c.Last.Step && !(c.Last.Evaluated && f.Meta["evaluated"] != fmt.Sprint(step))) {
		return f, step, skipped, err
	}
	none := errors.Is(err, checkpoint.ErrNone)
	if err != nil && !none {
		return f, 0, nil, err
	}
	k.note = c.Note
	f, err = k.fetch(c.Committed)
	lost := errors.Is(err, store.ErrNone) || errors.Is(err, checkpoint.ErrDamaged)
	switch {
	case lost && none:
		return f, 0, append(skipped, err), checkpoint.ErrNone
	case lost:
		err = fmt.Errorf("%w; to go on from the older checkpoint of step %d instead, remove committed.json", err, step)
	}
	return f, c.Last.Step, skipped, err
}

// fetch reads the committed checkpoint.
func (k *kept) fetch(c part.Committed) (f checkpoint.File, err error) {
	ctx, cancel := context.WithTimeout(k.ctx, fetching)
	defer cancel()
	s, err := k.store(c)
	if err == nil {
		f, err = Fetch(ctx, s, *c.Last)
	}
	if err == nil {
		f.Meta["recorded"] = fmt.Sprint(c.Last.Record)
	}
	return f, err
}

// Place returns the store that a cluster's checkpoint of a run is in: beside the run's other
// files, wherever these are now, or where the cluster said.
func Place(run string, c part.Committed) string {
	if c.Last != nil && c.Last.Place != "" {
		if _, err := os.Stat(filepath.Join(run, c.Last.Object)); err != nil {
			return c.Last.Place
		}
	}
	return filepath.Dir(run)
}

func (k *kept) store(c part.Committed) (store.Store, error) {
	run, err := filepath.Abs(k.run)
	if err != nil {
		return nil, err
	}
	s, err := store.Open(Place(run, c))
	if err != nil {
		return nil, err
	}
	return s.Under(filepath.Base(run)), nil
}

// Fetch reads a committed checkpoint, in full and as it was committed, from its run's
// store.
func Fetch(ctx context.Context, s store.Store, m part.Manifest) (checkpoint.File, error) {
	r, size, err := s.Get(ctx, m.Object)
	if err != nil {
		return checkpoint.File{}, fmt.Errorf("checkpoint of step %d: %w", m.Step, err)
	}
	defer r.Close()
	if size != m.Size {
		return checkpoint.File{}, fmt.Errorf("checkpoint %s has %d bytes, not %d as when it was committed: %w", m.Object, size, m.Size, checkpoint.ErrDamaged)
	}
	f, step, err := checkpoint.Decode(r, size, m.SHA256)
	if err == nil && step != m.Step {
		err = fmt.Errorf("it is of step %d, not %d", step, m.Step)
	}
	if err != nil {
		return checkpoint.File{}, fmt.Errorf("checkpoint %s: %w", m.Object, err)
	}
	return f, nil
}

// elsewhere returns the best checkpoint that a cluster had.
func (k *kept) elsewhere() (f checkpoint.File, score float64, step int64, err error) {
	c, err := part.ReadCommitted(k.run)
	if err == nil && c.Last == nil && !part.HasObjects(k.run) {
		err = checkpoint.ErrNone
	}
	if err != nil {
		return f, 0, 0, err
	}
	s, err := k.store(c) // in the run's folder, if committed.json is missing
	if err != nil {
		return f, 0, 0, err
	}
	ctx, cancel := context.WithTimeout(k.ctx, fetching)
	defer cancel()
	return FetchBest(ctx, s)
}

// Best returns the best checkpoint, its score and its step.
func (k *kept) Best() (checkpoint.File, float64, int64, error) {
	f, score, step, err := k.Dir.Best()
	f2, score2, step2, err2 := k.elsewhere()
	if err2 == nil && (err != nil || score2 > score) || errors.Is(err, checkpoint.ErrNone) && !errors.Is(err2, checkpoint.ErrNone) {
		return f2, score2, step2, err2
	}
	return f, score, step, err
}

// SaveBest implements Vault.
func (k *kept) SaveBest(score float64, step int64, f checkpoint.File) error {
	if !k.asked {
		k.asked = true
		if _, known, _, err := k.elsewhere(); err == nil { // one that cannot be read is none
			k.beat = &known
		}
	}
	if k.beat != nil && score <= *k.beat {
		return nil
	}
	return k.Dir.SaveBest(score, step, f)
}

// Newest returns the checkpoint that a run's folder goes on from, and what was passed over.
func Newest(ctx context.Context, run string) (f checkpoint.File, step int64, skipped []error, err error) {
	k, err := openKept(ctx, run, 1)
	if err != nil {
		return f, 0, nil, err
	}
	return k.Latest()
}

// NewestOrBegin does what Newest does, for a run that may have none, because it has not begun yet
// or because it is to begin again: then the step is -1. Otherwise the error is NoCheckpoint.
func NewestOrBegin(ctx context.Context, run string, begin bool) (f checkpoint.File, step int64, skipped []error, err error) {
	f, step, skipped, err = Newest(ctx, run)
	if errors.Is(err, checkpoint.ErrNone) {
		if err = nothing(run, skipped); err == nil || begin {
			return f, -1, skipped, nil
		}
		return f, 0, nil, err
	}
	if err != nil {
		err = fmt.Errorf("run %s: %w", run, err)
	}
	return f, step, skipped, err
}

// Best returns the best checkpoint of a run's folder, its score and its step.
func Best(ctx context.Context, run string) (f checkpoint.File, score float64, step int64, err error) {
	k, err := openKept(ctx, run, 1)
	if err != nil {
		return f, 0, 0, err
	}
	return k.Best()
}
