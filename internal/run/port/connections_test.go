package port

import (
	"net"
	"sync"
	"testing"
)

// TestLimited: no more connections are open than may be, and who has gone makes room.
func TestLimited(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	l := Connections(inner, 2)
	knock := func() net.Conn {
		c, err := net.Dial("tcp", inner.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	accept := func() net.Conn {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	knock()
	first := accept()
	knock()
	accept()
	third := knock()
	var came sync.WaitGroup
	came.Go(func() { accept() })
	if _, err := third.Read(make([]byte, 1)); err == nil {
		t.Error("one too many was let in")
	}
	_ = first.Close()
	knock()
	came.Wait()
}
