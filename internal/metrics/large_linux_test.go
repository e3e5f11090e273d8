package metrics

import (
	"path/filepath"
	"testing"

	"github.com/weft-rl/weft/internal/metrics/metricstest"
)

// What is read and written to rewind a record is bounded by a segment, and does not grow with the
// record.
func TestRewindLarge(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	last := generate(t, path, 192<<20)
	for _, step := range []int64{last - 10, last / 2} {
		moved := metricstest.Moved(t, func() {
			if err := RewindJSONL(path, step, true); err != nil {
				t.Fatal(err)
			}
		})
		if moved > 3*SegmentSize {
			t.Errorf("%d bytes were read and written to rewind to step %d", moved, step)
		}
	}
}
