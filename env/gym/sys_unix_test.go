//go:build unix

package gym

import (
	"errors"
	"io"
	"testing"
	"time"
)

// TestPeek: a byte that is there is taken, one that is not is left to wait for, and
// so is the end of the pipe.
func TestPeek(t *testing.T) {
	ours, theirs, err := pipe(0)
	if err != nil {
		t.Fatal(err)
	}
	defer closeFD(ours)
	var b [1]byte
	if peek(ours, b[:], time.Now()) {
		t.Error("a byte out of nothing")
	}
	if _, err := theirs.Write([]byte("xy")); err != nil {
		t.Fatal(err)
	}
	for _, want := range "xy" {
		if !peek(ours, b[:], time.Now()) || rune(b[0]) != want {
			t.Errorf("%q, want %q", b, want)
		}
	}
	if err := theirs.Close(); err != nil {
		t.Fatal(err)
	}
	if soon := time.Now().Add(time.Minute); peek(ours, b[:], soon) || !errors.Is(readFull(ours, b[:], soon), io.EOF) {
		t.Error("the end was not seen")
	}
}
