//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package checkpoint

import (
	"path/filepath"
	"syscall"
	"testing"
)

// A lock that is released is free, though a process that is being started may have
// a copy of its file.
func TestUnlockCopied(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	file, unlock, err := lockFile(path)
	if err != nil {
		t.Fatal(err)
	}
	same, err := syscall.Dup(int(file.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(same)
	unlock()
	_, unlock, err = lockFile(path)
	if err != nil {
		t.Fatalf("it is still locked: %v", err)
	}
	unlock()
}
