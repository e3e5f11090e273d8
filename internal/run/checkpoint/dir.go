package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
)

const (
	extension  = ".safetensors"
	stepPrefix = "step-"
	bestName   = "best" + extension
)

// A Dir is the folder of one run's checkpoints: the newest few, and the best one.
//
// Its methods may be called from several goroutines. Any number of processes may read a folder;
// only one may save into it, and Lock is how it makes sure of that.
type Dir struct {
	path string
	keep int
	disk disk

	mu sync.Mutex
	// seen remembers what checking a file has shown, so that pruning need not read it again.
	seen map[int64]verdict
	// best is the score of best.safetensors, once known.
	best *float64
	// bestSeen is the verdict on best.safetensors, of its blocks in particular.
	bestSeen verdict
	// blocks are the arrays in blocks of the checkpoint that was saved or read last.
	blocks map[string]*blocked
	// sound are blocks that have been checked or written.
	sound map[ref]bool
}

type verdict struct {
	info  fs.FileInfo
	good  bool
	files []string // files that hold its blocks
	// unsure is true of a file that could not be read, or not by this binary: it may
	// need blocks that nothing else does.
	unsure bool
}

// Open returns the checkpoints under path, of which Save keeps the newest keep, at least 1. It
// neither reads nor writes: the folder comes into being with the first Save.
func Open(path string, keep int) (*Dir, error) {
	if keep < 1 {
		return nil, fmt.Errorf("checkpoints in %s: at least 1 must be kept, not %d", path, keep)
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("checkpoints in %s: not a folder", path)
	}
	return &Dir{path: path, keep: keep, disk: osDisk{}, seen: map[int64]verdict{}, sound: map[ref]bool{}}, nil
}

// Save writes f as the checkpoint of a step, replacing one that is there, and then removes all but
// the newest good ones, and what crashes have left. Files that are no good checkpoints do not count
// among those kept. The one just written is always kept. If only the removing fails, the checkpoint
// is there and the error says so.
func (d *Dir) Save(step int64, f File) error {
	if err := validStep(step); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.seen, step)
	path := d.stepPath(step)
	if err := d.write(step, path, f, map[string]string{keyStep: formatStep(step)}); err != nil {
		return err
	}
	if info, err := os.Stat(path); err == nil {
		d.seen[step] = verdict{info: info, good: true, files: fileNames(d.blocks)}
	}
	if err := d.prune(step); err != nil {
		return fmt.Errorf("checkpoint of step %d is saved, but old ones could not be removed: %w", step, err)
	}
	return nil
}

// SaveOnly does what Save does, and removes all other checkpoints first but the best one. If it is
// interrupted there may be none.
func (d *Dir) SaveOnly(step int64, f File) error {
	d.mu.Lock()
	steps, _, _, err := d.list()
	for _, old := range steps {
		if err == nil && old != step {
			err = removeAny(d.disk, d.stepPath(old))
			delete(d.seen, old)
		}
	}
	d.mu.Unlock()
	if err != nil {
		return err
	}
	return d.Save(step, f)
}

func (d *Dir) write(step int64, path string, f File, own map[string]string) error {
	if err := makeDir(d.disk, d.path); err != nil {
		return named(path, err)
	}
	f, more, done, err := d.saveBlocks(step, f)
	if err != nil {
		return err
	}
	maps.Copy(own, more)
	if err := write(d.disk, path, f, own); err != nil {
		return err
	}
	done()
	return nil
}

// Latest returns the newest good checkpoint and its step. Newer files that had to be passed over
// are in skipped, newest first, each with its reason. If none is good the error is ErrNone.
func (d *Dir) Latest() (f File, step int64, skipped []error, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	// Another process may prune while we read. What it removes has a newer successor, so looking
	// again finds one.
	for range 100 {
		f, step, skipped, err = d.latest()
		if !errors.Is(err, errVanished) {
			break
		}
	}
	return f, step, skipped, err
}

var errVanished = errors.New("a checkpoint was removed while it was being read")

