package coordinator

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-rl/weft/internal/run/protocol"
)

// TestAuditRotates keeps a bounded number of files, and the newest lines in order.
func TestAuditRotates(t *testing.T) {
	a := &audit{dir: t.TempDir(), size: 1000}
	const n = 500
	for i := range n {
		if err := a.note(protocol.Deed{What: "stop", Run: fmt.Sprint("r", i)}); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(a.dir, ".audit*"))
	if err != nil || len(files) != auditKept+1 {
		t.Fatal(files, err)
	}
	for _, f := range files {
		if info, err := os.Stat(f); err != nil || info.Size() > 1100 {
			t.Error(info, err)
		}
	}
	all, err := a.read(func(protocol.Deed) bool { return true })
	if err != nil || len(all) < 50 || len(all) > 200 {
		t.Fatal(len(all), err)
	}
	for i, d := range all {
		if want := fmt.Sprint("r", n-len(all)+i); d.Run != want {
			t.Fatalf("line %d is of %s, want %s", i, d.Run, want)
		}
	}
}
