//go:build unix

package gym

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipe returns one direction to or from a worker: our end, and its.
func pipe(ours int) (fd int, theirs *os.File, err error) {
	var p [2]int
	if err := unix.Pipe(p[:]); err != nil {
		return 0, nil, fmt.Errorf("making a pipe: %w", err)
	}
	for _, fd := range p {
		unix.CloseOnExec(fd)
	}
	if err := unix.SetNonblock(p[ours], true); err != nil {
		return 0, nil, err
	}
	return p[ours], os.NewFile(uintptr(p[1-ours]), "pipe"), nil
}

func closeFD(fd int) error { return unix.Close(fd) }

var errTimeout = errors.New("no answer in time")

// await waits until fd can be read (or written), or the deadline has passed. It
// blocks its thread: going through Go's poller costs a second wake-up, and a
// step's answer is what everything else waits for. Of the ways to wake a worker
// and be woken by it, a pipe (7.7 us there and back, 17 us for two workers on two
// cores) is level with an eventfd (7.1, 16) and a futex (7.6, 15), and is the one
// that tells when the other side is gone; spinning before a futex (32, 85) takes
// the core that somebody else needs, which peek therefore offers to others.
func await(fd int, events int16, deadline time.Time) error {
	for {
		left := time.Until(deadline)
		if left <= 0 {
			return errTimeout
		}
		p := []unix.PollFd{{Fd: int32(fd), Events: events}}
		n, err := unix.Poll(p, int(left.Milliseconds())+1)
		if n > 0 {
			return nil
		}
		if err != nil && !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// peek looks for a byte until it is there or the time has passed, and leaves the
// core to whoever wants it in between, the worker above all. It is for answers that
// come sooner than going to sleep and being woken up takes. What is wrong with the
// pipe is for readFull to say.
func peek(fd int, b []byte, until time.Time) bool {
	for {
		if n, err := unix.Read(fd, b[:1]); n == 1 || err == nil {
			return n == 1
		}
		if !time.Now().Before(until) {
			return false
		}
		yield()
	}
}

// readFull fills b from a pipe.
func readFull(fd int, b []byte, deadline time.Time) error {
	for len(b) > 0 {
		n, err := unix.Read(fd, b)
		switch {
		case n > 0:
			b = b[n:]
		case err == nil:
			return io.EOF
		case errors.Is(err, unix.EAGAIN):
			if err := await(fd, unix.POLLIN, deadline); err != nil {
				return err
			}
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
	return nil
}

// writeFull writes all of b to a pipe.
func writeFull(fd int, b []byte, deadline time.Time) error {
	for len(b) > 0 {
		n, err := unix.Write(fd, b)
		switch {
		case n > 0:
			b = b[n:]
		case errors.Is(err, unix.EAGAIN):
			if err := await(fd, unix.POLLOUT, deadline); err != nil {
				return err
			}
		case errors.Is(err, unix.EPIPE):
			return io.EOF
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
	return nil
}

// share maps a file into memory that its other users see as well.
func share(f *os.File, size int) ([]byte, error) {
	if err := f.Truncate(int64(size)); err != nil {
		return nil, fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	m, err := unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("shared memory of %d bytes: %w", size, err)
	}
	return m, nil
}

func unshare(m []byte) error { return unix.Munmap(m) }

// killGroup ends a worker and what it started.
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }
