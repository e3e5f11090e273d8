package cli

import "testing"

// A worker knows how much memory it has.
func TestMemory(t *testing.T) {
	if n := memory(); n < 64<<20 || n > 1<<50 {
		t.Errorf("%d bytes", n)
	}
	if got := size(3 << 29); got != "1.5 GiB" {
		t.Error(got)
	}
}
