package engine

import (
	"testing"

	"github.com/gomlx/compute/support/backendtest"
)

// TestSuite runs upstream's conformance suite, whole.
func TestSuite(t *testing.T) {
	b := newBackend(t, "")
	backendtest.RunAll(t, b, nil)
}

// TestSuitePlain runs the same with every optional pass turned off.
func TestSuitePlain(t *testing.T) {
	backendtest.RunAll(t, newBackend(t, "off=all,threads=1"), nil)
}

func newBackend(t testing.TB, config string) *Backend {
	t.Helper()
	b, err := New(config + ",check")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Finalize)
	return b.(*Backend)
}
