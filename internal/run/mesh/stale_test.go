package mesh

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-rl/weft/internal/run/checkpoint"
)

// A node removes what the node of a killed process has left, and holds its own.
func TestStaleFolder(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if !checkpoint.LocksShared || os.TempDir() != os.Getenv("TMPDIR") {
		t.Skip("there are no locks that other processes see, or the folder of temporary files is fixed")
	}
	stale := filepath.Join(os.TempDir(), "weft-data-1")
	if err := os.Mkdir(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{checkpoint.LockName, "socket"} {
		if err := os.WriteFile(filepath.Join(stale, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var nodes []*Node
	for range 2 {
		n, err := Listen("127.0.0.1:0", Options{})
		if err != nil {
			t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	if all, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(all) != 2 {
		t.Errorf("there are %v", all)
	}
	for _, n := range nodes {
		if _, err := os.Stat(n.socket); err != nil {
			t.Error(err)
		}
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	}
	if all, _ := filepath.Glob(filepath.Join(os.TempDir(), "*")); len(all) != 0 {
		t.Errorf("%v are left", all)
	}
}
