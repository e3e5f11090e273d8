package port

import (
	"net"
	"strconv"
	"testing"
)

// TestLasting: all ports are free, and none of them is one that the kernel gives.
func TestLasting(t *testing.T) {
	for range 100 {
		at := Lasting()
		_, number, err := net.SplitHostPort(at)
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := strconv.Atoi(number); n < lowest || n >= above {
			t.Errorf("port %d", n)
		}
		l, err := net.Listen("tcp", at)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
}
