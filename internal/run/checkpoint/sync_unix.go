//go:build unix

package checkpoint

import (
	"errors"
	"os"
	"syscall"
)

// syncDir puts a folder's names on disk. Some network and user-space file systems know no such
// thing and say so; there is nothing more to be done on them.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = dir.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}
