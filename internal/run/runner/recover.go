package runner

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/run/checkpoint"
	"github.com/weft-rl/weft/internal/run/part"
	"github.com/weft-rl/weft/internal/run/store"
)

const objectSuffix = ".safetensors"

// ObjectName returns the name of a step's checkpoint in a store. It has a part of the sum, because
// a step may be saved twice: when it was reached, and when it was evaluated.
func ObjectName(epoch, step int64, sha256 string) string {
	return fmt.Sprintf("step-%012d.epoch-%d.%.16s%s", step, epoch, sha256, objectSuffix)
}

// ParseObject returns the epoch that wrote an object and its step; ok is false if the name is not
// one that ObjectName gives.
func ParseObject(name string) (epoch, step int64, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) != 4 || "."+parts[3] != objectSuffix {
		return 0, 0, false
	}
	digits, isStep := strings.CutPrefix(parts[0], "step-")
	number, isEpoch := strings.CutPrefix(parts[1], "epoch-")
	step, err1 := strconv.ParseInt(digits, 10, 64)
	epoch, err2 := strconv.ParseInt(number, 10, 64)
	return epoch, step, isStep && isEpoch && err1 == nil && err2 == nil
}

// Found is the committed checkpoint of a run's folder.
type Found struct {
	part.Committed
	Note    string  // how the checkpoint was found, for the user; "" if committed.json names it
	Skipped []error // objects that were passed over
}

// Committed returns what committed.json of a run's folder says. If that file is missing, Committed
// looks for the checkpoint that it would name: the newest good one among the objects of the run at
// place, by default those in the folder itself. An object of a step that the record does not reach
// was not committed, and counts only if there is no record. Committed writes nothing.
func Committed(ctx context.Context, run, place string) (Found, error) {
	c, err := part.ReadCommitted(run)
	if err != nil || c.Last != nil {
		return Found{Committed: c}, err
	}
	run, err = filepath.Abs(run)
	if err != nil {
		return Found{}, err
	}
	if place == "" && !part.HasObjects(run) { // no cluster had it
		return Found{Committed: c}, nil
	}
	if place = cmp.Or(place, filepath.Dir(run)); place != filepath.Dir(run) {
		if place, err = store.Absolute(place); err != nil {
			return Found{}, err
		}
	}
	all, err := store.Open(place)
	if err != nil {
		return Found{}, err
	}
	reach, err := recorded(run)
	if err != nil {
		return Found{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, fetching)
	defer cancel()
	f, err := uncommitted(ctx, all.Under(filepath.Base(run)), reach)
	if f.Epoch = max(f.Epoch, c.Epoch); f.Last != nil {
		f.Last.Place, f.Shards = place, c.Shards
		f.Note = fmt.Sprintf("committed.json is missing: going on from %s, the newest good checkpoint in %s", f.Last.Object, place)
	}
	return f, err
}

// recorded returns the last step of a run's record, and the highest there is if it has none.
func recorded(run string) (int64, error) {
	rows, err := metrics.ReadJSONL(filepath.Join(run, recordFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(rows) == 0 {
		return math.MaxInt64, nil
	}
	if err != nil {
		return 0, err
	}
	return rows[len(rows)-1].Step, nil
}

// uncommitted finds the newest good checkpoint of a store up to a step: that of the latest epoch
// with the most steps.
func uncommitted(ctx context.Context, s store.Store, reach int64) (out Found, err error) {
	names, err := s.List(ctx)
	if err != nil {
		return out, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		epoch, step, ok := ParseObject(name)
		if ok {
			out.Epoch = max(out.Epoch, epoch)
		}
		return !ok || step > reach
	})
	slices.SortFunc(names, func(a, b string) int {
		epochA, stepA, _ := ParseObject(a)
		epochB, stepB, _ := ParseObject(b)
		return cmp.Or(cmp.Compare(epochB, epochA), cmp.Compare(stepB, stepA), cmp.Compare(b, a))
	})
	for _, name := range names {
		m, err := manifest(ctx, s, name)
		if err == nil {
			out.Last = &m
			return out, nil
		}
		if !errors.Is(err, checkpoint.ErrDamaged) && !errors.Is(err, checkpoint.ErrForeign) && !errors.Is(err, checkpoint.ErrVersion) {
			return out, err
		}
		out.Skipped = append(out.Skipped, fmt.Errorf("checkpoint %s: %w", name, err))
	}
	return out, nil
}

// manifest reads an object in full, and returns the manifest that it was committed with.
func manifest(ctx context.Context, s store.Store, name string) (m part.Manifest, err error) {
	r, size, err := s.Get(ctx, name)
	if err != nil {
		return m, err
	}
	defer r.Close()
	sum := sha256.New()
	f, step, err := checkpoint.Decode(io.TeeReader(r, sum), size, "")
	if err != nil {
		return m, err
	}
	epoch, named, _ := ParseObject(name)
	if step != named {
		return m, fmt.Errorf("%w: it holds step %d: it has been renamed", checkpoint.ErrDamaged, step)
	}
	return part.Manifest{
		Epoch: epoch, Step: step, Object: name, Size: size, SHA256: hex.EncodeToString(sum.Sum(nil)),
		Evaluated: f.Meta["evaluated"] == fmt.Sprint(step),
	}, nil
}

// NoCheckpoint is the error of a run that has left something and no good checkpoint to go on from.
type NoCheckpoint struct {
	Dir    string
	Lines  int     // lines of its record
	Damage []error // checkpoints that were passed over
}

func (e NoCheckpoint) Error() string {
	text := fmt.Sprintf("run %s has no good checkpoint to go on from", e.Dir)
	for i, x := range e.Damage {
		text += map[bool]string{true: " (", false: "; "}[i == 0] + x.Error()
	}
	if len(e.Damage) > 0 {
		text += ")"
	}
	if e.Lines > 0 {
		text += fmt.Sprintf(", and its record has %d line%s", e.Lines, map[bool]string{true: "s"}[e.Lines > 1])
	}
	return text
}

func (e NoCheckpoint) Unwrap() error { return checkpoint.ErrNone }

// nothing returns why a run without a good checkpoint cannot go on; nil if it has not begun yet.
func nothing(dir string, skipped []error) error {
	t, err := part.ReadTraces(dir)
	if err != nil {
		return err
	}
	if t.None() && len(skipped) == 0 {
		return nil
	}
	return NoCheckpoint{Dir: dir, Lines: t.Lines, Damage: skipped}
}
