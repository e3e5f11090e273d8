package checkpoint

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path/filepath"
	"strconv"
)

// SaveBest writes f as the run's best checkpoint if score is higher than that of the one there. NaN
// never is. A best checkpoint that is damaged or not ours is replaced; one that cannot be read for
// another reason is an error.
func (d *Dir) SaveBest(score float64, step int64, f File) error {
	if err := validStep(step); err != nil || math.IsNaN(score) {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.knowBest(); err != nil {
		return err
	}
	if d.best != nil && score <= *d.best {
		return nil
	}
	own := map[string]string{keyStep: formatStep(step), keyScore: strconv.FormatFloat(score, 'g', -1, 64)}
	if err := d.write(step, d.bestPath(), f, own); err != nil {
		d.best = nil // the new one may or may not have taken the name
		return err
	}
	d.best = &score
	return nil
}

// knowBest finds the score to beat, if there is one and it is not known yet.
func (d *Dir) knowBest() error {
	if d.best != nil {
		return nil
	}
	own, _, err := d.verify(d.bestPath())
	switch {
	case err == nil:
		score, _, err := d.parseBest(own)
		if err == nil {
			d.best = &score
		}
		return nil
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, ErrDamaged), errors.Is(err, ErrForeign):
		return nil
	}
	return err
}

// Best returns the run's best checkpoint, its score and its step, or ErrNone.
func (d *Dir) Best() (f File, score float64, step int64, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	f, _, own, err := read(d.bestPath())
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%s: no best one: %w", d.path, ErrNone)
	}
	if err == nil {
		score, step, err = d.parseBest(own)
	}
	if err != nil {
		return File{}, 0, 0, err
	}
	return f, score, step, nil
}

func (d *Dir) parseBest(own map[string]string) (score float64, step int64, err error) {
	score, err = strconv.ParseFloat(own[keyScore], 64)
	if err == nil {
		step, err = strconv.ParseInt(own[keyStep], 10, 64)
	}
	if err != nil {
		return 0, 0, named(d.bestPath(), damaged("it has no score and step: it was not written as the best"))
	}
	return score, step, nil
}

func (d *Dir) bestPath() string { return filepath.Join(d.path, bestName) }
