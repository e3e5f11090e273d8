package engine

import (
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// core returns the core that the caller's thread runs on now.
func core() int {
	var c uint32
	if _, _, no := unix.RawSyscall(unix.SYS_GETCPU, uintptr(unsafe.Pointer(&c)), 0, 0); no != 0 {
		return -1
	}
	return int(c)
}

// leave moves the caller's thread from a core to another one that it may use, if there is one. It
// may come back: nothing is pinned.
func leave(core int) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var all unix.CPUSet
	if err := unix.SchedGetaffinity(0, &all); err != nil {
		return
	}
	others := all
	others.Clear(core)
	if others.Count() == 0 || unix.SchedSetaffinity(0, &others) != nil {
		return
	}
	_ = unix.SchedSetaffinity(0, &all) // which it had, so it may have it
}
