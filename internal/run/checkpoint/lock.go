package checkpoint

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"
)

// LockName is the file in a locked folder that has the lock.
const LockName = ".lock"

// errHeld is returned by lockFile when another process has the lock.
var errHeld = errors.New("held")

// Lock makes this process the only one that trains into dir, which it creates if need be, until
// release is called or the process ends in whatever way: the lock is the kernel's, not the file's
// existence, so none is ever left behind. If another has it the error is ErrLocked and names that
// process. A file system without locks gives errors.ErrUnsupported; it is the caller's choice to go
// on. Where the operating system has no such locks (neither Unix nor Windows), only this process's
// own are seen.
func Lock(dir string) (release func(), err error) {
	if err := makeDir(osDisk{}, dir); err != nil {
		return nil, fmt.Errorf("lock run folder %s: %w", dir, err)
	}
	path := filepath.Join(dir, LockName)
	file, unlock, err := lockFile(path)
	if errors.Is(err, errHeld) {
		return nil, faultf(ErrLocked, "run folder %s: in use by %s: wait for it to end or train into another folder", dir, holder(path))
	}
	if err != nil {
		return nil, fmt.Errorf("lock run folder %s: %w", dir, err)
	}
	// The number only serves the message above: a full disk is no reason not to have the lock.
	if file.Truncate(0) == nil {
		file.WriteAt(strconv.AppendInt(nil, int64(os.Getpid()), 10), 0)
	}
	// The file stays: removing it would let one process lock the old file and another the new.
	return sync.OnceFunc(func() {
		file.Truncate(0)
		unlock()
	}), nil
}

// ending is how long a process that was told to end, or killed, may take to be gone.
const ending = 3 * time.Second

// LockSoon does what Lock does, but waits a moment for a previous holder that was just killed.
func LockSoon(dir string) (release func(), err error) {
	for limit := time.Now().Add(ending); ; time.Sleep(50 * time.Millisecond) {
		release, err = Lock(dir)
		if !errors.Is(err, ErrLocked) || time.Now().After(limit) {
			return release, err
		}
	}
}

// holder names the process that has the lock, as far as it has got to writing its number.
func holder(path string) string {
	text, _ := os.ReadFile(path)
	pid, err := strconv.Atoi(string(bytes.TrimSpace(text)))
	if err != nil {
		return "another process"
	}
	return fmt.Sprintf("process %d", pid)
}
