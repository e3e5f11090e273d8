//go:build unix

package checkpoint

import (
	"os"
	"sync"
	"testing"
)

// A link to nowhere is there but cannot be read: it is passed over, not waited for.
func TestDangling(t *testing.T) {
	d := openDir(t, t.TempDir(), 1)
	save(t, d, 1)
	if err := os.Symlink("nowhere", d.stepPath(2)); err != nil {
		t.Fatal(err)
	}
	wantLatest(t, d, 1, "step-000000000002.safetensors")
	save(t, d, 3)
	wantLatest(t, d, 3)
}

// A reader beside a writer that prunes always finds a good one. (Windows does not let go of a file
// while it is being read; there the pruning waits for the next Save.)
func TestReadWhileSaving(t *testing.T) {
	dir := t.TempDir()
	writer, reader := openDir(t, dir, 1), openDir(t, dir, 1)
	save(t, writer, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for step := int64(2); step < 100; step++ {
			if err := writer.Save(step, small(byte(step))); err != nil {
				t.Error(err)
			}
		}
	})
	last := int64(1)
	for last < 99 && !t.Failed() {
		f, step, skipped, err := reader.Latest()
		if err != nil || len(skipped) > 0 || step < last {
			t.Errorf("step %d after %d, skipped %v, %v", step, last, skipped, err)
			break
		}
		want(t, f, small(byte(step)))
		last = step
	}
	wg.Wait()
}
