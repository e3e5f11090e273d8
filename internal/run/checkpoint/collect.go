package checkpoint

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// verify checks a checkpoint in full, its blocks too, without keeping its data.
func (d *Dir) verify(path string) (own map[string]string, blocks map[string]*blocked, err error) {
	own, err = verify(path)
	if _, ok := own[keyBlocks]; !ok || err != nil {
		return own, nil, err
	}
	if _, blocks, own, err = read(path); err == nil {
		err = d.checkBlocks(path, blocks)
	}
	return own, blocks, err
}

// checkBlocks reads the blocks of a checkpoint that have not been checked yet.
func (d *Dir) checkBlocks(path string, blocks map[string]*blocked) error {
	files := &blockFiles{dir: d.path, open: map[string]*os.File{}}
	defer files.close()
	buf := make([]byte, blockSize)
	for _, b := range blocks {
		for i, r := range b.refs {
			if d.sound[r] {
				if _, err := files.file(r.file); err == nil {
					continue
				}
			}
			if err := files.read(r, buf[:b.length(i)]); err != nil {
				return named(path, err)
			}
			d.sound[r] = true
		}
	}
	return nil
}

func (f *blockFiles) close() {
	for _, file := range f.open {
		file.Close()
	}
}

// collect removes the block files, of those that are there, which no checkpoint needs.
// It removes none while there is a checkpoint of which that is not known.
func (d *Dir) collect(there []string) error {
	if len(there) == 0 {
		return nil
	}
	needed := map[string]bool{}
	steps, _, _, err := d.list()
	if err != nil {
		return err
	}
	for _, step := range steps {
		d.good(step)
		if d.seen[step].unsure {
			return nil
		}
		for _, name := range d.seen[step].files {
			needed[name] = true
		}
	}
	d.lookBest()
	if d.bestSeen.unsure {
		return nil
	}
	for _, name := range d.bestSeen.files {
		needed[name] = true
	}
	var errs []error
	for _, name := range there {
		if !needed[name] {
			errs = append(errs, removeAny(d.disk, filepath.Join(d.path, name)))
		}
	}
	maps.DeleteFunc(d.sound, func(r ref, _ bool) bool { return !needed[r.file] })
	return errors.Join(errs...)
}

// lookBest finds out which block files the best checkpoint needs, if it has changed.
func (d *Dir) lookBest() {
	info, err := os.Stat(d.bestPath())
	if err != nil {
		d.bestSeen = verdict{unsure: unsure(err)}
		return
	}
	if d.bestSeen.info != nil && unchanged(d.bestSeen.info, info) {
		return
	}
	_, blocks, _, err := read(d.bestPath())
	d.bestSeen = verdict{info: info, good: err == nil, files: fileNames(blocks), unsure: unsure(err)}
}

// unsure reports whether an error leaves open what a checkpoint needs.
func unsure(err error) bool {
	return err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrForeign) && !errors.Is(err, fs.ErrNotExist)
}

// fileNames returns the files that blocks are in, sorted.
func fileNames(blocks map[string]*blocked) []string { return slices.Sorted(maps.Keys(filesOf(blocks))) }

// isBlocks reports whether a file of this name is a block file.
func isBlocks(name string) bool {
	return strings.HasPrefix(name, stepPrefix) && strings.HasSuffix(name, blockExtension)
}
