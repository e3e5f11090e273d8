// Package scratch makes temporary folders that do not outlive their processes for
// long: what one that was killed has left, the next one removes.
package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/weft-rl/weft/internal/run/checkpoint"
)

// Folder is a temporary folder that this process holds.
type Folder struct {
	Path    string
	release func()
}

// unheld is what a folder is called until it is held: nobody sweeps it before.
const unheld = "weft-new-"

// New makes a folder under the system's for temporary files, whose name begins with a
// prefix, and removes those of the same prefix that nobody holds any more. It is this
// user's alone.
func New(prefix string) (*Folder, error) {
	Sweep(prefix)
	path, err := os.MkdirTemp("", unheld)
	if err != nil {
		return nil, err
	}
	release, err := checkpoint.Lock(path)
	switch {
	case errors.Is(err, errors.ErrUnsupported): // then it is not swept either
		release, err = func() {}, nil
	case err != nil:
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	final := filepath.Join(filepath.Dir(path), prefix+strings.TrimPrefix(filepath.Base(path), unheld))
	if err := os.Rename(path, final); err != nil {
		release()
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &Folder{Path: final, release: release}, nil
}

// Remove removes the folder with all that is in it.
func (f *Folder) Remove() error {
	f.release()
	return os.RemoveAll(f.Path)
}

// Sweep removes this user's folders of a prefix whose process is gone. What it cannot
// remove only takes room.
func Sweep(prefix string) {
	if !checkpoint.LocksShared {
		return
	}
	all, _ := os.ReadDir(os.TempDir())
	for _, x := range all {
		path := filepath.Join(os.TempDir(), x.Name())
		if !strings.HasPrefix(x.Name(), prefix) || !ours(path) {
			continue
		}
		if release, err := checkpoint.Lock(path); err == nil {
			release()
			_ = os.RemoveAll(path)
		}
	}
}

// ours reports whether a folder is one that New made for this user. In a folder that
// others can write to, nothing else is touched.
func ours(path string) bool {
	info, err := os.Lstat(path)
	if err != nil || !info.IsDir() || !owned(info) {
		return false
	}
	lock, err := os.Lstat(filepath.Join(path, checkpoint.LockName))
	return err == nil && lock.Mode().IsRegular()
}
