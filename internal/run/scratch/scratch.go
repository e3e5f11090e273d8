// Package scratch makes temporary folders that do not outlive their processes for
// long: what one that was killed has left, the next one removes.
package scratch

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
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

const (
	// unheld is the prefix of a folder's name until its lock is held. Such folders are not swept.
	unheld = "weft-new-"
	// gone begins the name that a folder gets once nobody needs it: nobody looks for its lock
	// there, which would put a file into a folder that is being removed.
	gone = "weft-gone-"
)

// New makes a folder under the system's for temporary files, whose name begins with a prefix, and
// removes folders with the same prefix whose process is gone. Only this user can access it.
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
	return remove(f.Path)
}

// remove removes a folder that nobody holds. Others may do the same at the same time, each by a
// name of its own: who looks for a lock where there is no folder any more makes one, and removes
// it.
func remove(path string) error {
	away := filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%s-%x", gone, filepath.Base(path), rand.Uint64()))
	switch err := os.Rename(path, away); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return os.RemoveAll(away)
}

// Sweep removes this user's folders of a prefix whose process is gone. What it cannot
// remove only takes room.
func Sweep(prefix string) {
	all, _ := os.ReadDir(os.TempDir())
	for _, x := range all {
		path := filepath.Join(os.TempDir(), x.Name())
		switch {
		case strings.HasPrefix(x.Name(), gone+prefix) && ours(path): // by a process that was killed meanwhile, or does so now
			_ = os.RemoveAll(path)
		case checkpoint.LocksShared && strings.HasPrefix(x.Name(), prefix) && ours(path) && locked(path):
			if release, err := checkpoint.Lock(path); err == nil {
				release()
				_ = remove(path)
			}
		}
	}
}

// ours reports whether a folder is this user's. In a folder that others can write to, nothing else
// is touched.
func ours(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir() && owned(info)
}

// locked reports whether a folder has a lock, as those have that New made.
func locked(path string) bool {
	lock, err := os.Lstat(filepath.Join(path, checkpoint.LockName))
	return err == nil && lock.Mode().IsRegular()
}
