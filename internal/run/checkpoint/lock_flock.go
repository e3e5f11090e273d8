//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package checkpoint

import (
	"errors"
	"os"
	"syscall"
)

// LocksShared says that other processes see a lock.
const LocksShared = true

// lockFile takes the lock on the file at path. The file is not inherited by programs this process
// starts, so an environment that outlives it does not keep the lock.
func lockFile(path string) (*os.File, func(), error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return nil, nil, err
	}
	for {
		err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		return file, func() {
			// Closing alone leaves it to a program that is just being started, for as long as that
			// has copies of all files.
			syscall.Flock(int(file.Fd()), syscall.LOCK_UN)
			file.Close()
		}, nil
	}
	file.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errHeld
	}
	return nil, nil, err
}