func (d *Dir) latest() (File, int64, []error, error) {
	steps, _, _, err := d.list()
	if err != nil {
		return File{}, 0, nil, err
	}
	var skipped []error
	for _, step := range steps {
		f, blocks, own, err := read(d.stepPath(step))
		if err == nil {
			err = d.checkStep(step, own)
		}
		if err == nil {
			err = d.checkBlocks(d.stepPath(step), blocks)
		}
		if err == nil {
			if d.blocks == nil {
				d.blocks = blocks
			}
			return f, step, skipped, nil
		}
		if d.vanished(step) {
			return File{}, 0, nil, fmt.Errorf("%s: %w", d.path, errVanished)
		}
		skipped = append(skipped, err)
	}
	return File{}, 0, skipped, fmt.Errorf("%s: %w", d.path, ErrNone)
}

func (d *Dir) vanished(step int64) bool {
	_, err := os.Lstat(d.stepPath(step))
	return errors.Is(err, fs.ErrNotExist)
}

// prune removes what Save need not keep. Temporary files are a dead writer's, since there is only
// one writer.
func (d *Dir) prune(saved int64) error {
	steps, temps, blocks, err := d.list()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range temps {
		errs = append(errs, removeAny(d.disk, filepath.Join(d.path, name)))
	}
	kept := 0
	for _, step := range steps {
		switch {
		case kept < d.keep:
			if d.good(step) {
				kept++
			}
		case step != saved:
			errs = append(errs, removeAny(d.disk, d.stepPath(step)))
			delete(d.seen, step)
		}
	}
	return errors.Join(append(errs, d.collect(blocks))...)
}

// good says whether a step's checkpoint is sound, reading it only if it has changed since that was
// last known.
func (d *Dir) good(step int64) bool {
	path := d.stepPath(step)
	info, err := os.Stat(path)
	if err != nil {
		return false
	}
	if v, ok := d.seen[step]; ok && unchanged(v.info, info) {
		return v.good
	}
	own, blocks, err := d.verify(path)
	if err == nil {
		err = d.checkStep(step, own)
	}
	d.seen[step] = verdict{info, err == nil, fileNames(blocks), unsure(err)}
	return err == nil
}

func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// checkStep compares the step in a checkpoint with the one in its name: a file renamed by hand is
// not what it seems.
func (d *Dir) checkStep(step int64, own map[string]string) error {
	if got := own[keyStep]; got != formatStep(step) {
		return named(d.stepPath(step), damaged("it holds step %q: it has been renamed", got))
	}
	return nil
}

// list returns the steps that have a file, newest first, and the names of temporary files and of
// block files.
func (d *Dir) list() (steps []int64, temps, blocks []string, err error) {
	files, err := os.ReadDir(d.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil, fmt.Errorf("checkpoints in %s: %w", d.path, err)
	}
	for _, file := range files {
		if file.IsDir() {
			continue
		}
		if step, ok := stepOf(file.Name()); ok {
			steps = append(steps, step)
		} else if isTemp(file.Name()) {
			temps = append(temps, file.Name())
		} else if isBlocks(file.Name()) {
			blocks = append(blocks, file.Name())
		}
	}
	slices.SortFunc(steps, func(a, b int64) int { return cmp.Compare(b, a) })
	return steps, temps, blocks, nil
}

// stepOf returns the step of a checkpoint's name. Only the name that Save would give counts, so
// that no step has two.
func stepOf(name string) (int64, bool) {
	digits := strings.TrimSuffix(strings.TrimPrefix(name, stepPrefix), extension)
	step, err := strconv.ParseInt(digits, 10, 64)
	return step, err == nil && step >= 0 && name == stepName(step)
}

func validStep(step int64) error {
	if step < 0 {
		return fmt.Errorf("checkpoint of step %d: steps are not negative", step)
	}
	return nil
}

func stepName(step int64) string { return fmt.Sprintf("%s%012d%s", stepPrefix, step, extension) }

func formatStep(step int64) string { return strconv.FormatInt(step, 10) }

func (d *Dir) stepPath(step int64) string { return filepath.Join(d.path, stepName(step)) }
