//go:build unix

package parquet

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps a file into memory, for reading.
func mapFile(f *os.File) (mapped []byte, unmap func() error, err error) {
	s, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	if s.Size() == 0 {
		return nil, nil, errors.New("the file is empty")
	}
	mapped, err = unix.Mmap(int(f.Fd()), 0, int(s.Size()), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	_ = unix.Madvise(mapped, unix.MADV_RANDOM) // rows are drawn at random
	return mapped, func() error { return unix.Munmap(mapped) }, nil
}
