package coordinator

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestFullLog: a log grows to its bound, and says so once.
func TestFullLog(t *testing.T) {
	all := records{dir: t.TempDir(), most: 1 << 10}
	r := all.of("run")
	for range 100 {
		if err := r.say(strings.Repeat("x", 50)); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(all.log("run"))
	if err != nil || len(text) > 1<<10+200 || bytes.Count(text, []byte("nothing more is written here")) != 1 || !bytes.HasSuffix(text, []byte("(--max-log of weft coordinator)\n")) {
		t.Errorf("%d bytes, %v: %s", len(text), err, text)
	}
}
