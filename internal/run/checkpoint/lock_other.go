//go:build !(darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd || windows)

package checkpoint

import (
	"os"
	"path/filepath"
	"sync"
)

// LocksShared says that other processes see a lock.
const LocksShared = false

// held has the locks of this process; a lock that outlived a killed one would be worse than none.
var held sync.Map

func lockFile(path string) (*os.File, func(), error) {
	key, err := filepath.Abs(path)
	if err != nil {
		return nil, nil, err
	}
	if _, taken := held.LoadOrStore(key, true); taken {
		return nil, nil, errHeld
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		held.Delete(key)
		return nil, nil, err
	}
	return file, func() {
		file.Close()
		held.Delete(key)
	}, nil
}
