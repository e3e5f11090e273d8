package rl_test

import (
	"bytes"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/weft-rl/weft/rl"
)

// stored returns a scope whose stores live in a folder.
func stored(t *testing.T, dir string, limit int64) (*rl.Scope, *rl.Storage) {
	s, at := scope(t), &rl.Storage{Dir: dir, Limit: limit}
	rl.System.Store(s, at)
	return s.Shard(0, 1), at
}

// TestStorage: a ring in a file holds what one in memory does, over a checkpoint too; nothing of it
// is on the heap, and no file has a name.
func TestStorage(t *testing.T) {
	dir := t.TempDir()
	s, at := stored(t, dir, 0)
	const size, slots = 50_000, 200
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := s.Ring(slots, pictures(s, 0, 1, size))
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > size*slots/10 {
		t.Errorf("a ring in a file took %d bytes of the heap", n)
	}
	if at.Used() != size*slots {
		t.Errorf("%d bytes are used, want %d", at.Used(), size*slots)
	}
	memory := rl.NewRing(slots, pictures(s, 0, 1, size))
	for i := range 3 * slots / 50 {
		x := pictures(s, i, 50, size)
		r.Put(i*50%slots, x)
		memory.Put(i*50%slots, x)
	}
	st := rl.System.Viewing(rl.NewState(s))
	r.Save(st, "x", slots)
	back := rl.LoadRing(st, "x", slots)
	if at.Used() != 2*size*slots {
		t.Errorf("%d bytes are used by two rings, want %d", at.Used(), 2*size*slots)
	}
	want := rl.Read[uint8](memory.Tensor(s))
	for _, got := range []*rl.Ring{r, back} {
		if !bytes.Equal(rl.Read[uint8](got.Tensor(s)), want) {
			t.Error("a ring in a file differs from one in memory")
		}
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
		t.Errorf("the folder has %v, %v", files, err)
	}
}

// TestStorageLimit: a ring that would pass the limit is refused before anything is written.
func TestStorageLimit(t *testing.T) {
	s, at := stored(t, t.TempDir(), 1_000_000)
	s.Ring(9, pictures(s, 0, 1, 100_000))
	err := rl.Catch(func() error { s.Ring(2, pictures(s, 0, 1, 100_000)); return nil })
	if err == nil || !strings.Contains(err.Error(), "needs 200 kB on disk, and of the limit of 1 MB there are 100 kB left: raise --storage-limit") {
		t.Error(err)
	}
	if at.Used() != 900_000 {
		t.Errorf("%d bytes are used", at.Used())
	}
}

// TestDiskFull: a disk without room is an error when a ring is made, not a signal when it is
// written. Where no small disk can be mounted, the limit stands for it.
func TestDiskFull(t *testing.T) {
	dir, says := t.TempDir(), "no space left on device: choose another folder"
	limit := int64(0)
	if err := syscall.Mount("none", dir, "tmpfs", 0, "size=2m"); err == nil {
		t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	} else {
		limit, says = 2<<20, "raise --storage-limit"
	}
	s, at := stored(t, dir, limit)
	first := s.Ring(10, pictures(s, 0, 1, 100_000))
	first.Put(0, pictures(s, 1, 10, 100_000))
	err := rl.Catch(func() error { s.Ring(15, pictures(s, 0, 1, 100_000)); return nil })
	if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "\n") {
		t.Fatal(err)
	}
	if at.Used() != 1_000_000 {
		t.Errorf("%d bytes are used", at.Used())
	}
	if got := rl.Read[uint8](first.Tensor(s)); got[0] != 1 || got[999_999] != 10 {
		t.Error("what was there is lost")
	}
}

// TestStorageFolder: a folder that cannot be used is named.
func TestStorageFolder(t *testing.T) {
	s, _ := stored(t, "/dev/null/x", 0)
	err := rl.Catch(func() error { s.Ring(1, pictures(s, 0, 1, 10)); return nil })
	if err == nil || !strings.Contains(err.Error(), "10 bytes in /dev/null/x") {
		t.Error(err)
	}
}
