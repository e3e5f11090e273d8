package rl

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// mapFile maps a new file of size bytes in a folder. The file's blocks are allocated
// before they are mapped, so that a full disk is an error here and not a signal later.
// The file has lost its name when mapFile returns.
func mapFile(dir string, size int64) ([]byte, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	file, err := os.CreateTemp(dir, ".weft-store-*")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if err := os.Remove(file.Name()); err != nil {
		return nil, err
	}
	if err := allocate(file, size); err != nil {
		return nil, err
	}
	return syscall.Mmap(int(file.Fd()), 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
}

// allocate makes the file size bytes long, with blocks behind all of them.
func allocate(file *os.File, size int64) error {
	for {
		err := syscall.Fallocate(int(file.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EOPNOTSUPP), errors.Is(err, syscall.ENOSYS):
			return fmt.Errorf("the file system cannot reserve space (%w): choose another folder for replays", err)
		}
		return err
	}
}

func unmapFile(bytes []byte) { syscall.Munmap(bytes) }
