package sheet_test

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
	"github.com/weft-rl/weft/internal/draw/sheet"
	"github.com/weft-rl/weft/plan"
)

// coarse returns a plan of two collectors and a learner on two workers, and the same with one of
// its collectors fused away.
func coarse() *plan.Sheet {
	before := plan.Plan{
		Policy: "coarse <&>", Graph: "ppo", Shards: 2,
		Grouping: plan.Grouping{Name: "coarse", Groups: []plan.Group{{Name: "collector", Over: fdg.Environments}, {Name: "learner", Over: fdg.None}}},
		Replicas: []plan.Replica{{Group: "collector", Last: 1}, {Group: "collector", Rank: 1, First: 1, Last: 2, Worker: 1}, {Group: "learner", Last: 2}},
		Edges:    []plan.Edge{{Name: "batch", From: "collector", To: "learner", Operator: fdg.Gather, Often: "iteration", Calls: 2, Bytes: 41_024}},
	}
	after := before
	after.Fused = []string{"replicas: collector 0 and learner 0"}
	return &plan.Sheet{Cluster: plan.Local(2, "cpu"), Before: before, After: after, Measured: "as measured"}
}

// TestSVG reads the drawing back and looks for what a person must find in it, escaped where it
// has to be.
func TestSVG(t *testing.T) {
	var b bytes.Buffer
	if err := sheet.SVG(&b, coarse()); err != nil {
		t.Fatal(err)
	}
	var texts strings.Builder
	for d := xml.NewDecoder(&b); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := token.(xml.CharData); ok {
			texts.Write(text)
		}
	}
	for _, want := range []string{"coarse <&> of ppo", "before fusion", "after fusion", "collector 1", "shard 1 of 2", "shards 0-1 of 2", "batch", "41,024", "as measured"} {
		if !strings.Contains(texts.String(), want) {
			t.Errorf("no %q in the drawing: %q", want, texts.String())
		}
	}
}

func TestDOT(t *testing.T) {
	var b strings.Builder
	if err := sheet.DOT(&b, coarse()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"digraph plan", `"0/collector/1" -> "0/learner/0" [label="batch: gather"]`, `"1/collector/0" -> "1/learner/0"`, `label="after fusion"`} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, &b)
		}
	}
	if n := strings.Count(b.String(), "->"); n != 4 {
		t.Errorf("%d arrows, want 4", n)
	}
}
