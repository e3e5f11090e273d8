package part_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weft-rl/weft/internal/run/part"
)

// A loss that is not a number any more is told of as well.
func TestMetrics(t *testing.T) {
	p := part.Progress{Metrics: []part.Metric{{Name: "loss", X: 0.1}, {Name: "nan", X: part.Number(math.NaN())}, {Name: "inf", X: part.Number(math.Inf(1))}}}
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	var got part.Progress
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if m := got.Metrics; len(m) != 3 || m[0] != p.Metrics[0] || m[1].Name != "nan" || !math.IsNaN(float64(m[1].X)) || !math.IsNaN(float64(m[2].X)) {
		t.Errorf("%s became %+v", text, m)
	}
}

// However much a loop logs, a sign of life stays small.
func TestBounded(t *testing.T) {
	var all []part.Metric
	for i := range 3 * part.MaxMetrics {
		all = append(all, part.Metric{Name: fmt.Sprint(i, strings.Repeat("ä", 1000))})
	}
	got := part.Bounded(all)
	text, err := json.Marshal(got)
	if err != nil || len(got) != part.MaxMetrics || len(text) > 16<<10 || strings.ContainsRune(string(text), '\uFFFD') {
		t.Errorf("%d metrics in %d bytes: %v", len(got), len(text), err)
	}
}

// However much a failure has to say, what is kept of it is its beginning and its end, and the same
// again and again.
func TestBrief(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("x", part.MostReason), "begin " + strings.Repeat("ä", 1<<20) + " end", strings.Repeat("\xbf", 1<<20)} {
		got := part.Brief(text)
		if len(got) > part.MostReason || part.Brief(got) != got || len(text) <= part.MostReason && got != text {
			t.Errorf("%d bytes became %d", len(text), len(got))
		}
		if utf8.ValidString(text) && (!utf8.ValidString(got) || text != "" && (got[:1] != text[:1] || got[len(got)-1] != text[len(text)-1])) {
			t.Errorf("%q", got)
		}
	}
}
