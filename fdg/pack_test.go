package fdg_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/weft-rl/weft/fdg"
)

// TestPack reads back what was packed, wherever functions begin.
func TestPack(t *testing.T) {
	for name, starts := range map[string][]fdg.Pos{
		"no function": nil,
		"one":         {{File: "loop.go", Line: 1, Col: 1}},
		"unordered":   {{File: "loop.go", Line: 5}, {File: "other.go", Line: 1}, {File: "loop.go", Line: 1}, {File: "loop.go", Line: 9}},
	} {
		g := small()
		g.Nodes[1].Text = "a `raw` <text>"
		g.Nodes[2].Calls = []fdg.Pos{{File: "loop.go", Line: 7, Col: 3}}
		text, err := g.Pack(starts)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, "`") {
			t.Errorf("%s: Go source cannot quote\n%s", name, text)
		}
		back, err := fdg.Unpack(text)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, text)
		}
		if !reflect.DeepEqual(back, g) {
			t.Errorf("%s: got\n%v\nwant\n%v", name, back, g)
		}
	}
}

// TestPackComment moves all functions of a file down, as a comment does at its top: one line of
// the text says so.
func TestPackComment(t *testing.T) {
	g := small()
	first, err := g.Pack([]fdg.Pos{{File: "loop.go", Line: 1}, {File: "loop.go", Line: 4}})
	if err != nil {
		t.Fatal(err)
	}
	moved := small()
	moved.Pos.Line += 3
	for i := range moved.Nodes {
		moved.Nodes[i].Pos.Line += 3
	}
	moved.Resources[0].Pos.Line += 3
	second, err := moved.Pack([]fdg.Pos{{File: "loop.go", Line: 4}, {File: "loop.go", Line: 7}})
	if err != nil {
		t.Fatal(err)
	}
	a, b := strings.Split(first, "\n"), strings.Split(second, "\n")
	if len(a) != len(b) {
		t.Fatalf("%d lines became %d", len(a), len(b))
	}
	for i := range a {
		if a[i] != b[i] && !strings.HasPrefix(a[i], `"starts"`) {
			t.Errorf("%s\nbecame\n%s", a[i], b[i])
		}
	}
}

// TestUnpackBroken refuses texts that Pack did not write.
func TestUnpackBroken(t *testing.T) {
	text, err := small().Pack([]fdg.Pos{{File: "loop.go", Line: 1}})
	if err != nil {
		t.Fatal(err)
	}
	for old, now := range map[string]string{
		`"file":"0"`: `"file":"4"`, `"loop.go:1"`: `"loop.go"`, `"version":1`: `"version":2`, `"train"`: `"trein"`, `"to":2`: `"to":7`,
	} {
		if _, err := fdg.Unpack(strings.Replace(text, old, now, 1)); err == nil {
			t.Errorf("with %s for %s it was read without an error", now, old)
		}
	}
}
