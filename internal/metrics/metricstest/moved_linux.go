// Package metricstest has what tests of records share.
package metricstest

import (
	"fmt"
	"os"
	"testing"
)

// Moved returns the bytes that this process reads from and writes to files, pipes and sockets while
// do runs, as the kernel counts them. Unlike the time that do takes, their number does not depend
// on what else the machine does.
func Moved(t testing.TB, do func()) int64 {
	t.Helper()
	before := counted(t)
	do()
	return counted(t) - before
}

func counted(t testing.TB) int64 {
	t.Helper()
	text, err := os.ReadFile("/proc/self/io")
	if err != nil {
		t.Fatal(err)
	}
	var read, written int64
	if _, err := fmt.Sscanf(string(text), "rchar: %d\nwchar: %d", &read, &written); err != nil {
		t.Fatal(err)
	}
	return read + written
}
