//go:build xla

package pjrt

import "testing"

// The kinds are those that CUDA's driver names.
func TestSharedBy(t *testing.T) {
	for kind, want := range map[string]int{"NVIDIA H200": 227 << 10, "NVIDIA A100-SXM4-80GB": 163 << 10, "NVIDIA L4": 0, "": 0} {
		if got := sharedBy(kind); got != want {
			t.Errorf("%q: %d bytes, want %d", kind, got, want)
		}
	}
}
