package chaos

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// A proxy holds back what one worker says and hears, and nothing of others.
func TestBar(t *testing.T) {
	p, err := newProxy()
	if err != nil {
		t.Fatal(err)
	}
	p.lead(echo(t))
	p.know(func() []int { return []int{0, os.Getpid()} })
	p.bar(0, true)
	c, err := net.Dial("tcp", p.address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	said := make([]byte, 1)
	for range 2 {
		if _, err := c.Write([]byte("a")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, said); err != nil {
			t.Fatal(err)
		}
		p.bar(1, true) // which is this process
		if _, err := c.Write([]byte("b")); err != nil {
			t.Fatal(err)
		}
		if err := c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Read(said); n > 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d bytes passed, %v", n, err)
		}
		p.bar(1, false)
		if err := c.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, said); err != nil || said[0] != 'b' {
			t.Fatalf("%q, %v", said, err)
		}
	}
	if err := p.close(); err != nil {
		t.Error(err)
	}
}
