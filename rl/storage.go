package rl

import (
	"fmt"
	"runtime"
	"sync"
	"unsafe"

	"github.com/gomlx/compute/dtypes"
)

// Storage is a folder whose files hold the rings of a run's stores, mapped into memory.
// A file has no name: it is gone with the process, however that ends, and a run that is
// resumed fills new ones from its checkpoint.
type Storage struct {
	Dir   string
	Limit int64 // bytes of all files together; 0 is what the disk has

	mu   sync.Mutex
	used int64
}

// Store puts the rings of stores that are made in s, and in scopes made from s, into a storage; nil
// is memory.
func (system) Store(s *Scope, at *Storage) { s.storage = at }

// Used returns the bytes that rings have in files.
func (at *Storage) Used() int64 {
	at.mu.Lock()
	defer at.mu.Unlock()
	return at.used
}

// Room fails if rings that take so many bytes in all would pass the storage's limit, so
// that a store that cannot be whole is not begun.
func (s *Scope) Room(bytes int64) {
	if s.storage != nil {
		check(s.storage.reserve(bytes))
		s.storage.give(bytes)
	}
}

// memory returns the memory of a ring of n elements, as a slice and as bytes.
func (at *Storage) memory(r *Ring, t dtypes.DType, n int) (flat any, bytes []byte) {
	if at == nil || n == 0 {
		flat = dtypes.MakeAnySlice(t, n)
		return flat, dtypes.UnsafeByteSliceFromAny(flat)
	}
	size := int64(n) * int64(t.Size())
	check(at.reserve(size))
	bytes, err := mapFile(at.Dir, size)
	if err != nil {
		at.give(size)
		failf("a store needs %s in %s: %w: choose another folder (--storage disk:DIR), keep fewer rows, or free some space", Bytes(size), at.Dir, err)
	}
	// The cleanup must not refer to the ring.
	runtime.AddCleanup(r, func(bytes []byte) {
		unmapFile(bytes)
		at.give(int64(len(bytes)))
	}, bytes)
	return dtypes.UnsafeAnySliceFromBytes(unsafe.Pointer(&bytes[0]), t, n), bytes
}

// reserve counts bytes, unless that would pass the limit.
func (at *Storage) reserve(size int64) error {
	at.mu.Lock()
	defer at.mu.Unlock()
	if at.Limit > 0 && at.used+size > at.Limit {
		return fmt.Errorf("a store needs %s on disk, and of the limit of %s there are %s left: raise --storage-limit or keep fewer rows",
			Bytes(size), Bytes(at.Limit), Bytes(at.Limit-at.used))
	}
	at.used += size
	return nil
}

func (at *Storage) give(size int64) {
	at.mu.Lock()
	defer at.mu.Unlock()
	at.used -= size
}

// Bytes returns a number of bytes for people to read.
func Bytes(n int64) string {
	x, unit := float64(n), 0
	for ; x >= 999.5 && unit < 4; unit++ {
		x /= 1000
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.3g %cB", x, " kMGT"[unit])
}
