package coordinator

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-rl/weft/internal/metrics"
	"github.com/weft-rl/weft/internal/metrics/metricstest"
)

// What is read and written to take a record back does not grow with the record.
func TestRewindLarge(t *testing.T) {
	r := &record{dir: t.TempDir()}
	defer r.close()
	if err := r.rewind(1, -1, false, 0); err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat(" ", 1000) + "}\n"
	var text []byte
	steps := 0
	for offset := int64(0); offset < 192<<20; offset += int64(len(text)) {
		text = text[:0]
		for len(text) < 1<<20 {
			steps++
			text = fmt.Appendf(text, `{"step":%d,"iter":1,"seconds":0%s`, steps, line)
		}
		if err := r.write(1, offset, text); err != nil {
			t.Fatal(err)
		}
	}
	moved := metricstest.Moved(t, func() {
		if err := r.rewind(2, int64(steps-10), false, 0); err != nil {
			t.Fatal(err)
		}
	})
	if moved > 3*metrics.SegmentSize {
		t.Errorf("%d bytes were read and written", moved)
	}
}
