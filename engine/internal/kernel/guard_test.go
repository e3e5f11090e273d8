//go:build unix

package kernel

import (
	"syscall"
	"testing"
	"unsafe"
)

// guarded gives n elements that end (or, with front, begin) exactly at a page that faults when
// touched.
func guarded[T any](tb testing.TB, n int, front bool) []T {
	tb.Helper()
	page := syscall.Getpagesize()
	var zero T
	size := n * int(unsafe.Sizeof(zero))
	body := (size + page - 1) / page * page
	mem, err := syscall.Mmap(-1, 0, body+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = syscall.Munmap(mem) })
	for _, guard := range [][]byte{mem[:page], mem[page+body:]} {
		if err := syscall.Mprotect(guard, syscall.PROT_NONE); err != nil {
			tb.Fatal(err)
		}
	}
	at := page + body - size
	if front {
		at = page
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&mem[at])), n)[:n:n]
}
