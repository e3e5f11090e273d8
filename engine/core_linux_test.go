package engine

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// A thread that leaves its core runs on another one, and may use all that it might before.
func TestLeave(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		t.Fatal(err)
	}
	left := false
	for range 100 { // the kernel may bring it back before it is seen
		was := core()
		leave(was)
		left = left || core() != was
	}
	if err := unix.SchedGetaffinity(0, &after); err != nil {
		t.Fatal(err)
	}
	if before != after {
		t.Errorf("the thread may use the cores %v, before %v", after, before)
	}
	if several := before.Count() > 1; left != several {
		t.Errorf("left its core: %v, with %d cores", left, before.Count())
	}
}
