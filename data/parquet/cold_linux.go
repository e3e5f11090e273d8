package parquet

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A row of a mapped file that is not in memory is a page fault, which blocks the processor that the
// Go scheduler gave to the goroutine, and a batch is as many faults, one behind the other. So where
// rows are not in memory the kernel is told of all of them at once, and they are read by system
// calls, which the scheduler knows of.

// probes is the number of rows of a batch that are looked at. Where all of them are in memory the
// batch is copied as it lies.
const probes = 16

// pageSize is the unit in which the kernel keeps a file in memory.
var pageSize = uintptr(os.Getpagesize())

// cold reports whether rows of a column have to be read from the disk, and begins to read them.
func (f *File) cold(c *column, rows []int64) bool {
	missing := false
	for i := 0; i < len(rows) && !missing; i += max(1, len(rows)/probes) {
		missing = !resident(c.at(rows[i]))
	}
	if !missing {
		return false
	}
	fd := int(f.file.Fd())
	for _, r := range rows {
		at := c.at(r)
		_ = unix.Fadvise(fd, f.offset(at), int64(len(at)), unix.FADV_WILLNEED) // a hint
	}
	return true
}

// resident reports whether the first page of some bytes of a mapping is in memory.
func resident(b []byte) bool {
	page := uintptr(unsafe.Pointer(&b[0])) &^ (pageSize - 1)
	var in byte
	_, _, errno := unix.Syscall(unix.SYS_MINCORE, page, pageSize, uintptr(unsafe.Pointer(&in)))
	return errno != 0 || in&1 == 1
}
