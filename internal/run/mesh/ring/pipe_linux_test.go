package ring

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

func TestMain(m *testing.M) {
	if path := os.Getenv("RING_TEST_SOCKET"); path != "" {
		os.Exit(child(path))
	}
	goleak.VerifyTestMain(m)
}

// sockets returns two ends of a connection.
func sockets(t *testing.T) (a, b *net.UnixConn) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err = net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	b, err = l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

func pipes(t *testing.T) (a, b *Pipe) {
	t.Helper()
	x, y := sockets(t)
	a, err := Offer(x)
	if err != nil {
		t.Fatal(err)
	}
	if b, err = Take(y); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

// TestPipe: both directions carry at once, more than fits, and what was written before
// an end arrives.
func TestPipe(t *testing.T) {
	a, b := pipes(t)
	want := make([]byte, 5*capacity+77)
	for i := range want {
		want[i] = byte(i * 7 >> 3)
	}
	var all sync.WaitGroup
	for _, p := range []*Pipe{a, b} {
		all.Go(func() {
			for rest, n := want, 1; len(rest) > 0; n = n*3%400_000 + 1 {
				n = min(n, len(rest))
				if _, err := p.Write(rest[:n]); err != nil {
					t.Error(err)
				}
				if n%2 == 0 {
					_ = p.Flush()
				}
				rest = rest[n:]
			}
			if err := p.Flush(); err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			got := make([]byte, len(want))
			if _, err := io.ReadFull(p, got); err != nil || !bytes.Equal(got, want) {
				t.Errorf("another came: %v", err)
			}
		})
	}
	all.Wait()
	_, _ = a.Write([]byte("last"))
	_ = a.Flush()
	_ = a.Close()
	if got, err := io.ReadAll(b); string(got) != "last" || err != nil {
		t.Errorf("%q came: %v", got, err)
	}
	if _, err := b.Write(want); err == nil {
		t.Error("one wrote to nobody")
	}
}

// TestBusy: each side says of itself whether it computes, and nothing when it is gone.
func TestBusy(t *testing.T) {
	a, b := pipes(t)
	for _, yes := range []bool{true, false, true} {
		a.Busy(yes)
		if b.OtherBusy() != yes || a.OtherBusy() {
			t.Errorf("busy is %v, which was %v", b.OtherBusy(), yes)
		}
	}
	a.Busy(false)
	if b.Rouse(); !b.OtherBusy() {
		t.Error("who was given work is idle")
	}
	_ = a.Close()
	a.Busy(false)
	_, _ = b.Read(make([]byte, 1)) // its end
	if a.OtherBusy() || b.OtherBusy() {
		t.Error("who is gone computes")
	}
}

// TestClose: an end wakes everybody who waits, on both sides.
func TestClose(t *testing.T) {
	for _, mine := range []bool{true, false} {
		a, b := pipes(t)
		var all sync.WaitGroup
		all.Go(func() {
			if _, err := a.Read(make([]byte, 1)); err == nil {
				t.Error("something was read")
			}
		})
		all.Go(func() {
			if _, err := a.Write(make([]byte, 2*capacity)); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("all was written: %v", err)
			}
		})
		if mine {
			_ = a.Close()
		} else {
			_ = b.Close()
		}
		all.Wait()
		_, _ = a.Close(), b.Close()
		if _, err := a.Read(make([]byte, 1)); err == nil {
			t.Error("a closed pipe was read")
		}
	}
}

// TestOffers: what is no such memory is refused.
func TestOffers(t *testing.T) {
	memory := func(size int64, add int) int {
		fd, err := unix.MemfdCreate("test", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Ftruncate(fd, size); err != nil {
			t.Fatal(err)
		}
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_ADD_SEALS, add); err != nil {
			t.Fatal(err)
		}
		return fd
	}
	for name, c := range map[string]struct {
		size  int64
		seals int
		bells int
	}{
		"small": {total - 1, seals, bells}, "large": {total + 1, seals, bells}, "no seal": {total, 0, bells},
		"can shrink": {total, unix.F_SEAL_GROW, bells}, "no bells": {total, seals, 0}, "more bells": {total, seals, bells + 1},
	} {
		a, b := sockets(t)
		fds := []int{memory(c.size, c.seals)}
		for range c.bells {
			fd, err := unix.Eventfd(0, unix.EFD_NONBLOCK)
			if err != nil {
				t.Fatal(err)
			}
			fds = append(fds, fd)
		}
		if _, _, err := a.WriteMsgUnix([]byte{bells}, unix.UnixRights(fds...), nil); err != nil {
			t.Fatal(err)
		}
		closeAll(fds)
		if p, err := Take(b); err == nil {
			t.Errorf("%s: it was taken", name)
			_ = p.Close()
		}
	}
	a, b := sockets(t)
	if _, err := a.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	if p, err := Take(b); err == nil {
		t.Error("text was taken")
		_ = p.Close()
	}
}

// child takes an offer, says so, and waits for its end.
func child(path string) int {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return 3
	}
	p, err := Take(conn)
	if err != nil {
		return 4
	}
	_, _ = p.Write([]byte("here"))
	_ = p.Flush()
	_, _ = p.Read(make([]byte, 1))
	return 0
}

// TestKilled: a process that is killed is noticed, and what it wrote is there.
func TestKilled(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "RING_TEST_SOCKET="+path)
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	conn, err := l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Offer(conn)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := io.ReadFull(p, make([]byte, 4)); err != nil {
		t.Fatal(err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Read(make([]byte, 1)); err != io.EOF {
		t.Error(err)
	}
	if _, err := p.Write(make([]byte, 3*capacity)); !errors.Is(err, io.ErrClosedPipe) {
		t.Error(err)
	}
	_ = c.Wait() // it was killed
}
